"""The detector's head: a neck over feature maps and one small head for all levels, in Paddle.

Anchor-free as FCOS (Tian et al. 2019, arXiv:1904.01355) with the outputs of GFL (Li et al. 2020,
arXiv:2006.04388): at each position a score a class, and for each side of a box a distribution over
its distance in strides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainers.engine import paddle

Tensor = paddle.Tensor
functional = paddle.nn.functional
Array = NDArray[np.float32]

BINS = 12
"""Distances 0 … 11 strides: at the coarsest level, 32, a box may be 700 pixels wide."""
PRIOR = 0.02
"""Score of every class at the start."""
FALL = 0.3
"""Of the logits from one distance to the next at the start, where the expected distance then is
about 2.5 strides: of the size that boxes of a level have, so that small ones are met early."""
EPSILON = 1e-5
BATCH_MOMENTUM = 0.95


@dataclass(frozen=True)
class Shape:
    """What the arrays of a head depend on.

    Attributes:
        levels: (channels, rows, columns, stride) of each map, the finest first.
        width: channels of neck and head.
        classes: K.
    """

    levels: tuple[tuple[int, int, int, int], ...]
    width: int
    classes: int

    @property
    def positions(self) -> list[tuple[int, int, int]]:
        """(rows, columns, stride) of each level."""
        return [(rows, columns, stride) for _, rows, columns, stride in self.levels]

    @property
    def outputs(self) -> int:
        return 4 * BINS + self.classes

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Shape:
        levels = tuple((int(c), int(h), int(w), int(s)) for c, h, w, s in data["levels"])
        return cls(levels, int(data["width"]), int(data["classes"]))


class Unit(paddle.nn.Layer):
    """Convolution without a bias, one batch normalisation out of `norms`, ReLU.

    Args:
        scale: (inputs,) what each channel is divided by first. It is multiplied into the weight;
            the channels' means need no such care, since batch normalisation removes them.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        stride: int = 1,
        norms: int = 1,
        scale: Array | None = None,
    ) -> None:
        super().__init__()
        self.stride, self.padding = stride, kernel // 2
        self.weight = self.create_parameter(
            [outputs, inputs, kernel, kernel],
            default_initializer=paddle.nn.initializer.KaimingNormal(),
        )
        self.factor = None if scale is None else paddle.to_tensor((1 / scale).reshape(1, -1, 1, 1))
        self.norms = paddle.nn.LayerList(
            [
                paddle.nn.BatchNorm2D(outputs, momentum=BATCH_MOMENTUM, epsilon=EPSILON)
                for _ in range(norms)
            ]
        )

    def forward(self, value: Tensor, norm: int = 0) -> Tensor:
        value = functional.conv2d(
            value, self.folded_weight(), stride=self.stride, padding=self.padding
        )
        return functional.relu(self.norms[norm](value))

    def folded_weight(self) -> Tensor:
        """The weight for inputs that are not scaled."""
        return self.weight if self.factor is None else self.weight * self.factor


class Head(paddle.nn.Layer):
    """Maps → raw outputs of every position.

    Args:
        scales: (channels,) a level: the usual size of each channel of the maps.
        dropout: share of the neck's channels that a training step leaves out.
    """

    def __init__(self, shape: Shape, scales: Sequence[Array], dropout: float = 0.0) -> None:
        super().__init__()
        self.shape, self.dropout = shape, dropout
        count, width = len(shape.levels), shape.width
        self.lateral = paddle.nn.LayerList(
            [
                Unit(channels, width, 1, scale=scale)
                for (channels, *_), scale in zip(shape.levels, scales, strict=True)
            ]
        )
        self.down = paddle.nn.LayerList([Unit(width, width, 3) for _ in range(count - 1)])
        self.stride = paddle.nn.LayerList([Unit(width, width, 3, 2) for _ in range(count - 1)])
        self.up = paddle.nn.LayerList([Unit(width, width, 3) for _ in range(count - 1)])
        self.tower = Unit(width, width, 3, norms=count)
        self.out = paddle.nn.Conv2D(
            width,
            shape.outputs,
            1,
            bias_attr=False,
            weight_attr=paddle.nn.initializer.Normal(std=0.01),
        )
        bias = np.zeros(shape.outputs, np.float32)
        bias[: 4 * BINS] = np.tile(-FALL * np.arange(BINS), 4)
        bias[4 * BINS :] = -np.log((1 - PRIOR) / PRIOR)
        self.bias = self.create_parameter(
            [shape.outputs], default_initializer=paddle.nn.initializer.Assign(bias)
        )

    def forward(self, maps: Sequence[Tensor]) -> Tensor:
        """[(N, C, h, w)] a level → (N, A, 4 * BINS + K) raw outputs, the finest level first."""
        values = []
        for lateral, value in zip(self.lateral, maps, strict=True):
            value = lateral(value)
            if self.training and self.dropout:
                value = functional.dropout2d(value, self.dropout)
            values.append(value)
        count = len(values)
        for index in range(count - 2, -1, -1):
            coarse = functional.interpolate(values[index + 1], scale_factor=2, mode="nearest")
            values[index] = self.down[index](values[index] + coarse)
        for index in range(count - 1):
            fine = self.stride[index](values[index])
            values[index + 1] = self.up[index](values[index + 1] + fine)
        outputs = []
        for index, value in enumerate(values):
            value = self.out(self.tower(value, index))
            outputs.append(value.flatten(start_axis=2))
        raw = paddle.concat(outputs, axis=2).transpose([0, 2, 1])
        return raw + self.bias


def distances(raw: Tensor) -> Tensor:
    """(…, 4 * BINS) logits → (…, 4) expected distances in strides."""
    probabilities = functional.softmax(raw.reshape([*raw.shape[:-1], 4, BINS]), axis=-1)
    return probabilities @ paddle.arange(BINS, dtype="float32")


def boxes_at(points: Tensor, strides: Tensor, distance: Tensor) -> Tensor:
    """(P, 2), (P,), (P, 4) left, top, right, bottom in strides → (P, 4) boxes in pixels."""
    reach = distance * strides.unsqueeze(-1)
    return paddle.concat([points - reach[..., :2], points + reach[..., 2:]], axis=-1)
