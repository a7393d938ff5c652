"""Which positions of a detector's maps learn which box."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trainers.object_detection.geometry import Array, overlaps

NEAREST = 9
ANCHOR_STRIDES = 8.0
"""Side of the square that stands for a position, in strides."""


def adaptive(points: Array, strides: Array, boxes: Array) -> NDArray[np.int64]:
    """Adaptive training sample selection (ATSS, Zhang et al. 2020, arXiv:1912.02424).

    Of each level the `NEAREST` positions to a box's middle are its candidates; those whose square
    overlaps the box by at least mean + deviation of the candidates' overlaps, and whose middle
    lies in the box, learn it. A position that several boxes want takes the one it overlaps most.
    A box that would have no position gets the nearest one, so that tiny boxes are learnt too.

    Args:
        points, strides: (A, 2) and (A,) as `anchor_points` gives them.
        boxes: (B, 4) in input pixels.

    Returns:
        (A,) index of the box, or -1 for background.
    """
    chosen = np.full(len(points), -1, np.int64)
    if not len(boxes):
        return chosen
    candidates = _nearest_by_level(points, strides, boxes)
    middles, half = points[candidates], ANCHOR_STRIDES / 2 * strides[candidates][..., None]
    overlap = _paired_overlaps(np.concatenate([middles - half, middles + half], axis=2), boxes)
    limit = overlap.mean(axis=1) + overlap.std(axis=1)
    wanted = (overlap >= limit[:, None]) & _paired_inside(middles, boxes)
    strength = np.full(len(points), -1.0, np.float32)
    for box, (places, values) in enumerate(zip(candidates, overlap, strict=True)):
        stronger = wanted[box] & (values > strength[places])
        chosen[places[stronger]] = box
        strength[places[stronger]] = values[stronger]
    return _all_represented(chosen, points, boxes)


def aligned(
    points: Array,
    boxes: Array,
    scores: Array,
    predicted: Array,
    classes: NDArray[np.int64],
    *,
    most: int = 10,
    power: float = 6.0,
) -> NDArray[np.int64]:
    """Task-aligned assignment (TOOD, Feng et al. 2021, arXiv:2108.07755).

    For each box the `most` positions inside it with the highest score of its class, to the power
    of a half, times overlap of the predicted box to the `power`.

    Args:
        scores: (A, K), 0 to 1; predicted: (A, 4) boxes; classes: (B,) of the boxes.

    Returns:
        (A,) index of the box, or -1 for background.
    """
    chosen = np.full(len(points), -1, np.int64)
    strength = np.full(len(points), -1.0, np.float32)
    for box, label in enumerate(classes):
        goal = boxes[box : box + 1]
        places = np.flatnonzero(_paired_inside(points[None], goal)[0])
        values = overlaps(predicted[places], goal)[:, 0]
        metric = np.sqrt(scores[places, label]) * values**power
        best = np.argsort(-metric, kind="stable")[:most]
        places, values = places[best], values[best]
        stronger = values > strength[places]
        chosen[places[stronger]] = box
        strength[places[stronger]] = values[stronger]
    return _all_represented(chosen, points, boxes)


def _nearest_by_level(points: Array, strides: Array, boxes: Array) -> NDArray[np.int64]:
    """(B, levels * `NEAREST`) positions; fewer of a level that has fewer."""
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    parts = []
    for stride in np.unique(strides):
        rows = np.flatnonzero(strides == stride)
        x = points[None, rows, 0] - middles[:, :1]
        y = points[None, rows, 1] - middles[:, 1:]
        distance = x * x + y * y
        count = min(NEAREST, len(rows))
        parts.append(rows[np.argpartition(distance, count - 1, axis=1)[:, :count]])
    return np.concatenate(parts, axis=1)


def _paired_overlaps(squares: Array, boxes: Array) -> Array:
    """(B, C, 4) and (B, 4) → (B, C): each box with its own squares."""
    goal = boxes[:, None]
    low = np.maximum(squares[..., :2], goal[..., :2])
    sides = np.maximum(np.minimum(squares[..., 2:], goal[..., 2:]) - low, 0)
    shared = sides[..., 0] * sides[..., 1]
    area = (goal[..., 2] - goal[..., 0]) * (goal[..., 3] - goal[..., 1])
    own = (squares[..., 2] - squares[..., 0]) * (squares[..., 3] - squares[..., 1])
    return np.asarray(shared / np.maximum(area + own - shared, 1e-9), np.float32)


def _paired_inside(points: Array, boxes: Array) -> NDArray[np.bool_]:
    """(B, C, 2) and (B, 4) → (B, C): whether a point lies within its box."""
    x, y = points[..., 0], points[..., 1]
    left, top, right, bottom = (boxes[:, side, None] for side in range(4))
    return np.asarray((x > left) & (x < right) & (y > top) & (y < bottom))


def _all_represented(chosen: NDArray[np.int64], points: Array, boxes: Array) -> NDArray[np.int64]:
    """Give every box without a position the nearest one that another can spare."""
    counts = np.bincount(chosen[chosen >= 0], minlength=len(boxes))
    for box in np.flatnonzero(counts == 0):
        middle = (boxes[box, :2] + boxes[box, 2:]) / 2
        distance = np.square(points - middle).sum(axis=1)
        for point in np.argsort(distance, kind="stable")[:NEAREST]:
            owner = chosen[point]
            if owner < 0 or counts[owner] > 1:
                counts[owner] -= owner >= 0
                chosen[point] = box
                counts[box] = 1
                break
    return chosen
