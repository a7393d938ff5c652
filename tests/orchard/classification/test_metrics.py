"""The figures equal scikit-learn's, whatever the scores."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as reference

from orchard.classification import metrics
from orchard.errors import BadInput
from orchard.tasks.base import Scores


@st.composite
def scored(draw: st.DrawFn) -> Scores:
    """Scores of 1 to 60 samples over 2 to 8 classes; often rounded, so that ties occur."""
    classes = draw(st.integers(2, 8))
    count = draw(st.integers(1, 60))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    logits = random.normal(size=(count, classes)) * draw(st.sampled_from([0.5, 3.0, 20.0]))
    scores = np.exp(logits - logits.max(axis=1, keepdims=True))
    scores /= scores.sum(axis=1, keepdims=True)
    if draw(st.booleans()):
        scores = np.round(scores * 10) + 1
        scores /= scores.sum(axis=1, keepdims=True)
    truth = random.integers(0, draw(st.integers(1, classes)), count)
    labels = tuple(f"class {number}" for number in range(classes))
    return Scores(labels, scores.astype(np.float32), truth.astype(np.int64))


@settings(max_examples=150, deadline=None)
@given(scored())
def test_figures_equal_those_of_scikit_learn(scores: Scores) -> None:
    found = metrics.evaluate(scores)
    truth, answer = scores.truth, scores.scores.argmax(axis=1)
    present = np.unique(truth)
    classes = np.arange(len(scores.labels))
    assert found["accuracy"] == pytest.approx(reference.accuracy_score(truth, answer))
    for name, average in (("macro_precision", 0), ("macro_recall", 1), ("macro_f1", 2)):
        expected = reference.precision_recall_fscore_support(
            truth, answer, labels=present, average="macro", zero_division=0
        )[average]
        assert found[name] == pytest.approx(expected)
    precision, recall, f1, support = reference.precision_recall_fscore_support(
        truth, answer, labels=classes, zero_division=0
    )
    for number, label in enumerate(scores.labels):
        row = found["per_class"][label]
        assert row["precision"] == pytest.approx(precision[number])
        assert row["recall"] == pytest.approx(recall[number])
        assert row["f1"] == pytest.approx(f1[number])
        assert row["support"] == support[number]
    assert found["worst_class_recall"] == pytest.approx(recall[present].min())
    matrix = reference.confusion_matrix(truth, answer, labels=classes)
    assert found["confusion"]["matrix"] == matrix.tolist()
    own = np.clip(scores.scores, np.finfo(np.float32).eps, 1 - np.finfo(np.float32).eps)
    expected_loss = -np.log(own[np.arange(len(truth)), truth].astype(np.float64)).mean()
    assert found["log_loss"] == pytest.approx(expected_loss, rel=1e-5)
    json.dumps(found, allow_nan=False)


@settings(max_examples=60, deadline=None)
@given(scored())
def test_log_loss_and_top_5_equal_those_of_scikit_learn_without_ties(scores: Scores) -> None:
    random = np.random.default_rng(1)
    smooth = scores.scores.astype(np.float64) + random.uniform(1e-6, 1e-3, scores.scores.shape)
    smooth /= smooth.sum(axis=1, keepdims=True)
    classes = np.arange(len(scores.labels))
    assert metrics.log_loss(smooth, scores.truth) == pytest.approx(
        reference.log_loss(scores.truth, smooth, labels=classes), rel=1e-4
    )
    if len(classes) > 5:
        expected = reference.top_k_accuracy_score(scores.truth, smooth, k=5, labels=classes)
        assert metrics.top_k_accuracy(smooth, scores.truth, 5) == pytest.approx(expected)
    else:
        assert metrics.top_k_accuracy(smooth, scores.truth, 5) == 1.0


@settings(max_examples=20, deadline=None)
@given(scored())
def test_curves_equal_scikit_learns_figures_at_each_threshold(scores: Scores) -> None:
    found = metrics.evaluate(scores)["curves"]
    for number, label in enumerate(scores.labels):
        own = (scores.truth == number).astype(int)
        for at in (7, 50, 93):
            chosen = (
                scores.scores[:, number].astype(np.float64) >= found["thresholds"][at]
            ).astype(int)
            row = found["per_class"][label]
            if chosen.any():
                expected = reference.precision_score(own, chosen, zero_division=0)
                assert row["precision"][at] == pytest.approx(expected)
            else:
                assert row["precision"][at] is None
            if own.any():
                assert row["recall"][at] == pytest.approx(reference.recall_score(own, chosen))
                assert row["f1"][at] == pytest.approx(reference.f1_score(own, chosen))
            else:
                assert row["recall"][at] is None


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share_and_solves_its_equation(pair: tuple[int, int]) -> None:
    hits, count = pair
    interval = metrics.wilson(hits, count)
    assert interval is not None
    low, high = interval
    share = hits / count
    assert 0 <= low <= share <= high <= 1
    for end in interval:
        if 1e-9 < end < 1 - 1e-9:
            deviation = abs(share - end) / math.sqrt(end * (1 - end) / count)
            assert deviation == pytest.approx(metrics.Z_95, rel=1e-6)


def test_wilson_of_a_known_case() -> None:
    assert metrics.wilson(9, 10) == pytest.approx([0.5958, 0.9821], abs=1e-4)
    assert metrics.wilson(0, 0) is None


def test_f1_interval_holds_f1() -> None:
    interval = metrics.f1_interval(30, 42)
    assert interval is not None
    assert interval[0] < 2 * 30 / (30 + 42) < interval[1]


def test_calibration_error_of_a_known_case() -> None:
    confidence = np.array([0.9] * 10 + [0.6] * 10)
    right = np.array([True] * 9 + [False] + [True] * 3 + [False] * 7)
    error, bins = metrics.calibration(confidence, right)
    assert error == pytest.approx(0.15)
    assert sum(row["count"] for row in bins) == 20


def test_a_class_without_test_sample_is_named_and_left_out_of_averages() -> None:
    scores = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1]], np.float32)
    found = metrics.evaluate(Scores(("a", "b", "c"), scores, np.array([0, 1])))
    assert found["missing_classes"] == ["c"]
    assert found["macro_recall"] == found["worst_class_recall"] == 1.0
    assert found["per_class"]["c"]["recall_interval"] is None


def test_samples_of_unknown_classes_take_no_part() -> None:
    scores = np.array([[0.8, 0.2], [0.9, 0.1]], np.float32)
    found = metrics.evaluate(Scores(("a", "b"), scores, np.array([0, -1])))
    assert found["samples"] == 1
    assert found["outside"] == 1
    assert found["accuracy"] == 1.0


def test_one_sample_is_enough() -> None:
    found = metrics.evaluate(Scores(("a", "b"), np.array([[0.4, 0.6]], np.float32), np.array([0])))
    assert found["accuracy"] == 0.0
    assert found["accuracy_interval"][1] > 0.7


@pytest.mark.parametrize(
    ("scores", "truth"),
    [
        (np.empty((0, 2), np.float32), np.empty(0, np.int64)),
        (np.ones((1, 2), np.float32), np.array([-1])),
        (np.ones((1, 3), np.float32), np.array([0])),
        (np.array([[np.nan, 1]], np.float32), np.array([0])),
        (np.ones((1, 2), np.float32), np.array([2])),
    ],
)
def test_what_cannot_be_measured_is_refused(scores: np.ndarray, truth: np.ndarray) -> None:
    with pytest.raises(BadInput):
        metrics.evaluate(Scores(("a", "b"), scores, truth))


def test_answers_held_back() -> None:
    found = metrics.answered(np.array([0.3, 0.6, 0.9]), np.array([False, True, True]))
    assert found["share"][0] == 1.0
    assert found["accuracy"][50] == 1.0
    assert found["share"][50] == pytest.approx(2 / 3)
    assert found["accuracy"][100] is None
