"""A whole classifier (network, pooled features, head) as a Paddle layer and as an ONNX graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainers.backbones.architecture import (
    Block,
    FeatureSpan,
    Weights,
    blocks_from_json,
    blocks_to_json,
    folded,
)
from trainers.backbones.feature_graph import INPUT_SHAPE, add_features, needed_blocks
from trainers.backbones.graph import GraphWriter
from trainers.backbones.network import BlockNetwork
from trainers.backbones.registry import Backbone
from trainers.engine import paddle
from trainers.head_weights import HeadWeights

Array = NDArray[np.float32]
FORMAT = 1
NETWORK = "network"


@dataclass(frozen=True)
class ClassifierDescription:
    """What is needed beside the weights to build the classifier again.

    Attributes:
        backbone: name of the backbone it was made from, for people.
        blocks: the network up to the last block that the head uses.
        spans: the pooled parts the head takes, in order; start and stop count within them.
        layers: (inputs, outputs) of each linear layer.
    """

    backbone: str
    blocks: tuple[Block, ...]
    spans: tuple[FeatureSpan, ...]
    layers: tuple[tuple[int, int], ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "backbone": self.backbone,
            "blocks": blocks_to_json(self.blocks),
            "spans": [asdict(span) for span in self.spans],
            "layers": [list(shape) for shape in self.layers],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ClassifierDescription:
        return cls(
            data["backbone"],
            blocks_from_json(data["blocks"]),
            tuple(FeatureSpan(**span) for span in data["spans"]),
            tuple((inputs, outputs) for inputs, outputs in data["layers"]),
        )


def assemble(
    backbone: Backbone, weights: Weights, head: HeadWeights
) -> tuple[ClassifierDescription, dict[str, Array]]:
    """The description of the classifier and its folded parameters, without what the head ignores.

    Raises:
        BadInput: the head does not fit the backbone.
    """
    head.check(backbone.feature_count)
    layers = head.folded()
    spans = used_spans(backbone.layout, head.layers[0][0])
    columns = np.concatenate([np.arange(span.start, span.stop) for span in spans])
    layers[0] = (layers[0][0][columns], layers[0][1])
    blocks = tuple(needed_blocks(backbone.blocks, spans))
    parameters: dict[str, Array] = {}
    for convolution in (c for block in blocks for c in block.convolutions):
        weight, bias = folded(convolution, weights)
        parameters[f"{NETWORK}.{convolution.name}.weight"] = weight
        parameters[f"{NETWORK}.{convolution.name}.bias"] = bias
    for index, (weight, bias) in enumerate(layers):
        parameters[f"{head_layer(index)}.weight"] = weight
        parameters[f"{head_layer(index)}.bias"] = bias
    shapes = tuple((w.shape[0], w.shape[1]) for w, _ in layers)
    description = ClassifierDescription(backbone.name, blocks, _packed(spans), shapes)
    return description, {name: _canonical(array) for name, array in parameters.items()}


def used_spans(spans: Sequence[FeatureSpan], first_weight: Array) -> list[FeatureSpan]:
    """The parts of the feature vector with a row that is not zero; one part where all are zero."""
    used = [span for span in spans if np.any(first_weight[span.start : span.stop])]
    return used or [spans[0]]


def head_layer(index: int) -> str:
    """Name of the head's linear layer number `index`, as parameters are prefixed with it."""
    return f"classifier.{index}"


def _canonical(array: Array) -> Array:
    """A fresh row-major float32 copy: the bytes of a saved array follow its layout and origin."""
    copy = np.empty(array.shape, np.float32)
    copy[...] = array
    return copy


def _packed(spans: Sequence[FeatureSpan]) -> tuple[FeatureSpan, ...]:
    packed, start = [], 0
    for span in spans:
        width = span.stop - span.start
        packed.append(FeatureSpan(span.block, span.pooling, start, start + width))
        start += width
    return tuple(packed)


def classifier_graph(description: ClassifierDescription, parameters: Mapping[str, Array]) -> bytes:
    """The classifier as ONNX: "input" (batch, 3, height, width) → "scores" (batch, K)."""
    weights = {name.removeprefix(f"{NETWORK}."): array for name, array in parameters.items()}
    for convolution in (c for block in description.blocks for c in block.convolutions):
        weights[f"{convolution.name}.scale"] = np.ones(convolution.outputs, np.float32)
    graph = GraphWriter(f"{description.backbone}-classifier")
    value = graph.input("input", INPUT_SHAPE)
    value = add_features(graph, value, description.blocks, description.spans, weights)
    for index in range(len(description.layers)):
        value = graph.add("Relu", value) if index else value
        name = head_layer(index)
        value = graph.linear(value, name, weights[f"{name}.weight"], weights[f"{name}.bias"])
    value = graph.add("Softmax", value, axis=1)
    graph.output("scores", value, ("batch", description.layers[-1][1]))
    return graph.to_bytes()


class Classifier(paddle.nn.Layer):
    """Network, pooled features, linear layers with ReLU between them, softmax.

    Its state dict has the names of `assemble`'s parameters.
    """

    def __init__(self, description: ClassifierDescription) -> None:
        super().__init__()
        self.description = description
        self.network = BlockNetwork(description.blocks, (), folded=True)
        layers = [paddle.nn.Linear(*shape) for shape in description.layers]
        self.classifier = paddle.nn.LayerList(layers)

    def forward(self, value: paddle.Tensor) -> paddle.Tensor:
        """(N, 3, H, W) normalised pictures → (N, K) scores, each row summing to 1."""
        value = self.network.pooled(value, self.description.spans)
        for index, layer in enumerate(self.classifier):
            value = layer(paddle.nn.functional.relu(value) if index else value)
        return paddle.nn.functional.softmax(value, axis=1)
