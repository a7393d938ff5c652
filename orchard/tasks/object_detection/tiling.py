"""Whether pictures are cut into tiles: small objects need more pixels than a whole picture leaves them.

The idea is that of slicing aided inference (Akyon et al. 2022, arXiv:2202.06934), here in training too:
a tile is a picture of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from orchard.tasks.base import Ask
from orchard.tasks.object_detection.sizes import LARGEST_GROWTH, OVERLAP, median_size

SMALL_SIDE = 12.0
"""Pixels of the input: half of the objects being smaller, tiles are worth their cost."""
MOST_TILES = 4


@dataclass(frozen=True)
class Wanted:
    """Tiles for an input size.

    Attributes:
        tiles: so many a side. before, after: the middle object's side in pixels of the input.
    """

    tiles: int
    before: float
    after: float


def wanted(ask: Ask, height: int, width: int) -> Wanted | None:
    """The fewest tiles a side that make the middle object `SMALL_SIDE` pixels large, or as large as the
    pictures' own detail lets them; None where it is large enough without, or its size is not known."""
    share = ask.summary.get("object_share")
    if not share:
        return None
    columns, rows = median_size(ask.summary)
    scale = min(width / columns, height / rows)
    side = float(share) * math.sqrt(columns * rows) * scale
    if side >= SMALL_SIDE:
        return None
    found = None
    for tiles in range(2, MOST_TILES + 1):
        gain = tiles - (tiles - 1) * OVERLAP / 100
        if scale * gain > LARGEST_GROWTH:
            break
        found = Wanted(tiles, side, side * gain)
        if found.after >= SMALL_SIDE:
            break
    return found


def said(chosen: Wanted, height: int, width: int) -> str:
    """The plan's reason."""
    return (
        f"every other object would be less than {chosen.before:.0f} pixels large in the input, which "
        f"is too little to tell it from its ground, so pictures are cut into "
        f"{chosen.tiles}×{chosen.tiles} tiles of {width}×{height} pixels that overlap by "
        f"{OVERLAP} %, where it has {chosen.after:.0f}; the whole picture is looked at too, for large "
        f"objects, and an answer takes {chosen.tiles**2 + 1} times as long"
    )
