"""Boxes between the upright picture, the letterboxed input and its views.

Boxes are float32 (B, 4): left, top, right, bottom in pixels, right and bottom excluded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.errors import BadInput

Array = NDArray[np.float32]
VIEWS = ("plain", "mirror", "flip", "turn")
"""Mirrored left to right, top to bottom, both."""


def letterbox(
    operations: Sequence[Mapping[str, Any]], width: int, height: int
) -> tuple[float, float, float, float]:
    """(x scale, y scale, x offset, y offset) from a picture of that size into the input.

    The sizes are those of `orchard.preprocess` for the fit "pad".

    Raises:
        BadInput: the preprocessing has another fit.
    """
    resize = operations[0]
    if resize["fit"] != "pad":
        raise BadInput("A detector's pictures must be padded", value=resize["fit"])
    goal_width, goal_height = int(resize["width"]), int(resize["height"])
    if width * goal_height > height * goal_width:
        inner = goal_width, max(1, (2 * height * goal_width + width) // (2 * width))
    else:
        inner = max(1, (2 * width * goal_height + height) // (2 * height)), goal_height
    return (
        inner[0] / width,
        inner[1] / height,
        float((goal_width - inner[0]) // 2),
        float((goal_height - inner[1]) // 2),
    )


def into_input(boxes: Array, transform: tuple[float, float, float, float]) -> Array:
    """Boxes of the picture → boxes of the input."""
    x_scale, y_scale, x_offset, y_offset = transform
    scale = np.array([x_scale, y_scale, x_scale, y_scale], np.float32)
    offset = np.array([x_offset, y_offset, x_offset, y_offset], np.float32)
    return (boxes * scale + offset).astype(np.float32)


def out_of_input(boxes: Array, transform: tuple[float, float, float, float]) -> Array:
    """Boxes of the input → boxes of the picture."""
    x_scale, y_scale, x_offset, y_offset = transform
    scale = np.array([x_scale, y_scale, x_scale, y_scale], np.float32)
    offset = np.array([x_offset, y_offset, x_offset, y_offset], np.float32)
    return ((boxes - offset) / scale).astype(np.float32)


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
    low = np.maximum(one[:, None, :2], other[None, :, :2])
    high = np.minimum(one[:, None, 2:], other[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=2)
    area = _area(one)[:, None] + _area(other)[None] - shared
    return np.where(area > 0, shared / np.maximum(area, 1e-9), 0).astype(np.float32)


def _area(boxes: Array) -> Array:
    sides = np.clip(boxes[:, 2:] - boxes[:, :2], 0, None)
    return np.asarray(sides.prod(axis=1), np.float32)


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
