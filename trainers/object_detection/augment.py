"""What a training step changes about cached maps: the view, and halves of two pictures joined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trainers.object_detection.geometry import Array
from trainers.object_detection.maps import Pictures

LEAST_SHARE = 0.35
"""A box that is cut at the seam stays where this much of it does."""


class Batch:
    """Maps [(N, C, h, w)] a level, with true boxes and classes of each of N pictures."""

    def __init__(
        self, maps: list[Array], boxes: list[Array], classes: list[NDArray[np.int64]]
    ) -> None:
        self.maps, self.boxes, self.classes = maps, boxes, classes


def draw(
    pictures: Pictures,
    rows: Sequence[int],
    others: Sequence[int],
    random: np.random.Generator,
    joined: float,
) -> Batch:
    """The pictures of `rows`, each in a random view.

    Parts of two pictures meet at a multiple of the coarsest stride.

    Args:
        others: as many pictures that may lend a half.
        joined: share of the pictures of which a part is replaced by the same part of another.
    """
    usable = np.array(pictures.trained or range(len(pictures.views)))
    views = usable[random.integers(0, len(usable), (2, len(rows)))]
    maps = pictures.maps(list(zip(rows, views[0], strict=True)))
    boxes, classes = [], []
    step = pictures.levels[-1][3]
    for index, row in enumerate(rows):
        own = pictures.viewed(row, int(views[0, index]))
        join, vertical, place = random.random() < joined, random.random() < 0.5, random.random()
        side = pictures.width if vertical else pictures.height
        if join and side >= 2 * step:
            seam = step * (1 + int(place * (side // step - 1)))
            pair = (int(others[index]), int(views[1, index]))
            for level, lent in zip(maps, pictures.maps([pair]), strict=True):
                cut = seam * level.shape[3 if vertical else 2] // side
                if vertical:
                    level[index, :, :, cut:] = lent[0, :, :, cut:]
                else:
                    level[index, :, cut:] = lent[0, :, cut:]
            own = join_boxes(own, pictures.viewed(*pair), 0 if vertical else 1, seam)
        boxes.append(own[0])
        classes.append(own[1])
    return Batch(maps, boxes, classes)


def join_boxes(
    first: tuple[Array, NDArray[np.int64]],
    second: tuple[Array, NDArray[np.int64]],
    axis: int,
    seam: float,
) -> tuple[Array, NDArray[np.int64]]:
    """Boxes of the first picture before the seam and of the second behind it.

    Args:
        axis: 0 where the seam is a column, 1 where it is a row.
    """
    parts = []
    for (boxes, classes), before in ((first, True), (second, False)):
        cut = boxes.copy()
        columns = [axis, axis + 2]
        limits = (None, seam) if before else (seam, None)
        cut[:, columns] = np.clip(cut[:, columns], *limits)
        length = np.maximum(boxes[:, axis + 2] - boxes[:, axis], 1e-6)
        kept = (cut[:, axis + 2] - cut[:, axis]) / length >= LEAST_SHARE
        parts.append((cut[kept], classes[kept]))
    return (
        np.concatenate([parts[0][0], parts[1][0]]),
        np.concatenate([parts[0][1], parts[1][1]]),
    )
