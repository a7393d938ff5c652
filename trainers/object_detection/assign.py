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
    overlaps the box by more than mean + deviation of the candidates' overlaps, and whose middle
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
    half = (ANCHOR_STRIDES / 2 * strides)[:, None]
    overlap = overlaps(np.concatenate([points - half, points + half], axis=1), boxes)
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    distance = np.square(points[:, None] - middles[None]).sum(axis=2)
    candidates = _nearest_by_level(distance, strides)
    found = np.take_along_axis(overlap, candidates, axis=0)
    limit = found.mean(axis=0) + found.std(axis=0)
    wanted = np.zeros(overlap.shape, bool)
    np.put_along_axis(wanted, candidates, found >= limit, axis=0)
    wanted &= inside(points, boxes)
    strength = np.where(wanted, overlap, -1.0)
    best = strength.argmax(axis=1)
    positive = strength[np.arange(len(points)), best] >= 0
    chosen[positive] = best[positive]
    return _all_represented(chosen, distance)


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

    For each box the `most` positions inside it with the highest score of its class times overlap
    of the predicted box to the `power`.

    Args:
        scores: (A, K), 0 to 1; predicted: (A, 4) boxes; classes: (B,) of the boxes.

    Returns:
        (A,) index of the box, or -1 for background.
    """
    chosen = np.full(len(points), -1, np.int64)
    if not len(boxes):
        return chosen
    overlap = overlaps(predicted, boxes)
    metric = np.sqrt(scores[:, classes]) * overlap**power
    metric = np.where(inside(points, boxes), metric + 1e-12, 0.0)
    order = np.argsort(-metric, axis=0, kind="stable")[:most]
    wanted = np.zeros(metric.shape, bool)
    np.put_along_axis(wanted, order, np.take_along_axis(metric, order, axis=0) > 0, axis=0)
    strength = np.where(wanted, overlap, -1.0)
    best = strength.argmax(axis=1)
    positive = strength[np.arange(len(points)), best] >= 0
    chosen[positive] = best[positive]
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    return _all_represented(chosen, np.square(points[:, None] - middles[None]).sum(axis=2))


def inside(points: Array, boxes: Array) -> NDArray[np.bool_]:
    """(A, B): whether the point lies within the box."""
    low = (points[:, None] - boxes[None, :, :2]).min(axis=2)
    high = (boxes[None, :, 2:] - points[:, None]).min(axis=2)
    return np.minimum(low, high) > 0


def _nearest_by_level(distance: Array, strides: Array) -> NDArray[np.int64]:
    parts = []
    for stride in np.unique(strides):
        rows = np.flatnonzero(strides == stride)
        order = np.argsort(distance[rows], axis=0, kind="stable")[:NEAREST]
        parts.append(rows[order])
    return np.concatenate(parts)


def _all_represented(chosen: NDArray[np.int64], distance: Array) -> NDArray[np.int64]:
    """Give every box without a position the nearest one that no other such box took."""
    for box in np.flatnonzero(np.bincount(chosen[chosen >= 0], minlength=distance.shape[1]) == 0):
        counts = np.bincount(chosen[chosen >= 0], minlength=distance.shape[1])
        for point in np.argsort(distance[:, box], kind="stable")[:NEAREST]:
            owner = chosen[point]
            if owner < 0 or counts[owner] > 1:
                chosen[point] = box
                break
    return chosen
