"""Boxes follow their picture into the input, its views, and joined halves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchard.preprocess import Placement, apply, placement
from tests.trainers.object_detection.synthetic import OPERATIONS
from trainers.object_detection.augment import join_boxes
from trainers.object_detection.geometry import (
    VIEWS,
    anchor_points,
    in_view,
    into_input,
    overlaps,
    part_in,
)


@pytest.mark.parametrize("size", [(120, 60), (60, 120), (96, 64)])
def test_a_box_lies_on_its_thing_in_the_input(size: tuple[int, int]) -> None:
    width, height = size
    pixels = np.full((height, width, 3), 127, np.uint8)
    left, top, right, bottom = width // 3, height // 4, width // 2, height // 2
    pixels[top:bottom, left:right] = 255
    shown = apply(OPERATIONS, pixels)[0] > 0.5
    rows, columns = np.flatnonzero(shown.any(axis=1)), np.flatnonzero(shown.any(axis=0))
    seen = np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])
    box = np.array([[left, top, right, bottom]], np.float32)
    moved = into_input(box, placement(OPERATIONS, width, height))[0]
    np.testing.assert_allclose(moved, seen, atol=1.0)


@given(
    left=st.floats(0, 80), top=st.floats(0, 50), side=st.floats(1, 14), view=st.sampled_from(VIEWS)
)
def test_a_view_twice_is_the_picture(left: float, top: float, side: float, view: str) -> None:
    box = np.array([[left, top, left + side, top + side]], np.float32)
    seen = in_view(box, view, 96, 64)
    assert (seen[:, 2:] > seen[:, :2]).all()
    np.testing.assert_allclose(in_view(seen, view, 96, 64), box, atol=1e-4)


def test_positions_lie_in_the_middle_of_their_cells() -> None:
    points, strides = anchor_points([(2, 3, 8), (1, 1, 16)])
    assert points.tolist() == [[4, 4], [12, 4], [20, 4], [4, 12], [12, 12], [20, 12], [8, 8]]
    assert strides.tolist() == [8] * 6 + [16]


def test_overlaps_are_intersection_over_union() -> None:
    boxes = np.array([[0, 0, 2, 2], [1, 1, 3, 3], [9, 9, 9, 9]], np.float32)
    found = overlaps(boxes, boxes)
    np.testing.assert_allclose(found[:2, :2], [[1, 1 / 7], [1 / 7, 1]], rtol=1e-6)
    assert found[2].tolist() == [0, 0, 0]


def test_halves_keep_their_own_boxes() -> None:
    first = np.array([[0, 0, 30, 10], [50, 0, 60, 10], [20, 20, 36, 30]], np.float32)
    second = np.array([[0, 0, 10, 10], [50, 0, 60, 10]], np.float32)
    boxes, classes = join_boxes((first, np.arange(3)), (second, np.arange(10, 12)), 0, 32)
    assert boxes.tolist() == [[0, 0, 30, 10], [20, 20, 32, 30], [50, 0, 60, 10]]
    assert classes.tolist() == [0, 2, 11]


def test_a_tile_learns_of_a_box_what_lies_in_it_and_nothing_of_a_sliver() -> None:
    tile = Placement(source=(100, 50, 80, 60), target=(0, 0, 160, 120))
    boxes = np.array(
        [
            [110, 60, 130, 80],  # within
            [90, 60, 110, 80],  # half of it
            [95, 40, 102, 60],  # a corner
            [10, 10, 30, 30],  # elsewhere
        ],
        np.float32,
    )
    parts, kept = part_in(boxes, tile)
    assert kept.tolist() == [True, True, False, False]
    np.testing.assert_allclose(parts, [[110, 60, 130, 80], [100, 60, 110, 80]])
    np.testing.assert_allclose(into_input(parts, tile), [[20, 20, 60, 60], [0, 20, 20, 60]])
