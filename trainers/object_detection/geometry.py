"""Boxes between the upright picture, the letterboxed input and its views.

Boxes are float32 (B, 4): left, top, right, bottom in pixels, right and bottom excluded.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from orchard.preprocess import Placement

Array = NDArray[np.float32]
VIEWS = ("plain", "mirror", "flip", "turn")
"""Mirrored left to right, top to bottom, both."""
LEAST_PART = 0.4
"""Of a box that a tile cuts, less than that is nothing to learn from."""


def part_in(boxes: Array, place: Placement) -> tuple[Array, NDArray[np.bool_]]:
    """The parts (M, 4) of boxes of the picture that lie in the rectangle of an input, and which of the
    boxes (B,) they are: those of which `LEAST_PART` of the area is left."""
    left, top, width, height = place.source
    cut = boxes.copy()
    np.clip(boxes[:, 0::2], left, left + width, out=cut[:, 0::2])
    np.clip(boxes[:, 1::2], top, top + height, out=cut[:, 1::2])
    kept = _area(cut) >= LEAST_PART * np.maximum(_area(boxes), 1e-9)
    return cut[kept], kept


def into_input(boxes: Array, place: Placement) -> Array:
    """Boxes of the picture → boxes of the input."""
    left, top, width, height = place.source
    goal_left, goal_top, goal_width, goal_height = place.target
    scale = np.array([goal_width / width, goal_height / height] * 2)
    moved = (boxes - np.array([left, top] * 2)) * scale + np.array([goal_left, goal_top] * 2)
    return np.asarray(moved, np.float32)


def in_view(boxes: Array, view: str, width: int, height: int) -> Array:
    """The boxes of an input of that size as they lie in one of its `VIEWS`."""
    left, top, right, bottom = boxes.T
    if view in ("mirror", "turn"):
        left, right = width - right, width - left
    if view in ("flip", "turn"):
        top, bottom = height - bottom, height - top
    return np.stack([left, top, right, bottom], axis=1).astype(np.float32)


def overlaps(one: Array, other: Array) -> Array:
    """Intersection over union, (len(one), len(other)); 0 where both are empty."""
    width = _shared(one[:, None, 0], other[None, :, 0], one[:, None, 2], other[None, :, 2])
    height = _shared(one[:, None, 1], other[None, :, 1], one[:, None, 3], other[None, :, 3])
    shared = width * height
    union = _area(one)[:, None] + _area(other)[None] - shared
    return np.asarray(shared / np.maximum(union, 1e-9), np.float32)


def _shared(low: Array, other_low: Array, high: Array, other_high: Array) -> Array:
    shared = np.minimum(high, other_high) - np.maximum(low, other_low)
    return np.asarray(np.maximum(shared, 0), np.float32)


def _area(boxes: Array) -> Array:
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return np.asarray(np.maximum(width, 0) * np.maximum(height, 0), np.float32)


def anchor_points(shapes: Sequence[tuple[int, int, int]]) -> tuple[Array, Array]:
    """Middles (A, 2: x, y) and strides (A,) in input pixels of every position of every level.

    Args:
        shapes: (rows, columns, stride) of each level.
    """
    points, strides = [], []
    for rows, columns, stride in shapes:
        y, x = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
        points.append((np.stack([x, y], axis=-1).reshape(-1, 2) + 0.5) * stride)
        strides.append(np.full(rows * columns, stride))
    return np.concatenate(points).astype(np.float32), np.concatenate(strides).astype(np.float32)
