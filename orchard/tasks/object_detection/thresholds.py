"""The score from which a found box counts, chosen on samples the model was not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.errors import BadInput
from orchard.tasks.base import Answers
from orchard.tasks.object_detection.answers import IOU, LEAST_SCORE, MOST_BOXES, counted
from orchard.tasks.object_detection.boxes import Booleans, Floats, truth_of
from orchard.tasks.object_detection.precision import Matches, match_class

OBJECTIVES = {"accuracy": "ap50", "worst_class_recall": "worst_class_ap50"}
NEUTRAL_THRESHOLD = 0.5
ACROSS = (None, 0.8, 0.65, 0.5, 0.4, 0.3, 0.2)
"""From which overlap on only the best box of whatever class counts; the first is: from none."""
_DIGITS = 6


def choose(answers: Answers, objective: str) -> dict[str, Any]:
    """What a bundle's card carries of thresholds.

    A threshold is where F1 is best (overlap of 0.5 or more); of the scores between which it is best
    the middle is taken, so that both neighbours are equally far. `default` holds for all classes:
    for the objective `accuracy` the F1 over all boxes decides, for `worst_class_recall` the mean of
    the classes' F1. A class without truth or right answer gets the default, and the default is 0.5
    where nothing is right. Whether two objects may share a place is decided by the same figure:
    `across` is the first of `ACROSS` with which it is best.

    Args:
        answers: of samples outside of training (out of fold, or validation).
        objective: a key of `OBJECTIVES`.

    Returns:
        {"default": t, "per_class": {label: t}, "across", "iou", "least_score", "most_boxes"}; the
        last three are those of `answers`, with which the boxes were found.
    """
    if objective not in OBJECTIVES:
        raise BadInput(
            "There is no such objective", value=objective, way_out=f"One of {', '.join(OBJECTIVES)}"
        )
    labelled = [place for place, truth in enumerate(answers.truths) if truth is not None]
    truths = [truth_of(answers.truths[place], answers.labels) for place in labelled]
    found = [answers.answers[place] for place in labelled]
    default, highest, across, matches = NEUTRAL_THRESHOLD, -1.0, None, []
    for tried in ACROSS:
        counting_boxes = [counted(one, {"thresholds": {"across": tried}}) for one in found]
        own = [match_class(number, counting_boxes, truths) for number in range(len(answers.labels))]
        best = best_threshold(own, alike=objective == "worst_class_recall")
        reached, place = best or (0.0, NEUTRAL_THRESHOLD)
        if reached > highest + 1e-9:
            default, highest, across, matches = place, reached, tried, own
    per_class = {}
    for label, one in zip(answers.labels, matches, strict=True):
        best = best_threshold([one])
        per_class[label] = round(default if best is None else best[1], _DIGITS)
    return {
        "default": round(default, _DIGITS),
        "per_class": per_class,
        "across": across,
        "iou": IOU,
        "least_score": LEAST_SCORE,
        "most_boxes": MOST_BOXES,
    }


def best_threshold(matches: Sequence[Matches], alike: bool = False) -> tuple[float, float] | None:
    """The best F1 over these classes and its threshold; None where no found box is right.

    Args:
        alike: take the mean of the classes' F1, so that each counts the same, and not the F1 of
            all boxes together.
    """
    known = [own for own in matches if own.truths["all"]]
    every = [counting(own) for own in matches]
    values = np.unique(np.concatenate([np.zeros(0), *(scores for scores, _ in every)]))
    if not len(values) or not any(right.any() for _, right in every):
        return None
    if alike:
        each = [f1(*tally([own], values)) for own in known]
        curve = np.mean(each, axis=0)
    else:
        curve = f1(*tally(matches, values))
    best = int(np.flatnonzero(curve >= curve.max() - 1e-12)[-1])
    below = float(values[best - 1]) if best else 0.0
    return float(curve[best]), (below + float(values[best])) / 2


def counting(own: Matches) -> tuple[Floats, Booleans]:
    """Scores and rightness of the found boxes of a class that count (not those in a crowd)."""
    counts = ~own.ignored["all"][0]
    return own.scores[counts], own.right["all"][0][counts]


def tally(
    matches: Sequence[Matches], thresholds: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Right boxes and found boxes of some classes at each threshold, and their truth boxes."""
    hits = np.zeros(len(thresholds), np.int64)
    found = np.zeros(len(thresholds), np.int64)
    for own in matches:
        scores, right = counting(own)
        found += len(scores) - np.searchsorted(np.sort(scores), thresholds, side="left")
        own_hits = np.sort(scores[right])
        hits += len(own_hits) - np.searchsorted(own_hits, thresholds, side="left")
    return hits, found, sum(own.truths["all"] for own in matches)


def f1(hits: NDArray[np.int64], found: NDArray[np.int64], truths: int) -> Floats:
    """2 · hits / (found + truths), 0 where both are 0."""
    return 2 * hits / np.maximum(found + truths, 1)
