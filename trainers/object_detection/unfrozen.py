"""A detector whose backbone is trained together with its head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from trainers.backbones.architecture import folded
from trainers.backbones.maps import FeatureMaps
from trainers.backbones.network import BlockNetwork
from trainers.engine import paddle
from trainers.object_detection.detector import NETWORK, folded_head
from trainers.object_detection.geometry import Array
from trainers.object_detection.network import Head, Shape
from trainers.object_detection.pixels import entering, frozen_part

Tensor = paddle.Tensor
Start = Literal["pretrained", "random"]


@dataclass(frozen=True)
class Unfreezing:
    """How a backbone is trained.

    Attributes:
        name: of the backbone of maps.
        frozen_to: the last block that stays as it is; empty where all are trained.
        weights: what training begins with.
    """

    name: str
    frozen_to: str
    weights: Start


class Unfrozen(paddle.nn.Layer):
    """The trained blocks of a backbone, and a head on the maps of all its blocks.

    Args:
        maps: the backbone and the blocks whose maps the head takes.
        frozen_to: the last block that stays as it is; empty where all are trained.
        weights: what the blocks begin with. Pretrained ones keep their batch normalisation as it
            was folded; random ones have one of their own that is trained, without which so deep a
            network learns nothing.
        head: on the maps of all levels.
    """

    def __init__(self, maps: FeatureMaps, frozen_to: str, weights: Start, head: Head) -> None:
        super().__init__()
        self._entering = entering(maps, frozen_to)
        self.pretrained = weights == "pretrained"
        self._levels = [level.blocks for level in maps.levels]
        blocks = maps.blocks[len(frozen_part(maps, frozen_to)) :]
        self.network = BlockNetwork(blocks, (), normalised=not self.pretrained)
        if self.pretrained:
            self.network.load_weights(maps.backbone.load_weights())
        self.head = head

    @property
    def shape(self) -> Shape:
        return self.head.shape

    def forward(self, values: Sequence[Tensor]) -> Tensor:
        """What `PixelPictures.maps` gives → (N, A, 4 * BINS + K) raw outputs."""
        known = dict(zip(self._entering, values, strict=True)) if self._entering else {}
        known |= self.network.by_name(values[0])
        return self.head(
            [paddle.concat([known[name] for name in names], axis=1) for names in self._levels]
        )


def folded_arrays(model: Head | Unfrozen) -> dict[str, Array]:
    """What a detector's export takes of a model: its head, and the backbone's blocks that were
    trained with it, named as a detector's parameters."""
    if isinstance(model, Head):
        return folded_head(model)
    result = folded_head(model.head)
    weights = model.network.numpy_weights()
    for convolution in (c for block in model.network.blocks for c in block.convolutions):
        weight, bias = folded(convolution, weights)
        result[f"{NETWORK}.{convolution.name}.weight"] = weight
        result[f"{NETWORK}.{convolution.name}.bias"] = bias
    return result
