"""Views that contradict the labels are left out, the others stay."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from trainers.object_detection.maps import Pictures
from trainers.object_detection.symmetry import truthful_views

VIEWS = ("plain", "mirror", "flip", "turn")
SIDE, STRIDE, CHANNELS = 12, 16, 3


def pictures(kinds: list[NDArray[np.float64]], count: int = 160, views: int = 4) -> Pictures:
    """Maps with one box each; `kinds` are the 2×2 patterns of the classes in it."""
    random = np.random.default_rng(0)
    matrix = np.empty((views, count, CHANNELS * SIDE * SIDE), np.float16)
    boxes, classes = [], []
    for number in range(count):
        label = int(random.integers(len(kinds)))
        plane = random.normal(0, 0.3, (CHANNELS, SIDE, SIDE))
        top, left = random.integers(0, SIDE - 4, 2)
        pattern = np.kron(kinds[label], np.ones((2, 2)))
        plane[:, top : top + 4, left : left + 4] += pattern
        for view in range(views):
            seen = plane
            if VIEWS[view] in ("mirror", "turn"):
                seen = seen[:, :, ::-1]
            if VIEWS[view] in ("flip", "turn"):
                seen = seen[:, ::-1]
            matrix[view, number] = seen.reshape(-1).astype(np.float16)
        boxes.append(np.array([[left, top, left + 4, top + 4]], np.float32) * STRIDE)
        classes.append(np.array([label]))
    levels = ((CHANNELS, SIDE, SIDE, STRIDE),)
    side = SIDE * STRIDE
    return Pictures(matrix, VIEWS[:views], levels, side, side, boxes, classes)


LEFT, RIGHT = np.array([[2.0, 0], [2, 0]]), np.array([[0.0, 2], [0, 2]])
TOP, FULL = np.array([[2.0, 2], [0, 0]]), np.array([[2.0, 2], [2, 2]])
NONE, RISING = np.zeros((2, 2)), np.array([[0.0, 2], [2, 0]])


@pytest.mark.parametrize(
    ("kinds", "kept"),
    [
        ([LEFT, RIGHT], (0, 2)),  # a mirror exchanges them, upside down they stay
        ([TOP, TOP[::-1]], (0, 1)),
        ([RISING, RISING[:, ::-1]], (0, 3)),  # like 2 and 5: only half a turn keeps them
        ([FULL, NONE], (0, 1, 2, 3)),
    ],
)
def test_views_that_exchange_classes_are_left_out(
    kinds: list[NDArray[np.float64]], kept: tuple[int, ...]
) -> None:
    made = pictures(kinds)
    assert truthful_views(made, np.arange(len(made.boxes))) == kept


def test_one_class_one_view_or_too_few_boxes_keep_all() -> None:
    for made in (pictures([LEFT]), pictures([LEFT, RIGHT], views=1), pictures([LEFT, RIGHT], 40)):
        assert truthful_views(made, np.arange(len(made.boxes))) == tuple(range(len(made.views)))


def test_pictures_without_boxes_do_not_matter() -> None:
    made = pictures([LEFT, RIGHT], 300)
    for row in range(0, 300, 3):
        made.boxes[row] = np.empty((0, 4), np.float32)  # type: ignore[index]
        made.classes[row] = np.empty(0, np.int64)  # type: ignore[index]
    assert truthful_views(made, np.arange(300)) == (0, 2)
