"""A network as plain data: blocks of convolutions, and the features that are pooled from them.

The same description is executed by Paddle (`network`), written as an ONNX graph (`graph`) and stored
beside exported weights, so that none of them depends on code that knows one architecture.

Weights are plain numpy arrays in a mapping, three for each convolution `c`:
`c.weight` (outputs, inputs / groups, kernel, kernel), and the frozen batch normalisation as
`c.scale` (outputs,) and `c.bias` (outputs,): the convolution computes
`conv(x, weight) * scale + bias`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from orchard.errors import BadInput

Weights = Mapping[str, NDArray[np.float32]]
Pooling = Literal["mean", "max"]
POOLINGS: tuple[Pooling, ...] = ("mean", "max")


@dataclass(frozen=True)
class Convolution:
    """A square convolution with folded batch normalisation and an optional ReLU6.

    Attributes:
        name: prefix of its weights: the block's name, a dot, and a name of its own.
        inputs, outputs: channels.
        kernel: side in pixels, odd.
        stride: 1 or 2.
        groups: 1, or `inputs` for a depthwise convolution.
        relu6: whether min(max(x, 0), 6) follows.
    """

    name: str
    inputs: int
    outputs: int
    kernel: int = 1
    stride: int = 1
    groups: int = 1
    relu6: bool = True

    @property
    def padding(self) -> tuple[int, int]:
        """Pixels added before and after each axis: TensorFlow's "same" for an input that the stride
        divides, where the odd pixel of stride 2 goes to the end."""
        total = self.kernel - self.stride if self.stride > 1 else self.kernel - 1
        return total // 2, total - total // 2

    @property
    def weight_shape(self) -> tuple[int, int, int, int]:
        return self.outputs, self.inputs // self.groups, self.kernel, self.kernel


@dataclass(frozen=True)
class Block:
    """Convolutions in a row; `residual` adds the block's input to its output."""

    name: str
    convolutions: tuple[Convolution, ...]
    residual: bool = False

    @property
    def channels(self) -> int:
        return self.convolutions[-1].outputs

    @property
    def stride(self) -> int:
        return int(np.prod([c.stride for c in self.convolutions]))


@dataclass(frozen=True)
class FeatureSpan:
    """Where one pooled block stands in the feature vector: columns `start` to `stop` (excluded)."""

    block: str
    pooling: Pooling
    start: int
    stop: int


def strides(blocks: Sequence[Block]) -> dict[str, int]:
    """Input pixels per output pixel of each block."""
    result, stride = {}, 1
    for block in blocks:
        stride *= block.stride
        result[block.name] = stride
    return result


def layout(blocks: Sequence[Block], feature_blocks: Iterable[str]) -> list[FeatureSpan]:
    """The feature vector's parts in order: for each feature block its mean, then its maximum."""
    channels = {block.name: block.channels for block in blocks}
    spans, start = [], 0
    for name in feature_blocks:
        if name not in channels:
            raise BadInput(
                "The network has no such block",
                value=name,
                way_out=f"Choose from {', '.join(channels)}",
            )
        for pooling in POOLINGS:
            spans.append(FeatureSpan(name, pooling, start, start + channels[name]))
            start += channels[name]
    return spans


def parameters(blocks: Sequence[Block]) -> int:
    """Numbers in the folded network: convolution weights and one bias a channel."""
    return sum(int(np.prod(c.weight_shape)) + c.outputs for b in blocks for c in b.convolutions)


def multiply_adds_per_pixel(blocks: Sequence[Block]) -> float:
    """Multiply-add operations of all convolutions for each pixel of the input."""
    total, stride = 0.0, 1
    for convolution in (c for block in blocks for c in block.convolutions):
        stride *= convolution.stride
        total += float(np.prod(convolution.weight_shape)) / stride**2
    return total


def check_weights(blocks: Sequence[Block], weights: Weights) -> None:
    """Raise BadInput where an array is missing, has another shape or holds what is not finite."""
    for convolution in (c for block in blocks for c in block.convolutions):
        shapes = {
            f"{convolution.name}.weight": convolution.weight_shape,
            f"{convolution.name}.scale": (convolution.outputs,),
            f"{convolution.name}.bias": (convolution.outputs,),
        }
        for name, shape in shapes.items():
            found = weights[name].shape if name in weights else None
            if found != shape:
                raise BadInput(f"The weights {name} should have the shape {shape}", value=found)
            if not np.isfinite(weights[name]).all():
                raise BadInput("The weights hold a value that is not finite", value=name)


def folded(convolution: Convolution, weights: Weights) -> tuple[NDArray[np.float32], ...]:
    """Weight and bias of the convolution with its scale multiplied in."""
    scale = weights[f"{convolution.name}.scale"].reshape(-1, 1, 1, 1)
    return weights[f"{convolution.name}.weight"] * scale, weights[f"{convolution.name}.bias"]


def fold_batch_normalisation(
    weight: NDArray[np.float32],
    bias: NDArray[np.float32],
    mean: NDArray[np.float32],
    variance: NDArray[np.float32],
    epsilon: float,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Scale and bias that do what batch normalisation does at inference, computed in float64."""
    scale = weight.astype(np.float64) / np.sqrt(variance.astype(np.float64) + epsilon)
    shift = bias.astype(np.float64) - mean.astype(np.float64) * scale
    return scale.astype(np.float32), shift.astype(np.float32)


def blocks_to_json(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    return [asdict(block) for block in blocks]


def blocks_from_json(data: Sequence[Mapping[str, Any]]) -> tuple[Block, ...]:
    return tuple(
        Block(b["name"], tuple(Convolution(**c) for c in b["convolutions"]), b["residual"])
        for b in data
    )
