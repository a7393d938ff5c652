"""A whole detector, from pictures to boxes and scores, as a Paddle layer for inference.

Several heads share one backbone; each may also look at the mirrored picture. Their distances and
scores are averaged at each position, before boxes are made of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainers.backbones.architecture import Block, Weights, blocks_from_json, blocks_to_json, folded
from trainers.backbones.maps import FeatureMaps
from trainers.backbones.network import BlockNetwork
from trainers.engine import paddle
from trainers.object_detection.geometry import Array, anchor_points
from trainers.object_detection.network import BINS, EPSILON, Head, Shape, Unit

Tensor = paddle.Tensor
functional = paddle.nn.functional
FORMAT = 1
NETWORK = "network"
SWAPPED = (2, 1, 0, 3)
"""Sides of a box in the mirrored picture."""


@dataclass(frozen=True)
class DetectorDescription:
    """What is needed beside the weights to build the detector again.

    Attributes:
        backbone: name of the backbone it was made from, for people.
        blocks: the network up to the last block that is needed.
        level_blocks: names of the blocks of each level, the finest first.
        members: the heads.
        mirrored: whether the mirrored picture is looked at too.
        height, width: of the input in pixels.
    """

    backbone: str
    blocks: tuple[Block, ...]
    level_blocks: tuple[tuple[str, ...], ...]
    members: tuple[Shape, ...]
    mirrored: bool
    height: int
    width: int

    @property
    def points(self) -> tuple[Array, Array]:
        """(A, 2) and (A,): see `anchor_points`."""
        return anchor_points(self.members[0].positions)

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            **asdict(self),
            "blocks": blocks_to_json(self.blocks),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DetectorDescription:
        return cls(
            str(data["backbone"]),
            blocks_from_json(data["blocks"]),
            tuple(tuple(names) for names in data["level_blocks"]),
            tuple(Shape.from_json(member) for member in data["members"]),
            bool(data["mirrored"]),
            int(data["height"]),
            int(data["width"]),
        )


def assemble(
    maps: FeatureMaps, heads: Sequence[Mapping[str, Array]], shapes: Sequence[Shape], mirrored: bool
) -> tuple[DetectorDescription, dict[str, Array]]:
    """Description and parameters of the detector of a backbone and folded heads.

    Blocks that were trained together with the only head come with it, named as in the result.
    """
    _, rows, columns, stride = shapes[0].levels[0]
    description = DetectorDescription(
        maps.name,
        maps.blocks,
        tuple(level.blocks for level in maps.levels),
        tuple(shapes),
        mirrored,
        rows * stride,
        columns * stride,
    )
    weights = maps.backbone.load_weights()
    parameters: dict[str, Array] = {}
    for convolution in (c for block in maps.blocks for c in block.convolutions):
        weight, bias = folded(convolution, weights)
        parameters[f"{NETWORK}.{convolution.name}.weight"] = weight
        parameters[f"{NETWORK}.{convolution.name}.bias"] = bias
    for index, head in enumerate(heads):
        for name, array in head.items():
            trained = name.startswith(f"{NETWORK}.")
            parameters[name if trained else f"{member_name(index)}.{name}"] = array
    return description, {name: _canonical(array) for name, array in parameters.items()}


def _canonical(array: Array) -> Array:
    """A fresh row-major float32 copy: the bytes of a saved array follow its layout and origin."""
    copy = np.empty(array.shape, np.float32)
    copy[...] = array
    return copy


def mirrored_places(shape: Shape) -> NDArray[np.int64]:
    """(A,): where in the mirrored picture's outputs each position of the picture is found."""
    parts, start = [], 0
    for rows, columns, _ in shape.positions:
        places = start + np.arange(rows * columns).reshape(rows, columns)
        parts.append(places[:, ::-1].reshape(-1))
        start += rows * columns
    return np.concatenate(parts).astype(np.int64)


def member_name(index: int) -> str:
    """What the names of a head's parameters begin with."""
    return f"member{index}"


def convolutions_of(shape: Shape) -> dict[str, tuple[int, int, int, int]]:
    """Name → (inputs, outputs, kernel, stride) of a folded head's convolutions."""
    count, width = len(shape.levels), shape.width
    result = {
        f"lateral{i}": (channels, width, 1, 1) for i, (channels, *_) in enumerate(shape.levels)
    }
    for index in range(count - 1):
        result[f"down{index}"] = (width, width, 3, 1)
        result[f"stride{index}"] = (width, width, 3, 2)
        result[f"up{index}"] = (width, width, 3, 1)
    result |= {f"tower{index}": (width, width, 3, 1) for index in range(count)}
    return {**result, "out": (width, shape.outputs, 1, 1)}


def folded_head(head: Head) -> dict[str, Array]:
    """Weights and biases of a trained head with batch normalisation multiplied in."""
    result: dict[str, Array] = {}

    def put(name: str, unit: paddle.nn.Layer, norm: int = 0) -> None:
        assert isinstance(unit, Unit)
        layer = unit.norms[norm]
        weight = unit.folded_weight().numpy().astype(np.float64)
        scale = layer.weight.numpy() / np.sqrt(layer._variance.numpy().astype(np.float64) + EPSILON)
        result[f"{name}.weight"] = (weight * scale.reshape(-1, 1, 1, 1)).astype(np.float32)
        bias = layer.bias.numpy() - layer._mean.numpy().astype(np.float64) * scale
        result[f"{name}.bias"] = bias.astype(np.float32)

    count = len(head.shape.levels)
    for index in range(count):
        put(f"lateral{index}", head.lateral[index])
        put(f"tower{index}", head.tower, index)
    for index in range(count - 1):
        put(f"down{index}", head.down[index])
        put(f"stride{index}", head.stride[index])
        put(f"up{index}", head.up[index])
    result["out.weight"] = head.out.weight.numpy()
    result["out.bias"] = head.bias.numpy()
    return result


class FoldedConvolution(paddle.nn.Layer):
    """A convolution with a bias, padded to keep the size."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int) -> None:
        super().__init__()
        self._stride, self._padding = stride, kernel // 2
        zero = paddle.nn.initializer.Constant(0.0)
        self.weight = self.create_parameter(
            [outputs, inputs, kernel, kernel], default_initializer=zero
        )
        self.bias = self.create_parameter([outputs], default_initializer=zero)

    def forward(self, value: Tensor) -> Tensor:
        return functional.conv2d(
            value, self.weight, self.bias, stride=self._stride, padding=self._padding
        )


class FoldedHead(paddle.nn.Layer):
    """`Head` with batch normalisation multiplied in."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        for name, sizes in convolutions_of(shape).items():
            self.add_sublayer(name, FoldedConvolution(*sizes))

    def forward(self, maps: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """[(N, C, h, w)] a level → (N, 4, A) distances in strides, (N, K, A) scores."""

        def unit(name: str, value: Tensor) -> Tensor:
            return functional.relu(getattr(self, name)(value))

        values = [unit(f"lateral{i}", value) for i, value in enumerate(maps)]
        count = len(values)
        for i in range(count - 2, -1, -1):
            coarse = functional.interpolate(values[i + 1], scale_factor=2, mode="nearest")
            values[i] = unit(f"down{i}", values[i] + coarse)
        for i in range(count - 1):
            fine = unit(f"stride{i}", values[i])
            values[i + 1] = unit(f"up{i}", values[i + 1] + fine)
        raw = paddle.concat(
            [
                self.out(unit(f"tower{i}", value)).flatten(start_axis=2)
                for i, value in enumerate(values)
            ],
            axis=2,
        )
        sides = raw[:, : 4 * BINS].reshape([raw.shape[0], 4, BINS, raw.shape[2]])
        bins = paddle.arange(BINS, dtype="float32").reshape([1, 1, BINS, 1])
        distances = (functional.softmax(sides, axis=2) * bins).sum(axis=2)
        return distances, functional.sigmoid(raw[:, 4 * BINS :])


class Detector(paddle.nn.Layer):
    """(N, 3, H, W) normalised pictures → (N, A, 4 + K): left, top, right, bottom, K scores."""

    def __init__(self, description: DetectorDescription) -> None:
        super().__init__()
        self.description = description
        self.network = BlockNetwork(description.blocks, (), folded=True)
        for index, shape in enumerate(description.members):
            self.add_sublayer(member_name(index), FoldedHead(shape))
        points, strides = description.points
        self._points = paddle.to_tensor(np.ascontiguousarray(points.T)[None])
        self._strides = paddle.to_tensor(strides.reshape(1, 1, -1))
        self._places = paddle.to_tensor(mirrored_places(description.members[0]))

    def forward(self, value: Tensor) -> Tensor:
        found = self._heads(value)
        if self.description.mirrored:
            swapped = paddle.to_tensor(np.array(SWAPPED))
            for distances, scores in self._heads(value.flip(axis=3)):
                distances = paddle.gather(distances, swapped, axis=1)
                found.append(
                    (
                        paddle.gather(distances, self._places, axis=2),
                        paddle.gather(scores, self._places, axis=2),
                    )
                )
        reach = paddle.add_n([distances for distances, _ in found]) / len(found) * self._strides
        scores = paddle.add_n([scores for _, scores in found]) / len(found)
        low, high = self._points - reach[:, :2], self._points + reach[:, 2:]
        return paddle.concat([low, high, scores], axis=1).transpose([0, 2, 1])

    def _heads(self, value: Tensor) -> list[tuple[Tensor, Tensor]]:
        outputs = self.network.by_name(value)
        maps = [
            paddle.concat([outputs[name] for name in names], axis=1)
            for names in self.description.level_blocks
        ]
        count = len(self.description.members)
        return [getattr(self, member_name(index))(maps) for index in range(count)]


def backbone_weights(parameters: Mapping[str, Array], blocks: Sequence[Block]) -> Weights:
    """The backbone's part of a detector's parameters as `Weights`, with scales of one."""
    weights = {
        name.removeprefix(f"{NETWORK}."): array
        for name, array in parameters.items()
        if name.startswith(f"{NETWORK}.")
    }
    for convolution in (c for block in blocks for c in block.convolutions):
        weights[f"{convolution.name}.scale"] = np.ones(convolution.outputs, np.float32)
    return weights
