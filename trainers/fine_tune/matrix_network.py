"""Runs a block network as matrix products, which trains several times faster on CPUs.

Paddle's convolution kernels reach a few percent of a CPU's arithmetic in training, its matrix
product most of it. With values laid out as (channels, samples, pixels), a 1×1 convolution is one
product without any transposition, and a depthwise convolution over few pixels is a batched product
with one small matrix a channel that holds the kernel at every position. Where that matrix would be
large, the convolution kernel is used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trainers.backbones.architecture import Convolution
from trainers.backbones.network import BlockLayer, BlockNetwork, ConvolutionLayer
from trainers.engine import paddle

Tensor = paddle.Tensor

# Above this many entries a channel, the dense matrix does more work than it saves (measured).
LARGEST_MATRIX = 12_000


class MatrixNetwork(paddle.nn.Layer):
    """The same computation as the network it wraps, on its parameters, for one input size.

    Args:
        network: unfolded, or any part of a network.
        height, width: of the values that enter it.
    """

    def __init__(self, network: BlockNetwork, height: int, width: int) -> None:
        super().__init__()
        self.network = network
        self.height, self.width = height, width
        self._placements: dict[tuple[int, int, int, int], Tensor] = {}

    def forward(self, value: Tensor) -> dict[str, Tensor]:
        """(C, N, height × width) → the outputs (C, N, pixels) of the feature blocks, by name."""
        outputs, size = {}, (self.height, self.width)
        for layer in self.network.block_layers():
            value, size = self._block(layer, value, size)
            if layer.block.name in self.network.feature_blocks:
                outputs[layer.block.name] = value
        return outputs

    def features(self, value: Tensor) -> Tensor:
        """(C, N, pixels) → (N, D): mean and maximum of each feature block, in `layout`'s order."""
        outputs = self.forward(value)
        parts = []
        for name in self.network.feature_blocks:
            parts += [outputs[name].mean(axis=2), outputs[name].max(axis=2)]
        return paddle.concat(parts, axis=0).transpose([1, 0])

    def _block(
        self, layer: BlockLayer, value: Tensor, size: tuple[int, int]
    ) -> tuple[Tensor, tuple[int, int]]:
        before = value
        for convolution in layer.convolution_layers():
            value, size = self._convolution(convolution, value, size)
        return (value + before if layer.block.residual else value), size

    def _convolution(
        self, layer: ConvolutionLayer, value: Tensor, size: tuple[int, int]
    ) -> tuple[Tensor, tuple[int, int]]:
        convolution = layer.convolution
        (height, width), samples = size, value.shape[1]
        after = (height // convolution.stride, width // convolution.stride)
        weight = layer.weight
        if layer.scale is not None:
            weight = weight * layer.scale.reshape([-1, 1, 1, 1])
        depthwise = convolution.groups == convolution.inputs == convolution.outputs
        matrix_size = height * width * after[0] * after[1]
        if (convolution.kernel, convolution.stride, convolution.groups) == (1, 1, 1):
            flat = value.reshape([convolution.inputs, -1])
            value = weight.reshape([convolution.outputs, -1]) @ flat
        elif depthwise and matrix_size <= LARGEST_MATRIX:
            kernels = weight.reshape([convolution.outputs, -1])
            matrices = kernels @ self._placement(convolution, height, width)
            matrices = matrices.reshape([convolution.outputs, height * width, -1])
            value = paddle.bmm(value, matrices)
        else:
            value = _convolve(layer, weight, value, size)
        value = value.reshape([convolution.outputs, -1]) + layer.bias.reshape([-1, 1])
        if convolution.relu6:
            value = paddle.nn.functional.relu6(value)
        return value.reshape([convolution.outputs, samples, -1]), after

    def _placement(self, convolution: Convolution, height: int, width: int) -> Tensor:
        key = (convolution.kernel, convolution.stride, height, width)
        if key not in self._placements:
            self._placements[key] = paddle.to_tensor(placement(convolution, height, width))
        return self._placements[key]


def placement(convolution: Convolution, height: int, width: int) -> NDArray[np.float32]:
    """(kernel², pixels in × pixels out) of 0 and 1: which kernel entry joins which two pixels."""
    rows = _placement_along(convolution, height)
    columns = _placement_along(convolution, width)
    both = np.einsum("aio,bjp->abijop", rows, columns)
    return np.ascontiguousarray(both.reshape(convolution.kernel**2, -1))


def _placement_along(convolution: Convolution, length: int) -> NDArray[np.float32]:
    before, _ = convolution.padding
    outputs = length // convolution.stride
    joined = np.zeros((convolution.kernel, length, outputs), np.float32)
    for output in range(outputs):
        for entry in range(convolution.kernel):
            source = output * convolution.stride + entry - before
            if 0 <= source < length:
                joined[entry, source, output] = 1
    return joined


def _convolve(
    layer: ConvolutionLayer, weight: Tensor, value: Tensor, size: tuple[int, int]
) -> Tensor:
    convolution = layer.convolution
    pictures = value.reshape([convolution.inputs, -1, *size]).transpose([1, 0, 2, 3])
    before, after = convolution.padding
    output = paddle.nn.functional.conv2d(
        pictures,
        weight,
        stride=convolution.stride,
        padding=[before, after, before, after],
        groups=convolution.groups,
    )
    return output.transpose([1, 0, 2, 3])
