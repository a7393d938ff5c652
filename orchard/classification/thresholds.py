"""Temperature and thresholds, chosen on scores of samples the model was not trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.errors import BadInput
from orchard.tasks.base import Scores

TEMPERATURE_RANGE = (0.05, 20.0)
SURE_PRECISION = 0.75
SURE_COVERAGE = 0.5
NEUTRAL_THRESHOLD = 0.5
_DIGITS = 6
OBJECTIVES = ("accuracy", "worst_class_recall")

Floats = NDArray[np.float64]


def temperature(logits: NDArray[np.floating[Any]], truth: NDArray[np.integer[Any]]) -> float:
    """The temperature T for which softmax(logits / T) has the lowest log-loss (Guo et al. 2017).

    Golden section over log T, in which the loss has one minimum, from 0.05 to 20; the same input
    gives the same number.

    Args:
        logits: (N, K) of samples outside of training.
        truth: (N,) class indices; rows with -1 are left out.

    Returns:
        T, rounded to 6 digits; 1.0 where there is no sample.
    """
    inside = np.asarray(truth) >= 0
    values = np.asarray(logits, dtype=np.float64)[inside]
    own = np.asarray(truth, dtype=np.int64)[inside]
    if len(own) == 0 or values.shape[1] < 2:
        return 1.0

    def loss(log_temperature: float) -> float:
        scaled = values / np.exp(log_temperature)
        scaled -= scaled.max(axis=1, keepdims=True)
        logs = scaled[np.arange(len(own)), own] - np.log(np.exp(scaled).sum(axis=1))
        return float(-logs.mean())

    low, high = np.log(TEMPERATURE_RANGE[0]), np.log(TEMPERATURE_RANGE[1])
    return round(float(np.exp(_golden_section(loss, low, high))), 6)


def choose(scores: Scores, objective: str) -> dict[str, Any]:
    """A threshold for every class and one for "not sure".

    *Per class*: where the F1 of "this class, from score t on" is best; of the scores between which
    it is best the middle is taken, so that both neighbours are equally far. 0.5 for a class that
    has no sample.

    *Not sure*: an answer below it is flagged. It is the lowest confidence at which answers are
    right three times out of four or more. How often answers of a confidence are right is estimated by
    isotonic regression of right/wrong on confidence (pool adjacent violators). For the objective
    `worst_class_recall` samples of the class with the lowest recall must meet this bound as well;
    the higher of both is taken. At most half of the samples are flagged.

    Args:
        scores: scores of samples outside of training (out of fold, or validation).
        objective: "accuracy" or "worst_class_recall".

    Returns:
        {"per_class": {label: t}, "not_sure": t}, rounded to 6 digits.
    """
    if objective not in OBJECTIVES:
        raise BadInput(
            "There is no such objective", value=objective, way_out=f"One of {', '.join(OBJECTIVES)}"
        )
    truth = np.asarray(scores.truth, dtype=np.int64)
    inside = truth >= 0
    truth = truth[inside]
    probabilities = np.asarray(scores.scores, dtype=np.float64)[inside]
    per_class = {
        label: round(_best_f1_threshold(probabilities[:, number], truth == number), _DIGITS)
        for number, label in enumerate(scores.labels)
    }
    return {
        "per_class": per_class,
        "not_sure": round(_not_sure(probabilities, truth, objective), _DIGITS),
    }


def _not_sure(probabilities: Floats, truth: NDArray[np.int64], objective: str) -> float:
    classes = probabilities.shape[1]
    if len(truth) == 0:
        return NEUTRAL_THRESHOLD
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == truth
    chosen = _lowest_sure(confidence, right)
    if objective == "worst_class_recall":
        recalls = [right[truth == number].mean() for number in np.unique(truth)]
        weakest = np.unique(truth)[int(np.argmin(recalls))]
        chosen = max(chosen, _lowest_sure(confidence[truth == weakest], right[truth == weakest]))
    median = float(np.quantile(confidence, SURE_COVERAGE, method="lower"))
    return float(min(max(min(chosen, median), 1 / classes), 1.0))


def _lowest_sure(confidence: Floats, right: NDArray[np.bool_]) -> float:
    """The lowest confidence whose isotonic precision reaches SURE_PRECISION; 1 where none does."""
    values, index = np.unique(confidence, return_inverse=True)
    weight = np.bincount(index).astype(np.float64)
    share = np.bincount(index, weights=right.astype(np.float64)) / weight
    precision = isotonic(share, weight)
    sure = np.flatnonzero(precision >= SURE_PRECISION)
    return float(values[sure[0]]) if len(sure) else 1.0


def isotonic(values: Floats, weights: Floats) -> Floats:
    """The non-decreasing sequence nearest to `values` in weighted squares (pool adjacent violators).

    Args:
        values: (N,) in the order of the regressor; weights: (N,) positive.
    """
    means: list[float] = []
    masses: list[float] = []
    lengths: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        means.append(value)
        masses.append(weight)
        lengths.append(1)
        while len(means) > 1 and means[-2] >= means[-1]:
            mass = masses[-2] + masses[-1]
            means[-2] = (means[-2] * masses[-2] + means[-1] * masses[-1]) / mass
            masses[-2] = mass
            lengths[-2] += lengths[-1]
            del means[-1], masses[-1], lengths[-1]
    return np.repeat(np.asarray(means, dtype=np.float64), lengths)


def _best_f1_threshold(score: Floats, own: NDArray[np.bool_]) -> float:
    support = int(own.sum())
    if support == 0:
        return NEUTRAL_THRESHOLD
    values, index = np.unique(score, return_inverse=True)
    found = np.cumsum(np.bincount(index)[::-1])[::-1]
    hits = np.cumsum(np.bincount(index, weights=own.astype(np.float64))[::-1])[::-1]
    f1 = 2 * hits / (found + support)
    best = int(np.flatnonzero(f1 >= f1.max() - 1e-12)[-1])
    below = float(values[best - 1]) if best else 0.0
    return (below + float(values[best])) / 2


def _golden_section(function: Any, low: float, high: float, steps: int = 60) -> float:
    ratio = (np.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(steps):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
    return float((low + high) / 2)
