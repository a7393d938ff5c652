"""The graph's output of one picture → its answer: the boxes that are found.

A row of the output is (A, 4 + K) float32: of each of A places the box's left, top, right and bottom
edge in pixels of the model's input, then K class scores from 0 to 1. The answer is (M, 6) float32:
class index, score, left, top, width, height in pixels of the decoded picture, the highest score
first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.errors import BadInput
from orchard.preprocess import Placement, placements, tile_overlap
from orchard.tasks.object_detection.boxes import COLUMNS, SCORE

IOU = 0.6
"""Of two boxes of a class that overlap by more, the one with the lower score is dropped."""
LEAST_SCORE = 0.01
MOST_BOXES = 100

# The best candidates of a picture, over all classes; more cannot matter to 100 boxes unless each
# object has more than ten.
_MOST_CANDIDATES = 1000
_CHUNK = 128
_EDGE = 1.5
"""A box that comes nearer to an inner edge of a tile, in pixels of the input, is cut off by it."""

Floats = NDArray[np.float32]


def answer(outputs: Floats, shape: Sequence[int], card: Mapping[str, Any]) -> Floats:
    """The graph's outputs of one picture → its answer.

    Args:
        outputs: (R, A, 4 + K), a row for each placement of the picture in the input.
        shape: (H, W, …) of the decoded picture.
        card: of the bundle: `preprocessing`, and `iou`, `least_score` and `most_boxes` of
            `thresholds` where they differ from this module's.

    Returns:
        (M, 6), M at most `most_boxes`. Boxes are clipped to the picture; what lies outside is
        dropped.

    Raises:
        BadInput: the outputs have another shape.
    """
    operations, size = card["preprocessing"], (int(shape[1]), int(shape[0]))
    places = placements(operations, *size)
    settings = card.get("thresholds") or {}
    return boxes_found(
        outputs,
        places,
        size,
        overlap=_overlap(operations[0], places[0], size) if len(places) > 1 else (0.0, 0.0),
        iou=float(settings.get("iou", IOU)),
        least_score=float(settings.get("least_score", LEAST_SCORE)),
        most_boxes=int(settings.get("most_boxes", MOST_BOXES)),
    )


def boxes_found(
    outputs: Floats,
    placements: Sequence[Placement],
    size: tuple[int, int],
    *,
    overlap: tuple[float, float] = (0.0, 0.0),
    iou: float = IOU,
    least_score: float = LEAST_SCORE,
    most_boxes: int = MOST_BOXES,
) -> Floats:
    """Outputs (R, A, 4 + K) of R placements of a picture of `size` (width, height) → (M, 6).

    Greedy non-maximum suppression a class, over all rows together. Equal scores keep the order of
    the output.

    Args:
        overlap: width and height up to which a box lies whole, and apart from the inner edges, in a
            tile, so that the input of the whole picture is not asked for it. What a tile cuts off is
            whole in another one or in the whole picture, so that a box at an inner edge of a tile is
            dropped.
    """
    if outputs.ndim != 3 or outputs.shape[2] < 5 or len(outputs) != len(placements):
        raise BadInput(
            "The model's output must be (rows, places, 4 + classes)",
            value=f"{outputs.shape} for {len(placements)} rows",
            way_out="Take model and card from one bundle",
        )
    classes = outputs.shape[2] - 4
    scores = outputs[:, :, 4:].reshape(-1)
    chosen = _best(scores, least_score)
    places, kinds = np.divmod(chosen, classes)
    rows = places // outputs.shape[1]
    edges = outputs.reshape(-1, 4 + classes)[places, :4].astype(np.float64)
    counted = np.ones(len(edges), np.bool_)
    for number, one in enumerate(placements):
        own = slice(None) if len(placements) == 1 else rows == number
        edges[own] = _to_picture(edges[own], one)
        if len(placements) > 1:
            counted[own] = _counts(edges[own], one, size, overlap)
    np.clip(edges[:, 0::2], 0, size[0], out=edges[:, 0::2])
    np.clip(edges[:, 1::2], 0, size[1], out=edges[:, 1::2])
    # float32, as the answer is, so that what is compared is what is stored.
    boxes = edges.astype(np.float32)
    boxes[:, 2:] -= boxes[:, :2]
    real = counted & (boxes[:, 2] > 0) & (boxes[:, 3] > 0)
    boxes, kinds, chosen = boxes[real], kinds[real], chosen[real]
    kept = suppressed(boxes, kinds, iou, most_boxes)
    found = np.empty((len(kept), COLUMNS), np.float32)
    found[:, 0], found[:, 1], found[:, 2:] = kinds[kept], scores[chosen[kept]], boxes[kept]
    return found


def counted(found: Floats, card: Mapping[str, Any]) -> Floats:
    """The boxes of an answer (M, 6) that can count, in their order.

    Average precision is that of the whole answer, in which one object may have a box of several
    classes. Where the objects of a data set never share a place, `thresholds.across` says from which
    overlap on the lower of two boxes goes, whatever their classes; None leaves all.
    """
    across = (card.get("thresholds") or {}).get("across")
    if across is None or len(found) < 2:
        return found
    order = np.argsort(-found[:, SCORE], kind="stable")
    one_kind = np.zeros(len(found), np.int64)
    kept = suppressed(found[order, 2:], one_kind, float(across), len(found))
    return found[np.sort(order[kept])]


def suppressed(boxes: Floats, kinds: NDArray[np.int64], iou: float, most: int) -> NDArray[np.int64]:
    """Greedy non-maximum suppression: indices of the boxes that stay, at most `most`.

    Args:
        boxes: (N, 4) left, top, width, height, the best first. kinds: (N,) class indices.
        iou: a box goes where it overlaps a better one of its class by more than this.
    """
    kept: list[int] = []
    for start in range(0, len(boxes), _CHUNK):
        stop = min(start + _CHUNK, len(boxes))
        alive = np.ones(stop - start, np.bool_)
        if kept:
            alive &= ~_beats(boxes, kinds, np.array(kept), np.arange(start, stop), iou).any(axis=0)
        here = np.flatnonzero(alive) + start
        beats = _beats(boxes, kinds, here, here, iou)
        alive = np.ones(len(here), np.bool_)
        for number in range(len(here)):
            if alive[number]:
                kept.append(int(here[number]))
                if len(kept) == most:
                    return np.array(kept, np.int64)
                alive &= ~beats[number]
    return np.array(kept, np.int64)


def _beats(
    boxes: Floats,
    kinds: NDArray[np.int64],
    better: NDArray[np.int64],
    worse: NDArray[np.int64],
    iou: float,
) -> NDArray[np.bool_]:
    """(len(better), len(worse)): of one class and overlapping by more than `iou`."""
    one, other = boxes[better], boxes[worse]
    right = np.minimum((one[:, 0] + one[:, 2])[:, None], other[:, 0] + other[:, 2])
    bottom = np.minimum((one[:, 1] + one[:, 3])[:, None], other[:, 1] + other[:, 3])
    right -= np.maximum(one[:, 0, None], other[:, 0])
    bottom -= np.maximum(one[:, 1, None], other[:, 1])
    common = np.maximum(right, 0, out=right)
    common *= np.maximum(bottom, 0, out=bottom)
    areas = (one[:, 2] * one[:, 3])[:, None] + other[:, 2] * other[:, 3]
    # common / (areas − common) > iou, without the division.
    over: NDArray[np.bool_] = common > iou * (areas - common)
    over &= kinds[better][:, None] == kinds[worse]
    return over


def _best(scores: Floats, least: float) -> NDArray[np.int64]:
    """Indices of the best candidates, the highest score first and equal ones in their order."""
    chosen = np.flatnonzero(scores >= least)
    if len(chosen) > _MOST_CANDIDATES:
        own = scores[chosen]
        limit = np.partition(own, len(own) - _MOST_CANDIDATES)[len(own) - _MOST_CANDIDATES]
        above, equal = chosen[own > limit], chosen[own == limit]
        chosen = np.concatenate([above, equal[: _MOST_CANDIDATES - len(above)]])
        chosen.sort()
    return chosen[np.argsort(-scores[chosen], kind="stable")]


def _overlap(
    tiles: Mapping[str, Any], tile: Placement, size: tuple[int, int]
) -> tuple[float, float]:
    """What tiles share, in pixels of the picture, without the strips at their inner edges."""
    shared = tile_overlap(tiles, *size)
    across, down = (tile.source[axis] / tile.target[axis] for axis in (2, 3))
    return shared[0] - 2.1 * _EDGE * across, shared[1] - 2.1 * _EDGE * down


def _counts(
    edges: NDArray[np.float64], one: Placement, size: tuple[int, int], overlap: tuple[float, float]
) -> NDArray[np.bool_]:
    """Which boxes (N, 4) of one of several inputs are its own to find."""
    left, top, width, height = one.source
    if (width, height) == size:
        sides = edges[:, 2:] - edges[:, :2]
        return np.asarray((sides > np.array(overlap)).any(axis=1), np.bool_)
    scale_x, scale_y = width / one.target[2], height / one.target[3]
    near_x, near_y = _EDGE * scale_x, _EDGE * scale_y
    whole = np.ones(len(edges), np.bool_)
    if left > 0:
        whole &= edges[:, 0] >= left + near_x
    if top > 0:
        whole &= edges[:, 1] >= top + near_y
    if left + width < size[0]:
        whole &= edges[:, 2] <= left + width - near_x
    if top + height < size[1]:
        whole &= edges[:, 3] <= top + height - near_y
    return whole


def _to_picture(edges: NDArray[np.float64], one: Placement) -> NDArray[np.float64]:
    """(N, 4) left, top, right, bottom in pixels of the input → in pixels of the picture.

    Edges of target and source are put on each other; both are counted from the outer edge of the
    first pixel, as the resize counts them.
    """
    moved = np.empty_like(edges)
    across = one.input_width - edges[:, 2::-2] if one.mirrored else edges[:, 0::2]
    left, top, width, height = one.source
    scale_x, scale_y = width / one.target[2], height / one.target[3]
    moved[:, 0::2] = left + (across - one.target[0]) * scale_x
    moved[:, 1::2] = top + (edges[:, 1::2] - one.target[1]) * scale_y
    return moved
