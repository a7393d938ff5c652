"""Backbones whose features are the maps of several blocks, for tasks that ask where something is.

A feature row holds the maps level by level, from the finest to the coarsest: (channels, height /
stride, width / stride) float32 in row-major order each, the channels of a level's blocks one after
the other. So its length depends on the size of the input.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from orchard.errors import NotFound
from trainers.backbones.architecture import Block, check_weights
from trainers.backbones.feature_graph import INPUT_SHAPE
from trainers.backbones.graph import GraphWriter
from trainers.backbones.registry import Backbone, get_backbone

KIND = "maps"


@dataclass(frozen=True)
class MapLevel:
    """Maps of equal size: blocks, their stride in input pixels, the sum of their channels."""

    blocks: tuple[str, ...]
    stride: int
    channels: int

    def to_json(self) -> dict[str, Any]:
        return {"blocks": list(self.blocks), "stride": self.stride, "channels": self.channels}


@dataclass(frozen=True)
class FeatureMaps:
    """A backbone seen through the maps of some of its blocks.

    Attributes:
        name: lower-case identifier, part of file names and cache keys.
        backbone: the network.
        map_blocks: names of the blocks whose maps are taken.
        milliseconds_per_megapixel: see `Backbone`.
    """

    name: str
    backbone: Backbone
    map_blocks: tuple[str, ...]
    milliseconds_per_megapixel: float

    @property
    def levels(self) -> tuple[MapLevel, ...]:
        """From the finest to the coarsest."""
        channels = {block.name: block.channels for block in self.backbone.blocks}
        by_stride: dict[int, list[str]] = {}
        for name in self.map_blocks:
            by_stride.setdefault(self.backbone.strides[name], []).append(name)
        return tuple(
            MapLevel(tuple(names), stride, sum(channels[name] for name in names))
            for stride, names in sorted(by_stride.items())
        )

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The network up to the last block that is needed."""
        names = [block.name for block in self.backbone.blocks]
        return self.backbone.blocks[: max(names.index(name) for name in self.map_blocks) + 1]


def map_shapes(levels: Sequence[MapLevel], height: int, width: int) -> list[tuple[int, int, int]]:
    """(channels, rows, columns) of each level for an input of that size."""
    return [(level.channels, height // level.stride, width // level.stride) for level in levels]


def feature_count(levels: Sequence[MapLevel], height: int, width: int) -> int:
    """D, the length of a feature row."""
    return sum(c * h * w for c, h, w in map_shapes(levels, height, width))


@cache
def feature_maps() -> dict[str, FeatureMaps]:
    """All entries by name, in a fixed order."""
    entries = (
        FeatureMaps(
            "efficientnet-lite0-maps",
            get_backbone("efficientnet-lite0"),
            ("block4", "block7", "block10", "block14", "block15"),
            milliseconds_per_megapixel=320.0,
        ),
    )
    return {entry.name: entry for entry in entries}


def get_feature_maps(name: str) -> FeatureMaps:
    """The entry of that name.

    Raises:
        NotFound: there is none; the message lists those there are.
    """
    known = feature_maps()
    if name not in known:
        raise NotFound(
            "There is no such backbone", value=name, way_out=f"Choose from {', '.join(known)}"
        )
    return known[name]


def maps_graph(maps: FeatureMaps) -> bytes:
    """The maps as ONNX: "input" (rows, 3, H, W) float32, normalised, → "features" (rows, D)."""
    weights = maps.backbone.load_weights()
    check_weights(maps.blocks, weights)
    graph = GraphWriter(maps.name)
    outputs = graph.blocks(graph.input("input", INPUT_SHAPE), maps.blocks, weights)
    parts = [
        graph.add("Flatten", outputs[name], axis=1)
        for level in maps.levels
        for name in level.blocks
    ]
    graph.output("features", graph.add("Concat", *parts, axis=1), ("batch", "features"))
    return graph.to_bytes()


def maps_facts(maps: FeatureMaps, graph: bytes) -> dict[str, Any]:
    """The card: what others need to know of the graph, as JSON (see `store.backbone_facts`).

    `kind` is "maps" and `levels` say how a row is laid out.
    """
    backbone = maps.backbone
    return {
        "name": maps.name,
        "kind": KIND,
        "title": backbone.title,
        "licence": backbone.licence,
        "source": backbone.source,
        "normalisation": {"mean": list(backbone.mean), "scale": list(backbone.scale)},
        "levels": [level.to_json() for level in maps.levels],
        "size_multiple": backbone.size_multiple,
        "milliseconds_per_megapixel": maps.milliseconds_per_megapixel,
        "sha256": hashlib.sha256(graph).hexdigest(),
        "bytes": len(graph),
    }
