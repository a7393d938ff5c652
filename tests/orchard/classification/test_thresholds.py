"""Temperature and thresholds against searches by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

from orchard.classification import thresholds
from orchard.errors import BadInput
from orchard.tasks.base import Scores


def softmax(logits: np.ndarray) -> np.ndarray:
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def loss(logits: np.ndarray, truth: np.ndarray, temperature: float) -> float:
    scores = softmax(logits / temperature)
    return float(-np.log(scores[np.arange(len(truth)), truth] + 1e-300).mean())


def f1(own: np.ndarray, chosen: np.ndarray) -> float:
    return 2 * (own & chosen).sum() / (own.sum() + chosen.sum())


def noisy(seed: int, count: int = 400, classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    truth = random.integers(0, classes, count)
    logits = random.normal(size=(count, classes))
    logits[np.arange(count), truth] += 1.5
    return logits, truth


@pytest.mark.parametrize("factor", [0.3, 1.0, 4.0])
def test_temperature_is_where_the_loss_is_lowest(factor: float) -> None:
    logits, truth = noisy(1)
    found = thresholds.temperature(logits * factor, truth)
    at = loss(logits * factor, truth, found)
    assert all(
        at <= loss(logits * factor, truth, found * step) + 1e-9 for step in (0.9, 0.99, 1.01, 1.1)
    )


def test_temperature_undoes_a_scaling() -> None:
    logits, truth = noisy(2)
    once = thresholds.temperature(logits, truth)
    assert thresholds.temperature(logits * 3, truth) == pytest.approx(3 * once, rel=1e-3)


def test_temperature_stays_in_its_range_where_everything_is_right() -> None:
    logits = np.eye(3)[[0, 1, 2] * 5] * 10
    found = thresholds.temperature(logits, np.array([0, 1, 2] * 5))
    assert thresholds.TEMPERATURE_RANGE[0] <= found <= thresholds.TEMPERATURE_RANGE[1]
    assert thresholds.temperature(np.empty((0, 3)), np.empty(0, np.int64)) == 1.0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31))
def test_the_threshold_of_a_class_has_the_best_f1(seed: int) -> None:
    logits, truth = noisy(seed, count=40)
    scores = softmax(logits)
    chosen = thresholds.choose(
        Scores(("a", "b", "c", "d"), scores.astype(np.float32), truth), "accuracy"
    )
    for number, label in enumerate("abcd"):
        own = truth == number
        if not own.any():
            continue
        column = scores[:, number].astype(np.float32)
        best = max(f1(own, column >= limit) for limit in column)
        found = f1(own, column >= chosen["per_class"][label])
        assert found == pytest.approx(best)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 9)), min_size=1, max_size=40))
def test_isotonic_equals_scikit_learns(pairs: list[tuple[float, int]]) -> None:
    values = np.array([value for value, _ in pairs])
    weights = np.array([weight for _, weight in pairs], np.float64)
    expected = isotonic_regression(values, sample_weight=weights)
    assert thresholds.isotonic(values, weights) == pytest.approx(expected, abs=1e-9)


def test_not_sure_flags_what_is_wrong_more_often_than_one_in_four() -> None:
    # Answers of confidence 0.6 are right half of the time, those of 0.9 always.
    low = np.tile([0.6, 0.4], (20, 1))
    high = np.tile([0.9, 0.1], (60, 1))
    truth = np.array([0, 1] * 10 + [0] * 60)
    scores = Scores(("a", "b"), np.concatenate([low, high]).astype(np.float32), truth)
    assert thresholds.choose(scores, "accuracy")["not_sure"] == pytest.approx(0.9, abs=1e-4)


def test_not_sure_minds_the_weakest_class_where_that_is_the_objective() -> None:
    # Class b is right half of the time at 0.7, in all that hides behind the many of class a.
    many = np.tile([0.7, 0.3], (90, 1))
    weak = np.concatenate([np.tile([0.7, 0.3], (10, 1)), np.tile([0.2, 0.8], (200, 1))])
    truth = np.array([0] * 90 + [1] * 210)
    scores = Scores(("a", "b"), np.concatenate([many, weak]).astype(np.float32), truth)
    plain = thresholds.choose(scores, "accuracy")["not_sure"]
    worst = thresholds.choose(scores, "worst_class_recall")["not_sure"]
    assert plain == pytest.approx(0.7, abs=1e-4)
    assert worst == pytest.approx(0.8, abs=1e-4)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(thresholds.OBJECTIVES))
def test_at_most_half_is_flagged_and_the_result_is_the_same_again(
    seed: int, objective: str
) -> None:
    logits, truth = noisy(seed, count=50)
    scores = Scores(tuple("abcd"), softmax(logits * 0.2).astype(np.float32), truth)
    chosen = thresholds.choose(scores, objective)
    assert chosen == thresholds.choose(scores, objective)
    confidence = scores.scores.max(axis=1)
    assert (confidence < chosen["not_sure"] - 1e-6).mean() <= 0.5
    assert 0.25 <= chosen["not_sure"] <= 1


def test_a_class_without_sample_and_an_unknown_objective() -> None:
    scores = Scores(("a", "b"), np.array([[0.9, 0.1]], np.float32), np.array([0]))
    assert thresholds.choose(scores, "accuracy")["per_class"]["b"] == 0.5
    with pytest.raises(BadInput, match="objective"):
        thresholds.choose(scores, "beauty")
