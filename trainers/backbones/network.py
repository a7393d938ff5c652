"""A described network as a Paddle layer.

`Weights` are kept as they come: convolution weight, frozen batch normalisation as scale and bias,
which keeps the geometry of the unfolded weights for fine-tuning. Paddle's batch normalisation applies
both at once, in half the time that products and sums of tensors take. `folded=True` has it
multiplied in once, for inference. `normalised=True` has a batch normalisation that is trained in
place of scale and bias, and random weights: a network that begins from nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from trainers.backbones.architecture import (
    POOLINGS,
    Block,
    Convolution,
    FeatureSpan,
    Weights,
    check_weights,
    fold_batch_normalisation,
    folded,
)
from trainers.backbones.registry import Backbone
from trainers.engine import paddle

Tensor = paddle.Tensor
EPSILON = 1e-3
MOMENTUM = 0.95
"""Of batch normalisation that is trained."""


class ConvolutionLayer(paddle.nn.Layer):
    """Convolution, scale, bias and ReLU6 as `Convolution` describes them."""

    def __init__(self, convolution: Convolution, folded: bool, normalised: bool) -> None:
        super().__init__()
        self.convolution = convolution
        before, after = convolution.padding
        self._padding = [before, after, before, after]
        self.scale = None
        self.norm = None
        if normalised:
            self.weight = self.create_parameter(
                list(convolution.weight_shape),
                default_initializer=paddle.nn.initializer.KaimingNormal(),
            )
            self.norm = paddle.nn.BatchNorm2D(convolution.outputs, MOMENTUM, EPSILON)
            return
        zero = paddle.nn.initializer.Constant(0.0)
        self.weight = self.create_parameter(
            list(convolution.weight_shape), default_initializer=zero
        )
        self.bias = self.create_parameter([convolution.outputs], default_initializer=zero)
        if not folded:
            self.scale = self.create_parameter([convolution.outputs], default_initializer=zero)
            self.scale.stop_gradient = True
            self.scale.trainable = False
            self._none = paddle.zeros([convolution.outputs])
            # What batch normalisation divides by is then 1.
            self._one = paddle.full([convolution.outputs], 1 - EPSILON)

    def forward(self, value: Tensor) -> Tensor:
        value = paddle.nn.functional.conv2d(
            value,
            self.weight,
            stride=self.convolution.stride,
            padding=self._padding,
            groups=self.convolution.groups,
        )
        if self.norm is not None:
            value = self.norm(value)
        elif self.scale is not None:
            scale = self.scale.detach()
            # Without a gradient of the scale, which nobody takes, Paddle gives the bias none either.
            scale.stop_gradient = False
            value = paddle.nn.functional.batch_norm(
                value, self._none, self._one, scale, self.bias, epsilon=EPSILON
            )
        else:
            value = value + self.bias.reshape([1, -1, 1, 1])
        return paddle.nn.functional.relu6(value) if self.convolution.relu6 else value


class BlockLayer(paddle.nn.Layer):
    """Convolutions in a row, with the input added where the block is residual."""

    def __init__(self, block: Block, folded: bool, normalised: bool) -> None:
        super().__init__()
        self.block = block
        for convolution in block.convolutions:
            name = convolution.name.removeprefix(f"{block.name}.")
            self.add_sublayer(name, ConvolutionLayer(convolution, folded, normalised))

    def forward(self, value: Tensor) -> Tensor:
        before = value
        for layer in self.convolution_layers():
            value = layer(value)
        return value + before if self.block.residual else value

    def convolution_layers(self) -> list[ConvolutionLayer]:
        """The layers in the order of their use."""
        return [layer for layer in self.children() if isinstance(layer, ConvolutionLayer)]


def pool(value: Tensor, pooling: str) -> Tensor:
    """(N, C, H, W) → (N, C) by the mean or the maximum over the picture."""
    return value.mean(axis=[2, 3]) if pooling == "mean" else value.amax(axis=[2, 3])


class BlockNetwork(paddle.nn.Layer):
    """A network of blocks.

    Args:
        blocks: the whole network, or its first or last part.
        feature_blocks: names of the blocks that `features` pools.
        folded: whether the scale is multiplied into the weights (inference).
        normalised: whether weights are random and batch normalisation is trained.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        feature_blocks: Sequence[str],
        *,
        folded: bool = False,
        normalised: bool = False,
    ) -> None:
        super().__init__()
        self.blocks = tuple(blocks)
        self.feature_blocks = tuple(feature_blocks)
        self.folded = folded
        for block in blocks:
            self.add_sublayer(block.name, BlockLayer(block, folded, normalised))

    def forward(self, value: Tensor) -> list[Tensor]:
        """(N, 3, H, W) → the output of each block, (N, C, H / stride, W / stride)."""
        outputs = []
        for layer in self.block_layers():
            value = layer(value)
            outputs.append(value)
        return outputs

    def features(self, value: Tensor) -> Tensor:
        """(N, 3, H, W) → (N, D): mean and maximum of each feature block, in `layout`'s order."""
        outputs = self.by_name(value)
        return paddle.concat(
            [pool(outputs[b], p) for b in self.feature_blocks for p in POOLINGS], 1
        )

    def pooled(self, value: Tensor, spans: Sequence[FeatureSpan]) -> Tensor:
        """(N, 3, H, W) → (N, D') of the given parts only."""
        outputs = self.by_name(value)
        return paddle.concat([pool(outputs[s.block], s.pooling) for s in spans], 1)

    def block_layers(self) -> list[BlockLayer]:
        """The layers in the order of their use."""
        return [layer for layer in self.children() if isinstance(layer, BlockLayer)]

    def by_name(self, value: Tensor) -> dict[str, Tensor]:
        """The outputs of `forward` by the blocks' names."""
        return dict(zip((b.name for b in self.blocks), self.forward(value), strict=True))

    def load_weights(self, weights: Weights) -> None:
        """Take over weights that are named as in `architecture`.

        Raises:
            BadInput: an array is missing, has another shape, or is not finite.
        """
        check_weights(self.blocks, weights)
        for name, layer in self._convolution_layers():
            if self.folded:
                weight, bias = folded(layer.convolution, weights)
                layer.weight.set_value(weight)
                layer.bias.set_value(bias)
            else:
                for part in ("weight", "scale", "bias"):
                    getattr(layer, part).set_value(weights[f"{name}.{part}"])

    def numpy_weights(self) -> dict[str, NDArray[np.float32]]:
        """The weights as `load_weights` takes them; a folded network has scales of one, a normalised
        one those of its running statistics."""
        weights: dict[str, NDArray[np.float32]] = {}
        for name, layer in self._convolution_layers():
            if layer.norm is not None:
                weights[f"{name}.weight"] = layer.weight.numpy()
                weights[f"{name}.scale"], weights[f"{name}.bias"] = fold_batch_normalisation(
                    layer.norm.weight.numpy(),
                    layer.norm.bias.numpy(),
                    layer.norm._mean.numpy(),
                    layer.norm._variance.numpy(),
                    EPSILON,
                )
                continue
            scale = layer.scale
            outputs = layer.convolution.outputs
            weights[f"{name}.weight"] = layer.weight.numpy()
            weights[f"{name}.scale"] = (
                np.ones(outputs, np.float32) if scale is None else scale.numpy()
            )
            weights[f"{name}.bias"] = layer.bias.numpy()
        return weights

    def _convolution_layers(self) -> list[tuple[str, ConvolutionLayer]]:
        layers = self.sublayers()
        return [(x.convolution.name, x) for x in layers if isinstance(x, ConvolutionLayer)]


def build_network(
    backbone: Backbone,
    weights: Mapping[str, NDArray[np.float32]] | None = None,
    *,
    folded: bool = False,
) -> BlockNetwork:
    """The backbone as a Paddle layer with `weights`, by default its pretrained ones."""
    network = BlockNetwork(backbone.blocks, backbone.feature_blocks, folded=folded)
    network.load_weights(backbone.load_weights() if weights is None else weights)
    return network
