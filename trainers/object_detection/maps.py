"""Cached feature maps of a branch as training and measuring take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.preprocess import output_size, placements
from trainers.backbones.maps import get_feature_maps, map_shapes
from trainers.object_detection.geometry import Array, in_view, into_input, part_in

SCALE_PICTURES = 32
"""Pictures from which the usual size of a channel is taken."""


@dataclass(frozen=True)
class Pictures:
    """N pictures of a branch: their maps and true boxes.

    Attributes:
        matrix: (V, N, D) float16.
        views: names of the V views.
        levels: (channels, rows, columns, stride) of each map.
        height, width: of the input.
        boxes: N arrays (B, 4) in pixels of the plain input.
        classes: N arrays (B,).
        trained: indices of the views that training draws from; all where it is empty.
    """

    matrix: NDArray[np.float16]
    views: tuple[str, ...]
    levels: tuple[tuple[int, int, int, int], ...]
    height: int
    width: int
    boxes: Sequence[Array]
    classes: Sequence[NDArray[np.int64]]
    trained: tuple[int, ...] = ()

    def over(self, matrix: NDArray[np.float16]) -> Pictures:
        """The same pictures with their features in another matrix."""
        return replace(self, matrix=matrix)

    def maps(self, pairs: Sequence[tuple[int, int]]) -> list[Array]:
        """[(P, C, h, w) float32] a level, of P pairs (picture, view index)."""
        rows = np.stack([self.matrix[view, picture] for picture, view in pairs])
        return split_maps(rows.astype(np.float32), self.levels)

    def viewed(self, picture: int, view: int) -> tuple[Array, NDArray[np.int64]]:
        """True boxes and classes of a picture in a view."""
        boxes = in_view(self.boxes[picture], self.views[view], self.width, self.height)
        return boxes, self.classes[picture]

    def scales(self, rows: NDArray[np.int64]) -> list[Array]:
        """(channels,) a level: root of the mean square over some of the pictures, not zero."""
        chosen = rows[np.unique(np.linspace(0, len(rows) - 1, SCALE_PICTURES).astype(int))]
        maps = self.maps([(int(row), 0) for row in chosen])
        return [
            np.maximum(np.sqrt(np.square(value).mean(axis=(0, 2, 3))), 1e-3).astype(np.float32)
            for value in maps
        ]


def split_maps(rows: Array, levels: Sequence[tuple[int, int, int, int]]) -> list[Array]:
    """(N, D) feature rows → [(N, C, h, w)] a level."""
    result, start = [], 0
    for channels, height, width, _ in levels:
        stop = start + channels * height * width
        result.append(rows[:, start:stop].reshape(len(rows), channels, height, width))
        start = stop
    return result


def levels_of(backbone: str, height: int, width: int) -> tuple[tuple[int, int, int, int], ...]:
    """(channels, rows, columns, stride) of each level of a backbone of maps."""
    levels = get_feature_maps(backbone).levels
    return tuple(
        (*shape, level.stride)
        for shape, level in zip(map_shapes(levels, height, width), levels, strict=True)
    )


def pictures_of(
    matrix: NDArray[np.float16],
    views: Sequence[str],
    levels: Sequence[tuple[int, int, int, int]],
    operations: Sequence[Mapping[str, Any]],
    annotations: Sequence[Mapping[str, Any]],
    sizes: NDArray[np.int64],
    labels: Sequence[str],
) -> Pictures:
    """Cached features and annotations → pictures, one a row of the model's input: R a sample.

    Args:
        matrix: (V, N · R, D), the rows of a sample one after the other.
        annotations: N, {"boxes": [{"label", "left", "top", "width", "height"}, …]} in pixels.
        sizes: (N, 2) width and height of the upright pictures.
    """
    index = {label: number for number, label in enumerate(labels)}
    boxes, classes = [], []
    for annotation, (width, height) in zip(annotations, sizes, strict=True):
        found, numbers = true_boxes(annotation, index)
        for place in placements(operations, int(width), int(height)):
            part, kept = part_in(found, place)
            boxes.append(into_input(part, place))
            classes.append(numbers[kept])
    return Pictures(
        matrix,
        tuple(views),
        tuple(levels),
        *output_size(operations),
        boxes,
        classes,
    )


def true_boxes(
    annotation: Mapping[str, Any], index: Mapping[str, int]
) -> tuple[Array, NDArray[np.int64]]:
    """Boxes (B, 4) left, top, right, bottom of the picture, and classes (B,), of an annotation.

    Boxes of other classes and those that stand for a crowd are left out.
    """
    rows = [b for b in annotation["boxes"] if b["label"] in index and not b.get("crowd")]
    boxes = np.array(
        [[b["left"], b["top"], b["left"] + b["width"], b["top"] + b["height"]] for b in rows],
        np.float32,
    ).reshape(-1, 4)
    return boxes, np.array([index[box["label"]] for box in rows], np.int64)
