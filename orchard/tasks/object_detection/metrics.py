"""Figures of a detector: every one of them derives from (truth, answers, threshold).

Average precision equals pycocotools'. What holds "at the threshold" counts the found boxes with a
score of at least the recommended threshold that `answers.counted` leaves; right means an overlap of
0.5 or more with a truth box of the same class. Truth boxes whose class is none of the model's are counted as `outside` and take
no part; samples without annotation neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.errors import BadInput
from orchard.tasks.base import Answers
from orchard.tasks.object_detection.answers import counted
from orchard.tasks.object_detection.boxes import Truth, truth_of
from orchard.tasks.object_detection.errors import KINDS, WRONG_CLASS, Outcome, outcome
from orchard.tasks.object_detection.precision import (
    SIZES,
    Matches,
    average_precision,
    match_class,
)
from orchard.tasks.object_detection.thresholds import (
    NEUTRAL_THRESHOLD,
    OBJECTIVES,
    best_threshold,
    f1,
    tally,
)

CURVE_POINTS = 100
CURVE_POINTS_OF_MANY = 20
MANY_CLASSES = 50
BODILESS = -1
"""Last row of the confusion matrix (no truth box: invented) and its last column (missed)."""

Row = dict[str, Any]


def evaluate(answers: Answers, card: Mapping[str, Any]) -> Row:
    """All figures as JSON.

    Args:
        answers: (M, 6) an answer; truths are annotations, None for a sample without one.
        card: `thresholds.default` is the recommended threshold; where it is not there yet, the one
            with the best F1 on these answers is taken.

    Returns:
        samples, boxes (truth boxes, crowds left out), outside, ap50, ap (mean over overlaps 0.5 to
        0.95), ap75, worst_class_ap50, worst_class, missing_classes (without truth box); threshold,
        and at it precision, recall, f1; best_threshold (on these answers);
        per_class {label: {support, found, hits, ap50, ap, precision, recall, f1, count_error,
        count_right}}; by_size {small, medium, large: {boxes, hits, recall, ap50, ap}};
        curves {thresholds, overall, per_class {label: {precision, recall, f1}}};
        confusion {labels, matrix [truth][answer]}, a row and a column longer than the labels, for
        what was invented and missed; errors {kind: boxes}; counts {error, right}: the mean
        |found − true| number of boxes a picture and class, and the share of pictures in which
        the numbers of all classes are right. A figure without a sample behind it is None.

    Raises:
        BadInput: no labelled sample, or answers that do not fit together.
    """
    found, truths = _checked(answers)
    classes = len(answers.labels)
    matches = [match_class(number, found, truths) for number in range(classes)]
    counting = [counted(answer, card) for answer in found]
    counts_of = [match_class(number, counting, truths) for number in range(classes)]
    best = (best_threshold(counts_of) or (0.0, None))[1]
    threshold = (card.get("thresholds") or {}).get("default", best)
    threshold = NEUTRAL_THRESHOLD if threshold is None else float(threshold)
    outcomes = [
        outcome(answer, truth, threshold, classes)
        for answer, truth in zip(counting, truths, strict=True)
    ]
    errors = Counter(mistake.kind for one in outcomes for mistake in one.mistakes)
    per_class = _per_class(answers.labels, matches, counts_of, threshold)
    counts = _counts(per_class, answers.labels, outcomes, truths)
    present = {label: row for label, row in per_class.items() if row["support"]}
    worst = min(present, key=lambda label: (present[label]["ap50"], label), default=None)
    return {
        "samples": len(found),
        "boxes": sum(row["support"] for row in per_class.values()),
        "outside": sum(truth.outside for truth in truths),
        **_average(matches, "all"),
        "worst_class": worst,
        "worst_class_ap50": None if worst is None else present[worst]["ap50"],
        "missing_classes": [label for label in answers.labels if label not in present],
        "threshold": threshold,
        "best_threshold": best,
        **_shares(counts_of, threshold),
        "per_class": per_class,
        "by_size": _by_size(matches, outcomes, truths),
        "curves": _curves(answers.labels, counts_of),
        "confusion": {
            "labels": list(answers.labels),
            "matrix": _confusion(classes, outcomes, truths, counting).tolist(),
        },
        "errors": {kind: errors[kind] for kind in KINDS},
        "counts": counts,
    }


def support(answers: Answers, objective: str) -> int:
    """On how much the objective's figure rests: on the labelled samples, or for the worst class on
    its truth boxes (0 where no class has one)."""
    found, truths = _checked(answers)
    if OBJECTIVES.get(objective) != "worst_class_ap50":
        return len(found)
    worst: tuple[float, int] | None = None
    for number in range(len(answers.labels)):
        own = match_class(number, found, truths)
        levels = average_precision(own)
        if levels is not None and (worst is None or levels[0] < worst[0]):
            worst = float(levels[0]), own.truths["all"]
    return worst[1] if worst else 0


def _average(matches: Sequence[Matches], size: str) -> Row:
    """Means over the classes that occur in the truth."""
    levels = [average_precision(own, size) for own in matches]
    known = [own for own in levels if own is not None]
    if not known:
        return {"ap50": None, "ap": None, "ap75": None}
    mean = np.mean(known, axis=0)
    return {"ap50": float(mean[0]), "ap": float(mean.mean()), "ap75": float(mean[5])}


def _shares(matches: Sequence[Matches], threshold: float) -> Row:
    hits, found, truths = tally(matches, np.array([threshold]))
    return {
        "precision": float(hits[0] / found[0]) if found[0] else None,
        "recall": float(hits[0] / truths) if truths else None,
        "f1": float(f1(hits, found, truths)[0]) if found[0] or truths else None,
    }


def _per_class(
    labels: Sequence[str],
    matches: Sequence[Matches],
    counts_of: Sequence[Matches],
    threshold: float,
) -> dict[str, Row]:
    table = {}
    for label, whole, own in zip(labels, matches, counts_of, strict=True):
        hits, found, truths = tally([own], np.array([threshold]))
        average = _average([whole], "all")
        table[label] = {
            "support": truths,
            "found": int(found[0]),
            "hits": int(hits[0]),
            "ap50": average["ap50"],
            "ap": average["ap"],
            **_shares([own], threshold),
        }
    return table


def _by_size(
    matches: Sequence[Matches], outcomes: Sequence[Outcome], truths: Sequence[Truth]
) -> dict[str, Row]:
    """Truth boxes by their area, and how many of them are found at the threshold."""
    areas, hit = [np.zeros(0)], [np.zeros(0, np.bool_)]
    for one, truth in zip(outcomes, truths, strict=True):
        own = np.zeros(len(truth.boxes), np.bool_)
        own[[index for index, _ in one.right]] = True
        areas.append(np.prod(truth.boxes[~truth.crowd, 2:], axis=1))
        hit.append(own[~truth.crowd])
    every, found = np.concatenate(areas), np.concatenate(hit)
    table = {}
    for size, (low, high) in SIZES.items():
        if size == "all":
            continue
        inside = (every >= low) & (every <= high)
        count, hits = int(inside.sum()), int(found[inside].sum())
        average = _average(matches, size)
        table[size] = {
            "boxes": count,
            "hits": hits,
            "recall": hits / count if count else None,
            "ap50": average["ap50"],
            "ap": average["ap"],
        }
    return table


def _curves(labels: Sequence[str], matches: Sequence[Matches]) -> Row:
    points = CURVE_POINTS if len(labels) <= MANY_CLASSES else CURVE_POINTS_OF_MANY
    thresholds = np.round(np.arange(1, points + 1) / points, 4)
    return {
        "thresholds": thresholds.tolist(),
        "overall": _curve(matches, thresholds),
        "per_class": {
            label: _curve([own], thresholds) for label, own in zip(labels, matches, strict=True)
        },
    }


def _curve(
    matches: Sequence[Matches], thresholds: NDArray[np.float64]
) -> dict[str, list[float | None]]:
    hits, found, truths = tally(matches, thresholds)
    return {
        "precision": [float(h / f) if f else None for h, f in zip(hits, found, strict=True)],
        "recall": [float(h / truths) if truths else None for h in hits],
        "f1": [float(value) if truths else None for value in f1(hits, found, truths)],
    }


def _confusion(
    classes: int,
    outcomes: Sequence[Outcome],
    truths: Sequence[Truth],
    found: Sequence[NDArray[np.float32]],
) -> NDArray[np.int64]:
    """(K + 1, K + 1) counts, row: truth, column: answer; the sums of the first K rows are the
    truth boxes, those of the first K columns the found ones.

    Of several boxes that take one truth box for another class the best is entered as such, the
    others as invented.
    """
    matrix = np.zeros((classes + 1, classes + 1), np.int64)
    for one, truth, answer in zip(outcomes, truths, found, strict=True):
        free = set(one.unmatched)
        for index, row in one.right:
            matrix[truth.classes[index], int(answer[row, 0])] += 1
        for mistake in one.mistakes:
            if mistake.found < 0:
                continue
            if mistake.kind == WRONG_CLASS and mistake.truth in free:
                free.discard(mistake.truth)
                matrix[truth.classes[mistake.truth], mistake.found] += 1
            else:
                matrix[BODILESS, mistake.found] += 1
        for index in free:
            matrix[truth.classes[index], BODILESS] += 1
    return matrix


def _counts(
    per_class: dict[str, Row],
    labels: Sequence[str],
    outcomes: Sequence[Outcome],
    truths: Sequence[Truth],
) -> Row:
    """Enter how well each class is counted, and return it for all together.

    A picture with a crowd of a class, whose number is not known, takes no part for that class.
    """
    classes = len(labels)
    known = np.ones((len(truths), classes), np.bool_)
    difference = np.zeros((len(truths), classes), np.int64)
    for place, (one, truth) in enumerate(zip(outcomes, truths, strict=True)):
        known[place, truth.classes[truth.crowd]] = False
        true = np.bincount(truth.classes[~truth.crowd], minlength=classes)
        difference[place] = np.abs(one.counted - true)
    for number, label in enumerate(labels):
        own = difference[known[:, number], number]
        per_class[label]["count_error"] = float(own.mean()) if len(own) else None
        per_class[label]["count_right"] = float((own == 0).mean()) if len(own) else None
    whole = known.all(axis=1)
    return {
        "error": float(difference[known].mean()) if known.any() else None,
        "right": float((difference[whole] == 0).all(axis=1).mean()) if whole.any() else None,
    }


def _checked(answers: Answers) -> tuple[list[NDArray[np.float32]], list[Truth]]:
    """The labelled samples' answers and truths."""
    if len(answers.answers) != len(answers.truths):
        raise BadInput(
            "Answers and truths do not fit together",
            value=f"{len(answers.answers)} answers, {len(answers.truths)} truths",
        )
    for answer in answers.answers:
        if answer.ndim != 2 or answer.shape[1] != 6 or not np.isfinite(answer).all():
            raise BadInput("An answer must be rows of six finite numbers", value=answer.shape)
        if len(answer) and not 0 <= answer[:, 0].min() <= answer[:, 0].max() < len(answers.labels):
            raise BadInput("An answer must be of one of the model's classes", value=answer[:, 0])
    labelled = [place for place, truth in enumerate(answers.truths) if truth is not None]
    if not labelled:
        raise BadInput(
            "There is no sample to judge the model by",
            way_out="Add labelled samples of the model's classes",
        )
    truths = [truth_of(answers.truths[place], answers.labels) for place in labelled]
    return [answers.answers[place] for place in labelled], truths
