"""Average precision for the search's own measurements: numpy only, a fraction of a second.

The figure is that of the COCO evaluation (Lin et al. 2014, arXiv:1405.0312; 101 points of recall)
without its limits on size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainers.object_detection.geometry import Array, overlaps

THRESHOLDS = np.arange(0.5, 0.96, 0.05)
RECALLS = np.linspace(0, 1, 101)
MOST_BOXES = 100


@dataclass(frozen=True)
class Truth:
    """Boxes (B, 4) of a picture and their classes (B,)."""

    boxes: Array
    classes: NDArray[np.int64]


@dataclass(frozen=True)
class Found:
    """Boxes (M, 4), classes (M,) and scores (M,) that a model found, the best first."""

    boxes: Array
    classes: NDArray[np.int64]
    scores: Array


def suppressed(
    boxes: Array, scores: Array, *, least: float = 0.02, overlap: float = 0.6, most: int = 1000
) -> Found:
    """The boxes of a picture after non-maximum suppression within each class.

    Args:
        boxes: (A, 4); scores: (A, K), 0 to 1.
        least: scores below are dropped; `most` boxes at most are looked at.
        overlap: above it the weaker box of a class goes.
    """
    rows, classes = np.nonzero(scores >= least)
    values = scores[rows, classes]
    order = np.argsort(-values, kind="stable")[:most]
    rows, classes, values = rows[order], classes[order], values[order]
    kept: list[NDArray[np.int64]] = []
    for label in np.unique(classes):
        left = np.flatnonzero(classes == label)
        matrix = overlaps(boxes[rows[left]], boxes[rows[left]]) > overlap
        alive = np.ones(len(left), bool)
        for index in range(len(left)):
            if alive[index]:
                alive[index + 1 :] &= ~matrix[index, index + 1 :]
        kept.append(left[alive])
    chosen = np.sort(np.concatenate(kept))[:MOST_BOXES] if kept else np.zeros(0, np.int64)
    return Found(boxes[rows[chosen]], classes[chosen].astype(np.int64), values[chosen])


def average_precisions(
    found: Sequence[Found], truths: Sequence[Truth], classes: int
) -> NDArray[np.float64]:
    """(classes, 10) average precision at the overlaps 0.5, 0.55, … 0.95; nan without a true box."""
    result = np.full((classes, len(THRESHOLDS)), np.nan)
    for label in range(classes):
        total = sum(int((truth.classes == label).sum()) for truth in truths)
        if not total:
            continue
        scores, hits = [np.zeros(0, np.float32)], [np.zeros((0, len(THRESHOLDS)), bool)]
        for one, truth in zip(found, truths, strict=True):
            mine = one.classes == label
            scores.append(one.scores[mine])
            hits.append(_hits(one.boxes[mine], truth.boxes[truth.classes == label]))
        order = np.argsort(-np.concatenate(scores), kind="stable")
        right = np.concatenate(hits)[order]
        for column in range(len(THRESHOLDS)):
            result[label, column] = _area(right[:, column], total)
    return result


def _hits(boxes: Array, goals: Array) -> NDArray[np.bool_]:
    """Which of the boxes, the best first, take a true box at each threshold."""
    hits = np.zeros((len(boxes), len(THRESHOLDS)), bool)
    if not len(boxes) or not len(goals):
        return hits
    matrix = overlaps(boxes, goals)
    for column, threshold in enumerate(THRESHOLDS):
        free = np.ones(len(goals), bool)
        for row in range(len(boxes)):
            candidates = np.where(free, matrix[row], -1.0)
            best = int(candidates.argmax())
            if candidates[best] >= threshold:
                free[best] = False
                hits[row, column] = True
    return hits


def _area(right: NDArray[np.bool_], total: int) -> float:
    if not len(right):
        return 0.0
    positives = np.cumsum(right)
    recall = positives / total
    precision = positives / np.arange(1, len(right) + 1)
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    index = np.searchsorted(recall, RECALLS, side="left")
    return float(
        np.where(index < len(right), precision[np.minimum(index, len(right) - 1)], 0).mean()
    )
