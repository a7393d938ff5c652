"""Where a resize puts a picture: sizes and places in whole pixels, and the way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchard.preprocess.operations import of_one

Rectangle = tuple[int, int, int, int]
"""Left, top, width, height."""


@dataclass(frozen=True)
class Placement:
    """One rectangle of a picture and the rectangle of the model's input that shows it.

    Attributes:
        source: (left, top, width, height) in pixels of the picture.
        target: (left, top, width, height) in pixels of the model's input.
        mirrored: whether left and right of the input were exchanged after the resize.
        input_width: of the whole input; a mirrored input needs it.
    """

    source: tuple[int, int, int, int]
    target: tuple[int, int, int, int]
    mirrored: bool = False
    input_width: int = 0


def placement(operations: Sequence[Mapping[str, Any]], width: int, height: int) -> Placement:
    """Where a picture of width × height lies in the input that valid operations without tiles make
    of it."""
    resize = operations[0]
    mirrored = operations[1]["operation"] == "mirror"
    target_width, target_height, fit = resize["width"], resize["height"], resize["fit"]
    source, target = (0, 0, width, height), (0, 0, target_width, target_height)
    if fit == "crop":
        source = middle(width, height, target_width, target_height)
    elif fit == "pad":
        target = inner(width, height, target_width, target_height)
    return Placement(source, target, mirrored, target_width)


def placements(operations: Sequence[Mapping[str, Any]], width: int, height: int) -> list[Placement]:
    """Where a picture of width × height lies in each of the inputs that valid operations make of it."""
    found = []
    for left, top, columns, rows in rectangles(operations, width, height):
        place = placement(of_one(operations), columns, rows)
        x, y, *sides = place.source
        found.append(replace(place, source=(left + x, top + y, sides[0], sides[1])))
    return found


def rectangles(operations: Sequence[Mapping[str, Any]], width: int, height: int) -> list[Rectangle]:
    """The parts of a picture of width × height that become an input each."""
    whole = (0, 0, width, height)
    tiles = operations[0]
    if tiles["operation"] != "tiles":
        return [whole]
    columns, rows = tile_sides(tiles, width, height)
    lefts = _starts(width, columns, tiles["columns"])
    tops = _starts(height, rows, tiles["rows"])
    return [*((left, top, columns, rows) for top in tops for left in lefts), whole]


def tile_sides(tiles: Mapping[str, Any], width: int, height: int) -> tuple[int, int]:
    """Width and height of the tiles of a picture of width × height."""
    sides = []
    for length, count in ((width, tiles["columns"]), (height, tiles["rows"])):
        share = 100 * count - tiles["overlap"] * (count - 1)
        sides.append((100 * length + share - 1) // share)
    return sides[0], sides[1]


def tile_overlap(tiles: Mapping[str, Any], width: int, height: int) -> tuple[int, int]:
    """Columns and rows that neighbouring tiles share at least: what is no larger lies whole in a tile
    wherever it is; the whole side where there is one tile only."""
    shared = []
    columns, rows = tile_sides(tiles, width, height)
    for length, side, count in ((width, columns, tiles["columns"]), (height, rows, tiles["rows"])):
        starts = _starts(length, side, count)
        steps = [after - before for before, after in zip(starts, starts[1:], strict=False)]
        shared.append(side - max(steps, default=0))
    return shared[0], shared[1]


def _starts(length: int, side: int, count: int) -> list[int]:
    return [number * (length - side) // max(1, count - 1) for number in range(count)]


def middle(
    width: int, height: int, target_width: int, target_height: int
) -> tuple[int, int, int, int]:
    """(left, top, width, height) of the largest part in the middle of a picture that has the
    target's shape, to the nearest pixel."""
    if width * target_height > height * target_width:
        columns = max(1, (2 * height * target_width + target_height) // (2 * target_height))
        return (width - columns) // 2, 0, columns, height
    rows = max(1, (2 * width * target_height + target_width) // (2 * target_width))
    return 0, (height - rows) // 2, width, rows


def inner(
    width: int, height: int, target_width: int, target_height: int
) -> tuple[int, int, int, int]:
    """(left, top, width, height) of the scaled picture inside its padding."""
    if width * target_height > height * target_width:
        rows = max(1, (2 * height * target_width + width) // (2 * width))
        return 0, (target_height - rows) // 2, target_width, rows
    columns = max(1, (2 * width * target_height + height) // (2 * height))
    return (target_width - columns) // 2, 0, columns, target_height
