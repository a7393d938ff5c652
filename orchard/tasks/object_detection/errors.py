"""What is right and wrong in the answer to one picture, each error with its kind.

The kinds are those of TIDE (Bolya et al. 2020, "TIDE: A General Toolbox for Identifying Object
Detection Errors", section 2.2, with its overlaps 0.5 and 0.1). A found box that has no truth box of
its class is, in this order: *badly placed* (overlaps one of its class by 0.1 to 0.5), *wrong class*
(overlaps one of another class by 0.5 or more), *double* (overlaps one of its class that a better
box has), *invented* (overlaps nothing by more than 0.1), or *wrong class and badly placed*. A truth
box without a found one is *missed* unless it is the truth box of a wrong class or a bad place.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from orchard.tasks.object_detection.boxes import CLASS, SCORE, Integers, Truth, overlaps
from orchard.tasks.object_detection.precision import candidates_of, matched

FOREGROUND, BACKGROUND = 0.5, 0.1
MISSED, INVENTED, WRONG_CLASS = "missed", "invented", "wrong_class"
BADLY_PLACED, DOUBLE, BOTH = "badly_placed", "double", "wrong_class_and_badly_placed"
KINDS = (MISSED, INVENTED, WRONG_CLASS, BADLY_PLACED, DOUBLE, BOTH)


@dataclass(frozen=True)
class Mistake:
    """One error.

    Attributes:
        kind: one of `KINDS`.
        found: class index of the found box, or −1 for a missed one; `score` is its score.
        truth: index of the truth box it is about, or −1 for an invented one.
    """

    kind: str
    found: int
    score: float
    truth: int


@dataclass(frozen=True)
class Outcome:
    """An answer beside its truth.

    Attributes:
        right: (truth box, row of the answer) pairs of one class that overlap by 0.5 or more.
        mistakes: the errors, those of found boxes by score.
        unmatched: indices of the truth boxes without a right answer, crowds left out.
        counted: (K,) found boxes a class, those that met a crowd left out.
    """

    right: list[tuple[int, int]]
    mistakes: list[Mistake]
    unmatched: list[int]
    counted: Integers = field(repr=False)


def outcome(answer: NDArray[np.float32], truth: Truth, threshold: float, classes: int) -> Outcome:
    """What is right and wrong among the boxes of an answer with a score of `threshold` or more.

    Args:
        answer: (M, 6). classes: K.
    """
    rows = np.flatnonzero(answer[:, SCORE].astype(np.float64) >= threshold)
    rows = rows[np.argsort(-answer[rows, SCORE], kind="stable")]
    found = answer[rows]
    kinds = found[:, CLASS].astype(np.int64)
    shares = overlaps(found[:, 2:].astype(np.float64), truth.boxes, truth.crowd)
    same = kinds[:, None] == truth.classes[None, :]
    pairs, in_crowd = matched(
        candidates_of(np.where(same, shares, 0)), truth.crowd, truth.crowd, np.array([FOREGROUND])
    )
    partner, beside = pairs[0], in_crowd[0]
    right = [
        (int(partner[place]), int(rows[place]))
        for place in np.flatnonzero((partner >= 0) & ~beside)
    ]
    taken = {index for index, _ in right}
    shares = np.where(truth.crowd[None, :], 0, shares)
    mistakes, explained = [], set(taken)
    for place in np.flatnonzero(partner < 0).tolist():
        kind, index = _kind(shares[place], same[place])
        mistakes.append(Mistake(kind, int(kinds[place]), float(found[place, SCORE]), index))
        if kind in (WRONG_CLASS, BADLY_PLACED):
            explained.add(index)
    real = np.flatnonzero(~truth.crowd).tolist()
    mistakes += [Mistake(MISSED, -1, 0.0, index) for index in real if index not in explained]
    counted = np.bincount(kinds[~beside], minlength=classes).astype(np.int64)
    return Outcome(right, mistakes, [index for index in real if index not in taken], counted)


def _kind(shares: NDArray[np.float64], same: NDArray[np.bool_]) -> tuple[str, int]:
    """Kind of a wrong box with its overlaps (G,), and the truth box that it is about."""
    if not len(shares):
        return INVENTED, -1
    own, other = np.where(same, shares, 0), np.where(same, 0, shares)
    mine, theirs = int(own.argmax()), int(other.argmax())
    if BACKGROUND <= own[mine] < FOREGROUND:
        return BADLY_PLACED, mine
    if other[theirs] >= FOREGROUND:
        return WRONG_CLASS, theirs
    if own[mine] >= FOREGROUND:
        return DOUBLE, mine
    if other[theirs] <= BACKGROUND:
        return INVENTED, -1
    return BOTH, theirs
