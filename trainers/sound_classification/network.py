"""A small network over log-mel spectrograms that is trained from scratch.

Two convolutions bring the picture to a quarter of its sides, then depthwise-separable ones follow
(Howard et al. 2017, arXiv:1704.04861): a convolution a channel, then one that mixes the channels.
Batch normalisation follows each and is folded in once training is over, so that a trained network is
blocks and weights like any backbone (`trainers.backbones.architecture`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from trainers.backbones.architecture import (
    Block,
    Convolution,
    FeatureSpan,
    fold_batch_normalisation,
    layout,
)
from trainers.backbones.network import pool
from trainers.engine import paddle

Array = NDArray[np.float32]
Tensor = paddle.Tensor

STRIDE = 16
"""Bands and columns of the input are multiples of this."""
EPSILON = 1e-5
_FIRST = (16, 32)
_SEPARABLE = ((1, 64), (2, 96), (1, 96), (2, 128), (1, 128))
"""(stride, channels) of each depthwise-separable block."""


def blocks() -> tuple[Block, ...]:
    """The network: one plane in, a sixteenth of its sides out."""
    made, inputs = [], 1
    for index, channels in enumerate(_FIRST):
        name = f"stem{index}"
        made.append(
            Block(name, (Convolution(f"{name}.full", inputs, channels, kernel=3, stride=2),))
        )
        inputs = channels
    for index, (stride, channels) in enumerate(_SEPARABLE):
        name = f"block{index}"
        parts = (
            Convolution(f"{name}.depthwise", inputs, inputs, 3, stride, groups=inputs),
            Convolution(f"{name}.mixing", inputs, channels),
        )
        made.append(Block(name, parts, residual=stride == 1 and inputs == channels))
        inputs = channels
    return tuple(made)


def pooled_spans(network: Sequence[Block]) -> list[FeatureSpan]:
    """What is pooled: mean and maximum of the last block."""
    return layout(network, [network[-1].name])


class _Convolution(paddle.nn.Layer):
    """A described convolution with batch normalisation in training."""

    def __init__(self, convolution: Convolution) -> None:
        super().__init__()
        self.convolution = convolution
        before, after = convolution.padding
        self._padding = [before, after, before, after]
        self.weight = self.create_parameter(
            list(convolution.weight_shape),
            default_initializer=paddle.nn.initializer.KaimingNormal(),
        )
        self.normalisation = paddle.nn.BatchNorm2D(convolution.outputs, epsilon=EPSILON)

    def forward(self, value: Tensor) -> Tensor:
        value = paddle.nn.functional.conv2d(
            value,
            self.weight,
            stride=self.convolution.stride,
            padding=self._padding,
            groups=self.convolution.groups,
        )
        return paddle.nn.functional.relu6(self.normalisation(value))


class ScratchNetwork(paddle.nn.Layer):
    """Spectrograms → logits, in training; implements `trainers.training.Model`.

    Args:
        dropout: share of the pooled features that is left out in a step.
    """

    def __init__(self, classes: int, dropout: float) -> None:
        super().__init__()
        self._blocks = blocks()
        self._spans = pooled_spans(self._blocks)
        self.convolutions = paddle.nn.LayerList(
            [_Convolution(c) for block in self._blocks for c in block.convolutions]
        )
        self._dropout = dropout
        self.head = paddle.nn.Linear(
            self._spans[-1].stop,
            classes,
            # All classes are as likely as each other at first, however large the features are.
            weight_attr=paddle.nn.initializer.Constant(0.0),
        )

    def forward(self, windows: Tensor) -> Tensor:
        """(N, W, bands, T): W windows of each recording → (N, K), the mean of the windows' logits."""
        count, each, bands, columns = windows.shape
        value = windows.reshape([count * each, 1, bands, columns])
        layers = iter(self.convolutions)
        for block in self._blocks:
            before = value
            for _ in block.convolutions:
                value = next(layers)(value)
            value = value + before if block.residual else value
        value = paddle.concat([pool(value, span.pooling) for span in self._spans], axis=1)
        value = paddle.nn.functional.dropout(value, self._dropout, training=self.training)
        logits = self.head(value)
        return logits.reshape([count, each, -1]).mean(axis=1)

    def arrays(self) -> dict[str, Array]:
        """Copies of all parameters and running statistics by name."""
        return {name: value.numpy().copy() for name, value in self.state_dict().items()}

    def load_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `arrays` gave."""
        names = self.state_dict().keys()
        self.set_state_dict(cast(Any, {name: arrays[name] for name in names}))


def folded_weights(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """`ScratchNetwork.arrays` as weights of `blocks`, named as in `architecture`."""
    weights: dict[str, Array] = {}
    every = [c for block in blocks() for c in block.convolutions]
    for index, convolution in enumerate(every):
        place = f"convolutions.{index}"
        scale, bias = fold_batch_normalisation(
            *(arrays[f"{place}.normalisation.{part}"] for part in _NORMALISATION), EPSILON
        )
        weights[f"{convolution.name}.weight"] = arrays[f"{place}.weight"]
        weights[f"{convolution.name}.scale"] = scale
        weights[f"{convolution.name}.bias"] = bias
    return weights


_NORMALISATION = ("weight", "bias", "_mean", "_variance")


def head_layer(arrays: Mapping[str, Array]) -> tuple[Array, Array]:
    """Weight (D, K) and bias (K,) of the linear layer in `ScratchNetwork.arrays`."""
    return arrays["head.weight"], arrays["head.bias"]
