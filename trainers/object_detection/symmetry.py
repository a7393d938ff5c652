"""Which views of a picture still show the same classes.

A mirrored can is a can, a mirrored 2 is a 5, and a 6 that is turned is a 9. Before anything is
trained, a linear classifier of the boxes' maps is fitted with and without each view: a view that
makes it worse on plain boxes that it has not seen contradicts the labels and is left out.
"""

from __future__ import annotations

import logging
import math

import numpy as np
from numpy.typing import NDArray

from trainers.object_detection.geometry import Array
from trainers.object_detection.maps import Pictures

logger = logging.getLogger(__name__)

MOST_BOXES = 1500
LEAST_HELD_OUT = 30
"""With fewer boxes to test on nothing can be said, and all views are kept."""
LARGEST_LOSS = 0.02
"""Share of boxes by which a view may make the classifier worse."""
CELLS = 2
"""A box is described by so many cells a side, so that left and right, above and below differ."""
STRENGTH = 0.1
"""Of the ridge, relative to the features' mean square."""
HELD_OUT_SHARE = 4

Rows = NDArray[np.int64]


def truthful_views(pictures: Pictures, rows: Rows) -> tuple[int, ...]:
    """Indices of the views in which the classes of boxes stay what they are; plain is always one.

    Args:
        rows: pictures to look at; every fourth of them tests.
    """
    every = tuple(range(len(pictures.views)))
    if len(every) == 1 or len(np.unique(np.concatenate(list(pictures.classes)))) < 2:
        return every
    test, train = rows[::HELD_OUT_SHARE], np.setdiff1d(rows, rows[::HELD_OUT_SHARE])
    described = {
        view: (_boxes(pictures, train, view), _boxes(pictures, test, view)) for view in every
    }
    seen, asked = described[0]
    if len(asked[1]) < LEAST_HELD_OUT or len(np.unique(seen[1])) < 2:
        return every
    alone = _accuracy(seen, asked)
    error = math.sqrt(max(alone * (1 - alone), 0.01) / len(asked[1]))
    kept = [0]
    for view in every[1:]:
        other = described[view][0]
        both = np.concatenate([seen[0], other[0]]), np.concatenate([seen[1], other[1]])
        lost = alone - _accuracy(both, asked)
        if lost > max(LARGEST_LOSS, error):
            logger.info(
                "the view %r shows boxes as other classes (%.3f of plain boxes are told without "
                "it, %.3f with it): it is left out",
                pictures.views[view],
                alone,
                alone - lost,
            )
        else:
            kept.append(view)
    return tuple(kept)


def _boxes(pictures: Pictures, rows: Rows, view: int) -> tuple[Array, Rows]:
    """(B, D) descriptions of the boxes in a view and (B,) their classes."""
    level = len(pictures.levels) // 2
    stride = pictures.levels[level][3]
    found: list[Array] = []
    classes: list[int] = []
    for row in rows.tolist():
        if len(classes) >= MOST_BOXES:
            break
        boxes, labels = pictures.viewed(row, view)
        if not len(boxes):
            continue
        planes = pictures.maps([(row, view)])[level][0]
        for box, label in zip(boxes / stride, labels.tolist(), strict=True):
            found.append(_described(planes, box))
            classes.append(label)
    width = CELLS * CELLS * pictures.levels[level][0]
    described = np.stack(found) if found else np.empty((0, width), np.float32)
    return described, np.array(classes, np.int64)


def _described(planes: Array, box: Array) -> Array:
    """Means of the maps over the cells of a box (left, top, right, bottom in positions)."""
    _, height, width = planes.shape
    columns = np.linspace(box[0], box[2], CELLS + 1)
    rows = np.linspace(box[1], box[3], CELLS + 1)
    parts = []
    for top, bottom in zip(rows[:-1], rows[1:], strict=True):
        first, last = _span(top, bottom, height)
        for left, right in zip(columns[:-1], columns[1:], strict=True):
            begin, end = _span(left, right, width)
            parts.append(planes[:, first:last, begin:end].mean(axis=(1, 2)))
    return np.concatenate(parts).astype(np.float32)


def _span(low: float, high: float, size: int) -> tuple[int, int]:
    """The positions whose middle lies between two places, one at least."""
    first = min(size - 1, max(0, math.floor(low)))
    return first, max(first + 1, min(size, math.ceil(high)))


def _accuracy(train: tuple[Array, Rows], test: tuple[Array, Rows]) -> float:
    """Share of the test boxes that ridge regression on one-hot classes tells right."""
    values, labels = train
    mean, scale = values.mean(axis=0), values.std(axis=0) + 1e-6
    known = np.unique(labels)
    wanted = (labels[:, None] == known).astype(np.float64)
    centred = ((values - mean) / scale).astype(np.float64)
    ridge = STRENGTH * len(labels) * np.eye(centred.shape[1])
    weights = np.linalg.solve(
        centred.T @ centred + ridge, centred.T @ (wanted - wanted.mean(axis=0))
    )
    said = ((test[0] - mean) / scale) @ weights + wanted.mean(axis=0)
    return float((known[said.argmax(axis=1)] == test[1]).mean())
