"""Average precision as COCO's evaluation computes it; equal to pycocotools 2.0 to the last digit
that matters.

Lin et al. 2014, "Microsoft COCO", and https://cocodataset.org/#detection-eval: found boxes of a
class are taken from the best score down and each gets the free truth box that it overlaps most, at
ten least overlaps from 0.5 to 0.95; precision is read at 101 recalls. A crowd may be met by any
number of boxes, which then count neither as right nor as wrong. For a size, truth boxes of other
sizes are treated like crowds, and so are unmatched found boxes of other sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchard.tasks.object_detection.boxes import (
    CLASS,
    SCORE,
    Booleans,
    Floats,
    Integers,
    Truth,
    overlaps,
)

OVERLAPS = np.linspace(0.5, 0.95, 10)
RECALLS = np.linspace(0.0, 1.0, 101)
SIZES = {
    "all": (0.0, 1e10),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
"""Areas in pixels², both ends inside."""
MOST_BOXES = 100
"""Found boxes of a class that count in one picture."""

# Keeps a precision of 0 of 0 found boxes at 0, as the reference does.
_EPSILON = float(np.spacing(1))


@dataclass(frozen=True)
class Matches:
    """All found boxes of one class, picture by picture, each picture's best first.

    Attributes:
        scores: (D,). pictures: (D,) index of the picture. rows: (D,) row in the picture's answer.
        right: size → (T, D), the box has a truth box at overlap t.
        ignored: size → (T, D), the box counts neither as right nor as wrong.
        partner: (D,) index of the truth box in its picture's annotation at overlap 0.5, or −1.
        truths: size → truth boxes that count.
    """

    scores: Floats
    pictures: Integers
    rows: Integers
    right: dict[str, Booleans]
    ignored: dict[str, Booleans]
    partner: Integers
    truths: dict[str, int]


def match_class(
    number: int, answers: Sequence[NDArray[np.float32]], truths: Sequence[Truth]
) -> Matches:
    """Match the found boxes of class `number` with its truth boxes in every picture."""
    scores, pictures, rows, partners = [], [], [], []
    right: dict[str, list[Booleans]] = {size: [] for size in SIZES}
    ignored: dict[str, list[Booleans]] = {size: [] for size in SIZES}
    counts = dict.fromkeys(SIZES, 0)
    for picture, (answer, truth) in enumerate(zip(answers, truths, strict=True)):
        own = np.flatnonzero(truth.classes == number)
        found = np.flatnonzero(answer[:, CLASS] == number)
        found = found[np.argsort(-answer[found, SCORE], kind="stable")][:MOST_BOXES]
        if not len(own) and not len(found):
            continue
        scores.append(answer[found, SCORE].astype(np.float64))
        pictures.append(np.full(len(found), picture, np.int64))
        rows.append(found)
        boxes = answer[found, 2:].astype(np.float64)
        candidates = candidates_of(overlaps(boxes, truth.boxes[own], truth.crowd[own]))
        areas, found_areas = np.prod(truth.boxes[own, 2:], axis=1), np.prod(boxes[:, 2:], axis=1)
        for size, (low, high) in SIZES.items():
            other = truth.crowd[own] | (areas < low) | (areas > high)
            counts[size] += int((~other).sum())
            partner, met_ignored = matched(candidates, other, truth.crowd[own])
            right[size].append(partner >= 0)
            beyond = (found_areas < low) | (found_areas > high)
            ignored[size].append(met_ignored | ((partner < 0) & beyond))
            if size == "all":
                first = partner[0]
                partners.append(np.where(first >= 0, own[first], -1) if len(own) else first)
    empty = np.zeros((len(OVERLAPS), 0), np.bool_)
    return Matches(
        np.concatenate([np.zeros(0), *scores]),
        np.concatenate([np.zeros(0, np.int64), *pictures]),
        np.concatenate([np.zeros(0, np.int64), *rows]),
        {size: np.concatenate([empty, *right[size]], axis=1) for size in SIZES},
        {size: np.concatenate([empty, *ignored[size]], axis=1) for size in SIZES},
        np.concatenate([np.zeros(0, np.int64), *partners]),
        counts,
    )


def average_precision(matches: Matches, size: str = "all") -> Floats | None:
    """(T,) average precision at each of `OVERLAPS`; None where no truth box counts."""
    count = matches.truths[size]
    if count == 0:
        return None
    order = np.argsort(-matches.scores, kind="stable")
    right, ignored = matches.right[size][:, order], matches.ignored[size][:, order]
    hits = np.cumsum(right & ~ignored, axis=1, dtype=np.float64)
    wrong = np.cumsum(~right & ~ignored, axis=1, dtype=np.float64)
    recall = hits / count
    precision = hits / (hits + wrong + _EPSILON)
    # The best precision at this recall or a higher one.
    precision = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    found = np.zeros(len(OVERLAPS))
    for level in range(len(OVERLAPS)):
        places = np.searchsorted(recall[level], RECALLS, side="left")
        inside = places < precision.shape[1]
        found[level] = precision[level, places[inside]].sum() / len(RECALLS)
    return found


def candidates_of(shares: Floats) -> list[list[tuple[float, int]]]:
    """For each found box the (overlap, truth box) pairs that reach the lowest overlap."""
    candidates: list[list[tuple[float, int]]] = [[] for _ in range(len(shares))]
    found, own = np.nonzero(shares >= OVERLAPS[0])
    for row, column, share in zip(
        found.tolist(), own.tolist(), shares[found, own].tolist(), strict=True
    ):
        candidates[row].append((share, column))
    return candidates


def matched(
    candidates: list[list[tuple[float, int]]],
    other: Booleans,
    crowd: Booleans,
    least_overlaps: Floats = OVERLAPS,
) -> tuple[Integers, Booleans]:
    """Greedy matching of found boxes, the best first, at T least overlaps.

    Args:
        candidates: from `candidates_of`. other: (G,) truth boxes that do not count.
        crowd: (G,) truth boxes that any number of found boxes may meet.

    Returns:
        (T, D) truth box of each found box or −1, and (T, D) whether that truth box does not count.

    A truth box that counts is preferred to one that does not. Of equal overlaps the later one is
    taken.
    """
    partner = np.full((len(least_overlaps), len(candidates)), -1, np.int64)
    met_other = np.zeros(partner.shape, np.bool_)
    does_not_count, endless = other.tolist(), crowd.tolist()
    hopeful = [(row, pairs) for row, pairs in enumerate(candidates) if pairs]
    for level, least in enumerate(least_overlaps.tolist()):
        taken: set[int] = set()
        for row, pairs in hopeful:
            best: tuple[bool, float, int] | None = None
            for share, column in pairs:
                if share < least or (column in taken and not endless[column]):
                    continue
                rank = (not does_not_count[column], share, column)
                best = rank if best is None else max(best, rank)
            if best is not None:
                counts, _, column = best
                partner[level, row], met_other[level, row] = column, not counts
                taken.add(column)
    return partner, met_other
