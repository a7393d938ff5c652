"""Tiles: several inputs of a picture, and where each lies in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchard.errors import BadInput
from orchard.preprocess import (
    apply,
    input_count,
    inputs,
    output_size,
    placements,
    standard,
    tile_overlap,
    validate,
)


def tiled(columns: int, rows: int, overlap: int = 25, side: int = 32) -> list[dict[str, Any]]:
    tiles = {"operation": "tiles", "columns": columns, "rows": rows, "overlap": overlap}
    return [tiles, *standard(side, "pad")]


SIZES = {"width": st.integers(1, 700), "height": st.integers(1, 700)}
GRIDS = {
    "columns": st.integers(1, 5),
    "rows": st.integers(1, 5),
    "overlap": st.integers(0, 50),
}


@given(**SIZES, **GRIDS)
def test_tiles_cover_the_picture_and_lie_in_it(
    width: int, height: int, columns: int, rows: int, overlap: int
) -> None:
    places = placements(tiled(columns, rows, overlap), width, height)
    assert len(places) == input_count(tiled(columns, rows, overlap)) == columns * rows + 1
    assert places[-1].source == (0, 0, width, height)
    covered = np.zeros((height, width), bool)
    for place in places[:-1]:
        left, top, across, down = place.source
        assert left >= 0 and top >= 0 and across >= 1 and down >= 1
        assert left + across <= width and top + down <= height
        covered[top : top + down, left : left + across] = True
    assert covered.all()


@given(**SIZES, **GRIDS, data=st.data())
def test_what_is_no_larger_than_the_overlap_lies_whole_in_a_tile(
    width: int, height: int, columns: int, rows: int, overlap: int, data: st.DataObject
) -> None:
    operations = tiled(columns, rows, overlap)
    across, down = tile_overlap(operations[0], width, height)
    box_width = data.draw(st.integers(0, min(across, width)))
    box_height = data.draw(st.integers(0, min(down, height)))
    left = data.draw(st.integers(0, width - box_width))
    top = data.draw(st.integers(0, height - box_height))
    assert any(
        x <= left and y <= top and left + box_width <= x + w and top + box_height <= y + h
        for x, y, w, h in (place.source for place in placements(operations, width, height)[:-1])
    )


def test_each_input_is_its_part_prepared_alone() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (90, 130, 3), dtype=np.uint8)
    operations = tiled(3, 2)
    made = inputs(operations, pixels)
    assert made.shape == (7, 3, *output_size(operations))
    for one, place in zip(made, placements(operations, 130, 90), strict=True):
        left, top, width, height = place.source
        part = pixels[top : top + height, left : left + width]
        np.testing.assert_array_equal(one, apply(operations[1:], part))


def test_without_tiles_there_is_one_input() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (9, 13, 3), dtype=np.uint8)
    operations = standard(16, "squash")
    np.testing.assert_array_equal(inputs(operations, pixels), apply(operations, pixels)[None])


def test_tiles_are_never_taken_for_one_input() -> None:
    with pytest.raises(BadInput, match="several inputs"):
        apply(tiled(2, 2), np.zeros((9, 13, 3), np.uint8))


@pytest.mark.parametrize(
    "changes", [{"columns": 0}, {"rows": 9}, {"rows": 2.0}, {"overlap": 51}, {"overlap": -1}]
)
def test_a_grid_out_of_range_is_refused(changes: dict[str, Any]) -> None:
    operations = tiled(2, 2)
    validate(operations)
    with pytest.raises(BadInput, match=next(iter(changes))):
        validate([{**operations[0], **changes}, *operations[1:]])


def test_tiles_come_first() -> None:
    tiles, *others = tiled(2, 2)
    with pytest.raises(BadInput, match="tiles before"):
        validate([*others, tiles])
