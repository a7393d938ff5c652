"""The backbones that can be used, by name.

Those of this package are always there. An installed package adds its own by an entry point of the
group `orchard.backbones` that resolves to a `Backbone`; a program adds one with `register`.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points

import numpy as np
from numpy.typing import NDArray

from orchard.errors import NotFound, OrchardError
from trainers.backbones.architecture import (
    Block,
    FeatureSpan,
    layout,
    multiply_adds_per_pixel,
    parameters,
    strides,
)

logger = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "orchard.backbones"
_BUILT_IN_MODULES = ("trainers.backbones.efficientnet_lite",)


@dataclass(frozen=True)
class Backbone:
    """A pretrained network that turns a picture into features.

    Attributes:
        name: lower-case identifier, part of file names and cache keys.
        title: name for people.
        licence: SPDX identifier of the weights' licence.
        source: where the weights come from.
        mean, scale: the input is `(pixel - mean) / scale` for red, green, blue in 0–255.
        blocks: the network.
        feature_blocks: names of the blocks that are pooled into features, in the network's order.
        milliseconds_per_megapixel: time of the feature graph in ONNX Runtime on one thread, in
            batches of 8; a fixed reference figure for plans, not a measurement of this machine.
        load_weights: reads the weights, named as in `architecture`.
        size_multiple: width and height of the input must be multiples of this many pixels.
    """

    name: str
    title: str
    licence: str
    source: str
    mean: tuple[float, float, float]
    scale: tuple[float, float, float]
    blocks: tuple[Block, ...]
    feature_blocks: tuple[str, ...]
    milliseconds_per_megapixel: float
    load_weights: Callable[[], dict[str, NDArray[np.float32]]] = field(compare=False, repr=False)
    size_multiple: int = 32

    @property
    def layout(self) -> list[FeatureSpan]:
        return layout(self.blocks, self.feature_blocks)

    @property
    def feature_count(self) -> int:
        """D, the length of the feature vector."""
        return self.layout[-1].stop

    @property
    def parameters(self) -> int:
        return parameters(self.blocks)

    @property
    def multiply_adds_per_pixel(self) -> float:
        return multiply_adds_per_pixel(self.blocks)

    @property
    def strides(self) -> dict[str, int]:
        """Input pixels per output pixel of each block."""
        return strides(self.blocks)


_registered: dict[str, Backbone] = {}


def register(backbone: Backbone) -> None:
    """Add a backbone for this process.

    Raises:
        OrchardError: another backbone has the name already.
    """
    known = _registered.get(backbone.name) or _discovered().get(backbone.name)
    if known is not None and known != backbone:
        raise OrchardError(
            "Another backbone has this name", value=backbone.name, way_out="Give it another name"
        )
    _registered[backbone.name] = backbone


def backbones() -> dict[str, Backbone]:
    """All backbones by name, in a fixed order."""
    return {**_discovered(), **_registered}


def get_backbone(name: str) -> Backbone:
    """The backbone of that name.

    Raises:
        NotFound: there is none; the message lists those there are.
    """
    known = backbones()
    if name not in known:
        raise NotFound(
            "There is no such backbone", value=name, way_out=f"Choose from {', '.join(known)}"
        )
    return known[name]


def feature_layout(name: str) -> list[tuple[str, str, int, int]]:
    """(block, "mean" or "max", start, stop) for each part of the backbone's feature vector."""
    return [(s.block, s.pooling, s.start, s.stop) for s in get_backbone(name).layout]


@cache
def _discovered() -> dict[str, Backbone]:
    found: dict[str, Backbone] = {}
    for module in _BUILT_IN_MODULES:
        found.update({b.name: b for b in importlib.import_module(module).BACKBONES})
    for entry in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda e: e.name):
        backbone = entry.load()
        if not isinstance(backbone, Backbone) or backbone.name in found:
            logger.warning("Entry point %s left out: no backbone, or its name is taken", entry.name)
            continue
        found[backbone.name] = backbone
    return found
