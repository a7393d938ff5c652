"""The members trained from scratch as one classifier: samples in, scores out, in Paddle and as ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainers.backbones.architecture import Block, blocks_from_json, blocks_to_json, folded
from trainers.backbones.export import read_network, write_network
from trainers.backbones.feature_graph import add_features
from trainers.backbones.graph import GraphWriter
from trainers.backbones.log_mel import NAME, Spectrogram, add_spectrogram
from trainers.backbones.network import BlockNetwork
from trainers.backbones.speech_graph import INPUT_SHAPE
from trainers.engine import paddle
from trainers.sound_classification.network import blocks, folded_weights, head_layer, pooled_spans

Array = NDArray[np.float32]
FORMAT = 1


@dataclass(frozen=True)
class Description:
    """What is needed beside the weights to build the classifier again.

    Attributes:
        blocks: the network of every member.
        members: how many there are.
        classes: K.
    """

    blocks: tuple[Block, ...]
    members: int
    classes: int

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "backbone": NAME,
            "blocks": blocks_to_json(self.blocks),
            "members": self.members,
            "classes": self.classes,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Description:
        return cls(blocks_from_json(data["blocks"]), int(data["members"]), int(data["classes"]))


class _Member(paddle.nn.Layer):
    """A folded network and its linear layer: spectrograms → logits."""

    def __init__(self, description: Description) -> None:
        super().__init__()
        self._spans = pooled_spans(description.blocks)
        self.network = BlockNetwork(description.blocks, (), folded=True)
        self.head = paddle.nn.Linear(self._spans[-1].stop, description.classes)

    def forward(self, value: paddle.Tensor) -> paddle.Tensor:
        return self.head(self.network.pooled(value, self._spans))


class ScratchClassifier(paddle.nn.Layer):
    """Spectrogram, the members' networks, the sum of what they say, softmax."""

    def __init__(self, description: Description) -> None:
        super().__init__()
        self.spectrogram = Spectrogram()
        self.members = paddle.nn.LayerList(
            [_Member(description) for _ in range(description.members)]
        )

    def forward(self, samples: paddle.Tensor) -> paddle.Tensor:
        """(rows, samples) → (rows, K) scores, each row summing to 1."""
        value = self.spectrogram(samples)
        logits = sum(member(value) for member in self.members)
        return paddle.nn.functional.softmax(logits, axis=1)


def assemble(
    members: Sequence[Mapping[str, Array]], temperature: float
) -> tuple[Description, dict[str, Array]]:
    """The description of the classifier and its parameters.

    Args:
        members: `ScratchNetwork.arrays` of each; their logits are averaged.
    """
    share = 1 / (len(members) * temperature)
    parameters: dict[str, Array] = {}
    for number, arrays in enumerate(members):
        weights = folded_weights(arrays)
        for convolution in (c for block in blocks() for c in block.convolutions):
            place = _network(number, convolution.name)
            parameters[f"{place}.weight"], parameters[f"{place}.bias"] = folded(
                convolution, weights
            )
        weight, bias = (each.astype(np.float64) * share for each in head_layer(arrays))
        parameters[f"{_head(number)}.weight"] = weight
        parameters[f"{_head(number)}.bias"] = bias
    description = Description(blocks(), len(members), len(bias))
    # Fresh row-major copies: the bytes of a saved array follow its layout and origin.
    return description, {name: np.array(array, np.float32) for name, array in parameters.items()}


def classifier_graph(description: Description, parameters: Mapping[str, Array]) -> bytes:
    """The classifier as ONNX: "input" (rows, samples) → "scores" (rows, K)."""
    graph = GraphWriter(f"{NAME}-classifier")
    spectrogram = add_spectrogram(graph, graph.input("input", INPUT_SHAPE))
    logits = ""
    for number in range(description.members):
        weights: dict[str, Array] = {}
        own = _renamed(description.blocks, f"member{number}.")
        for convolution in (c for block in own for c in block.convolutions):
            place = _network(number, convolution.name.removeprefix(f"member{number}."))
            weights[f"{convolution.name}.weight"] = parameters[f"{place}.weight"]
            weights[f"{convolution.name}.bias"] = parameters[f"{place}.bias"]
            weights[f"{convolution.name}.scale"] = np.ones(convolution.outputs, np.float32)
        features = add_features(graph, spectrogram, own, pooled_spans(own), weights)
        head = _head(number)
        said = graph.linear(
            features, head, parameters[f"{head}.weight"], parameters[f"{head}.bias"]
        )
        logits = graph.add("Add", logits, said) if logits else said
    graph.output("scores", graph.add("Softmax", logits, axis=1), ("rows", description.classes))
    return graph.to_bytes()


def export(folder: Path, members: Sequence[Mapping[str, Array]], temperature: float) -> Path:
    """Write `model.onnx`, `model.pdparams` and `network.json`; the path of the first.

    The bytes depend on the arguments only.
    """
    description, parameters = assemble(members, temperature)
    graph = classifier_graph(description, parameters)
    return write_network(folder, description.to_json(), parameters, graph)


def load(folder: Path) -> ScratchClassifier:
    """The classifier that `export` wrote, in evaluation mode.

    Raises:
        BadInput: files are missing, of another format, or do not fit together.
    """
    return read_network(folder, FORMAT, lambda data: ScratchClassifier(Description.from_json(data)))


def _network(number: int, convolution: str) -> str:
    return f"members.{number}.network.{convolution}"


def _head(number: int) -> str:
    return f"members.{number}.head"


def _renamed(given: Sequence[Block], prefix: str) -> tuple[Block, ...]:
    """The blocks under names of their own, as constants of one graph need them."""
    return tuple(
        replace(
            block,
            name=prefix + block.name,
            convolutions=tuple(replace(c, name=prefix + c.name) for c in block.convolutions),
        )
        for block in given
    )
