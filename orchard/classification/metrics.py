"""Figures of a classifier: every one of them derives from (truth, scores).

Where a figure has a usual definition it equals scikit-learn's. Macro averages run over the classes
that occur in the truth; the answer to a sample is the class with the highest score (the first one
on a tie). Samples whose truth is not one of the model's classes are counted as `outside` and take
no part in any figure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.errors import BadInput
from orchard.tasks.base import Scores

Z_95 = 1.959963984540054
CALIBRATION_BINS = 15
CURVE_POINTS = 101
CURVE_POINTS_OF_MANY = 21
MANY_CLASSES = 50

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def evaluate(scores: Scores) -> dict[str, Any]:
    """All figures as JSON.

    Args:
        scores: (N, K) scores whose rows sum to 1, truth in 0..K-1 or -1 (outside).

    Returns:
        samples, outside, accuracy, accuracy_interval [low, high], top_5, macro_precision,
        macro_recall, macro_f1, worst_class_recall, worst_class, missing_classes, log_loss,
        expected_calibration_error, reliability [{low, high, count, confidence, accuracy}],
        per_class {label: {precision, recall, f1, support, predicted, precision_interval,
        recall_interval, f1_interval, hits}}, confusion {labels, matrix [truth][answer]},
        curves {thresholds, per_class {label: {precision, recall, f1}}}, answered {thresholds,
        share, accuracy}: how many answers remain, and how many of them are right, when answers
        below a confidence are held back. A figure without a sample behind it is None.

    Raises:
        BadInput: no sample, or arrays that do not fit together.
    """
    probabilities, truth, outside = _checked(scores)
    answer = np.argmax(probabilities, axis=1)
    classes = len(scores.labels)
    matrix = confusion_matrix(truth, answer, classes)
    right = int(np.trace(matrix))
    count = len(truth)
    per_class = _per_class(matrix, scores.labels)
    present = [per_class[label] for label in scores.labels if per_class[label]["support"]]
    worst = min(
        (label for label in scores.labels if per_class[label]["support"]),
        key=lambda label: (per_class[label]["recall"], label),
    )
    error, bins = calibration(probabilities.max(axis=1), answer == truth)
    return {
        "samples": count,
        "outside": outside,
        "accuracy": right / count,
        "accuracy_interval": wilson(right, count),
        "top_5": top_k_accuracy(probabilities, truth, 5),
        "macro_precision": float(np.mean([row["precision"] for row in present])),
        "macro_recall": float(np.mean([row["recall"] for row in present])),
        "macro_f1": float(np.mean([row["f1"] for row in present])),
        "worst_class_recall": per_class[worst]["recall"],
        "worst_class": worst,
        "missing_classes": [label for label in scores.labels if not per_class[label]["support"]],
        "log_loss": log_loss(probabilities, truth),
        "expected_calibration_error": error,
        "reliability": bins,
        "per_class": per_class,
        "confusion": {"labels": list(scores.labels), "matrix": matrix.tolist()},
        "curves": curves(probabilities, truth, scores.labels),
        "answered": answered(probabilities.max(axis=1), answer == truth),
    }


def confusion_matrix(truth: Integers, answer: Integers, classes: int) -> Integers:
    """(K, K) counts, row: truth, column: answer."""
    flat = np.bincount(truth * classes + answer, minlength=classes * classes)
    return flat.reshape(classes, classes).astype(np.int64)


def wilson(hits: int, count: int) -> list[float] | None:
    """95 % score interval of a share (Wilson 1927); None without samples."""
    if count == 0:
        return None
    share = hits / count
    scale = 1 + Z_95**2 / count
    middle = (share + Z_95**2 / (2 * count)) / scale
    half = Z_95 * np.sqrt(share * (1 - share) / count + Z_95**2 / (4 * count**2)) / scale
    return [float(max(0.0, min(middle - half, share))), float(min(1.0, max(middle + half, share)))]


def f1_interval(hits: int, union: int) -> list[float] | None:
    """95 % interval of F1; an approximation.

    F1 = 2·TP / (2·TP + FP + FN) grows with p = TP / (TP + FP + FN) as 2p / (1 + p). The interval is
    Wilson's for p, taken through that function, with TP + FP + FN as if it were given.
    """
    interval = wilson(hits, union)
    return None if interval is None else [2 * p / (1 + p) for p in interval]


def top_k_accuracy(probabilities: Floats, truth: Integers, k: int) -> float:
    """Share of samples whose true class is among the k highest scores (a tie counts as among)."""
    own = probabilities[np.arange(len(truth)), truth]
    higher = (probabilities > own[:, None]).sum(axis=1)
    return float(np.mean(higher < k))


def log_loss(probabilities: Floats, truth: Integers) -> float:
    """Mean negative logarithm of the true class's score, scores clipped at float32's epsilon."""
    epsilon = float(np.finfo(np.float32).eps)
    own = probabilities[np.arange(len(truth)), truth]
    return float(-np.mean(np.log(np.clip(own, epsilon, 1 - epsilon))))


def calibration(
    confidence: Floats, right: NDArray[np.bool_], bins: int = CALIBRATION_BINS
) -> tuple[float, list[dict[str, Any]]]:
    """Expected calibration error (Guo et al. 2017) over bins of equal width, and the bins.

    The error is the mean over samples of |share of right answers − mean confidence| of their bin.
    """
    index = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    count = np.bincount(index, minlength=bins)
    total = np.maximum(count, 1)
    mean_confidence = np.bincount(index, weights=confidence, minlength=bins) / total
    accuracy = np.bincount(index, weights=right.astype(np.float64), minlength=bins) / total
    error = float(np.sum(count * np.abs(accuracy - mean_confidence)) / max(len(confidence), 1))
    table = [
        {
            "low": number / bins,
            "high": (number + 1) / bins,
            "count": int(count[number]),
            "confidence": float(mean_confidence[number]) if count[number] else None,
            "accuracy": float(accuracy[number]) if count[number] else None,
        }
        for number in range(bins)
    ]
    return error, table


def curves(probabilities: Floats, truth: Integers, labels: tuple[str, ...]) -> dict[str, Any]:
    """Precision, recall and F1 of every class when it is answered from a threshold on.

    Thresholds run from 0 to 1 in equal steps (101 points, 21 above 50 classes). A sample counts as
    found at threshold t where the class's score is at least t, whatever the other scores. Precision
    is None where nothing is found, recall and F1 where the class does not occur.
    """
    points = CURVE_POINTS if len(labels) <= MANY_CLASSES else CURVE_POINTS_OF_MANY
    thresholds = np.round(np.linspace(0, 1, points), 4)
    per_class: dict[str, dict[str, list[float | None]]] = {}
    for number, label in enumerate(labels):
        own = np.sort(probabilities[truth == number, number])
        every = np.sort(probabilities[:, number])
        hits = len(own) - np.searchsorted(own, thresholds, side="left")
        found = len(every) - np.searchsorted(every, thresholds, side="left")
        support = len(own)
        per_class[label] = {
            "precision": [float(h / f) if f else None for h, f in zip(hits, found, strict=True)],
            "recall": [float(h / support) if support else None for h in hits],
            "f1": [
                float(2 * h / (f + support)) if support else None
                for h, f in zip(hits, found, strict=True)
            ],
        }
    return {"thresholds": thresholds.tolist(), "per_class": per_class}


def answered(confidence: Floats, right: NDArray[np.bool_]) -> dict[str, list[float | None]]:
    """What remains when answers below a confidence are held back, at 101 thresholds from 0 to 1."""
    thresholds = np.round(np.linspace(0, 1, CURVE_POINTS), 4)
    every, hits = np.sort(confidence), np.sort(confidence[right])
    kept = len(every) - np.searchsorted(every, thresholds, side="left")
    good = len(hits) - np.searchsorted(hits, thresholds, side="left")
    return {
        "thresholds": thresholds.tolist(),
        "share": (kept / len(every)).tolist(),
        "accuracy": [float(g / k) if k else None for g, k in zip(good, kept, strict=True)],
    }


def _per_class(matrix: Integers, labels: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    support = matrix.sum(axis=1)
    predicted = matrix.sum(axis=0)
    table = {}
    for number, label in enumerate(labels):
        hits, truth, found = (
            int(matrix[number, number]),
            int(support[number]),
            int(predicted[number]),
        )
        table[label] = {
            "support": truth,
            "predicted": found,
            "hits": hits,
            "precision": hits / found if found else 0.0,
            "recall": hits / truth if truth else 0.0,
            "f1": 2 * hits / (truth + found) if truth + found else 0.0,
            "precision_interval": wilson(hits, found),
            "recall_interval": wilson(hits, truth),
            "f1_interval": f1_interval(hits, truth + found - hits),
        }
    return table


def _checked(scores: Scores) -> tuple[Floats, Integers, int]:
    probabilities = np.asarray(scores.scores, dtype=np.float64)
    truth = np.asarray(scores.truth, dtype=np.int64)
    if probabilities.ndim != 2 or probabilities.shape != (len(truth), len(scores.labels)):
        raise BadInput(
            "Scores, truth and labels do not fit together",
            value=f"scores {probabilities.shape}, truth {truth.shape}, {len(scores.labels)} labels",
        )
    if not np.isfinite(probabilities).all() or (truth >= len(scores.labels)).any():
        raise BadInput("Scores must be finite numbers and truth one of the model's labels")
    inside = truth >= 0
    if not inside.any():
        raise BadInput(
            "There is no sample to judge the model by",
            way_out="Add labelled samples of the model's classes",
        )
    return probabilities[inside], truth[inside], int((~inside).sum())
