"""A classifier on the speech embedding: samples in, scores out, as a Paddle layer and as ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainers.backbones.architecture import FeatureSpan
from trainers.backbones.classifier import head_layer, used_spans
from trainers.backbones.export import read_network, write_network
from trainers.backbones.graph import GraphWriter
from trainers.backbones.speech_embedding import (
    FEATURE_COUNT,
    NAME,
    Weights,
    layout,
    load_weights,
    parameter_shapes,
)
from trainers.backbones.speech_graph import INPUT_SHAPE, add_features
from trainers.backbones.speech_network import SpeechNetwork
from trainers.engine import paddle
from trainers.head_weights import HeadWeights

Array = NDArray[np.float32]
FORMAT = 1


@dataclass(frozen=True)
class Description:
    """What is needed beside the weights to build the classifier again.

    Attributes:
        spans: the pooled parts the head takes, in order; start and stop count within them.
        layers: (inputs, outputs) of each linear layer.
    """

    spans: tuple[FeatureSpan, ...]
    layers: tuple[tuple[int, int], ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "backbone": NAME,
            "spans": [asdict(span) for span in self.spans],
            "layers": [list(shape) for shape in self.layers],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Description:
        return cls(
            tuple(FeatureSpan(**span) for span in data["spans"]),
            tuple((inputs, outputs) for inputs, outputs in data["layers"]),
        )


class SpeechClassifier(paddle.nn.Layer):
    """Spectrogram, network, pooled features, linear layers with ReLU between them, softmax."""

    def __init__(self, description: Description) -> None:
        super().__init__()
        self.network = SpeechNetwork(description.spans)
        layers = [paddle.nn.Linear(*shape) for shape in description.layers]
        self.classifier = paddle.nn.LayerList(layers)

    def forward(self, samples: paddle.Tensor) -> paddle.Tensor:
        """(rows, samples) → (rows, K) scores, each row summing to 1."""
        value = self.network(samples)
        for index, layer in enumerate(self.classifier):
            value = layer(paddle.nn.functional.relu(value) if index else value)
        return paddle.nn.functional.softmax(value, axis=1)


def assemble(head: HeadWeights) -> tuple[Description, dict[str, Array]]:
    """The description of the classifier and its parameters, without what the head ignores.

    Raises:
        BadInput: the head does not fit the embedding.
    """
    head.check(FEATURE_COUNT)
    layers = head.folded()
    spans = used_spans(layout(), head.layers[0][0])
    columns = np.concatenate([np.arange(span.start, span.stop) for span in spans])
    layers[0] = (layers[0][0][columns], layers[0][1])
    packed, start = [], 0
    for span in spans:
        width = span.stop - span.start
        packed.append(FeatureSpan(span.block, span.pooling, start, start + width))
        start += width
    weights = load_weights()
    parameters = {
        f"network.{name.replace('.', '_')}": weights[name] for name in parameter_shapes(packed)
    }
    for index, (weight, bias) in enumerate(layers):
        parameters[f"{head_layer(index)}.weight"] = weight
        parameters[f"{head_layer(index)}.bias"] = bias
    description = Description(tuple(packed), tuple((w.shape[0], w.shape[1]) for w, _ in layers))
    # Fresh row-major copies: the bytes of a saved array follow its layout and origin.
    return description, {name: np.array(array, np.float32) for name, array in parameters.items()}


def classifier_graph(description: Description, parameters: Mapping[str, Array]) -> bytes:
    """The classifier as ONNX: "input" (rows, samples) → "scores" (rows, K)."""
    weights: Weights = {
        name: parameters[f"network.{name.replace('.', '_')}"]
        for name in parameter_shapes(description.spans)
    }
    graph = GraphWriter(f"{NAME}-classifier")
    value = add_features(graph, graph.input("input", INPUT_SHAPE), description.spans, weights)
    for index in range(len(description.layers)):
        value = graph.add("Relu", value) if index else value
        name = head_layer(index)
        value = graph.linear(value, name, parameters[f"{name}.weight"], parameters[f"{name}.bias"])
    value = graph.add("Softmax", value, axis=1)
    graph.output("scores", value, ("rows", description.layers[-1][1]))
    return graph.to_bytes()


def export(folder: Path, head: HeadWeights) -> Path:
    """Write `model.onnx`, `model.pdparams` and `network.json`; the path of the first.

    The bytes depend on the head only.
    """
    description, parameters = assemble(head)
    graph = classifier_graph(description, parameters)
    return write_network(folder, description.to_json(), parameters, graph)


def load(folder: Path) -> SpeechClassifier:
    """The classifier that `export` wrote, in evaluation mode.

    Raises:
        BadInput: files are missing, of another format, or do not fit together.
    """
    return read_network(folder, FORMAT, lambda data: SpeechClassifier(Description.from_json(data)))
