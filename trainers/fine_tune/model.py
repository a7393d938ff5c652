"""The part that is trained: the network's last blocks and the head, as one Paddle layer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from trainers.backbones.architecture import Weights
from trainers.backbones.network import BlockNetwork
from trainers.backbones.registry import Backbone
from trainers.engine import paddle
from trainers.fine_tune.matrix_network import MatrixNetwork
from trainers.head_weights import HeadWeights

Array = NDArray[np.float32]
Tensor = paddle.Tensor


class TailModel(paddle.nn.Layer):
    """Maps of the frozen part → logits.

    Args:
        backbone: the whole network.
        weights: of the whole network; this layer takes those from `first_block` on.
        head: where training starts from; its temperature goes into its last layer.
        first_block: first block of this layer.
        height, width: of the maps that enter.
        dropout: on the standardised features.
    """

    def __init__(
        self,
        backbone: Backbone,
        weights: Weights,
        head: HeadWeights,
        first_block: str,
        height: int,
        width: int,
        dropout: float,
    ) -> None:
        super().__init__()
        first = [block.name for block in backbone.blocks].index(first_block)
        blocks = backbone.blocks[first:]
        names = {block.name for block in blocks}
        self.network = BlockNetwork(blocks, [b for b in backbone.feature_blocks if b in names])
        self.network.load_weights(weights)
        self._matrix_network = MatrixNetwork(self.network, height, width)
        self._head = head
        self._mean, self._scale = paddle.to_tensor(head.mean), paddle.to_tensor(head.scale)
        self._dropout = dropout
        self.linears = paddle.nn.LayerList([paddle.nn.Linear(*w.shape) for w, _ in head.layers])
        last = len(head.layers) - 1
        for index, (linear, (weight, bias)) in enumerate(
            zip(self.linears, head.layers, strict=True)
        ):
            divisor = np.float32(head.temperature if index == last else 1)
            linear.weight.set_value(weight / divisor)
            linear.bias.set_value(bias / divisor)

    def forward(self, maps: Tensor, frozen_features: Tensor) -> Tensor:
        """(N, C, H, W) and (N, D of the frozen blocks) → (N, K) logits."""
        samples, channels = maps.shape[:2]
        values = maps.reshape([samples, channels, -1]).transpose([1, 0, 2])
        value = paddle.concat([frozen_features, self._matrix_network.features(values)], axis=1)
        value = (value - self._mean) / self._scale
        value = paddle.nn.functional.dropout(value, self._dropout, training=self.training)
        for index, linear in enumerate(self.linears):
            value = linear(paddle.nn.functional.relu(value) if index else value)
        return value

    def network_parameters(self) -> list[Tensor]:
        return [p for p in self.network.parameters() if not p.stop_gradient]

    def head_parameters(self) -> list[Tensor]:
        return list(self.linears.parameters())

    def arrays(self) -> dict[str, Array]:
        """Copies of all parameters by name."""
        arrays = {f"network.{n}": a for n, a in self.network.numpy_weights().items()}
        for index, linear in enumerate(self.linears):
            arrays[f"head.{index}.weight"] = linear.weight.numpy()
            arrays[f"head.{index}.bias"] = linear.bias.numpy()
        return {name: array.copy() for name, array in arrays.items()}

    def load_arrays(self, arrays: Mapping[str, Array]) -> None:
        """Take over what `arrays` gave."""
        self.network.load_weights(network_weights(arrays))
        for linear, (weight, bias) in zip(
            self.linears, head_weights(arrays, self._head).layers, strict=True
        ):
            linear.weight.set_value(weight)
            linear.bias.set_value(bias)


def network_weights(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The network's part of `TailModel.arrays`, named as in `architecture`."""
    prefix = "network."
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


def head_weights(arrays: Mapping[str, Array], start: HeadWeights) -> HeadWeights:
    """The head's part of `TailModel.arrays`, with the standardisation of `start`."""
    layers = [
        (arrays[f"head.{index}.weight"], arrays[f"head.{index}.bias"])
        for index in range(len(start.layers))
    ]
    return HeadWeights(start.mean, start.scale, layers, temperature=1.0)
