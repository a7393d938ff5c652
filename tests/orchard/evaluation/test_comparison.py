"""Challenger against champion on common ground."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from orchard.errors import BadInput
from orchard.evaluation.comparison import Side, compare, mcnemar
from orchard.tasks import Answers, task

TASK = task("image_classification")


def answers(labels: tuple[str, ...], said: list[str], truth: list[str]) -> Side:
    scores = np.full((len(said), len(labels)), 0.1 / max(len(labels) - 1, 1), np.float32)
    scores[np.arange(len(said)), [labels.index(one) for one in said]] = 0.9
    return Side(Answers(labels, list(scores[:, None]), truth), {"labels": list(labels)})


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_equals_the_binomial_test(gained: int, lost: int) -> None:
    count = gained + lost
    expected = binomtest(gained, count, 0.5).pvalue if count else 1.0
    assert mcnemar(gained, lost) == pytest.approx(expected, rel=1e-6)


def test_mcnemar_of_many_does_not_overflow() -> None:
    assert 0 <= mcnemar(100_000, 90_000) < 1e-9


def test_the_same_labels_are_compared_on_everything() -> None:
    truth = ["a", "a", "b", "b"]
    found = compare(
        TASK,
        answers(("a", "b"), ["a", "a", "b", "a"], truth),
        answers(("b", "a"), ["a", "b", "a", "b"], truth),
    )
    assert found["common_samples"] == found["all_samples"] == 4
    assert (found["gained"], found["lost"]) == (2, 1)
    assert found["challenger"]["accuracy"] == 0.75
    assert found["champion"]["accuracy"] == 0.5


def test_a_new_class_is_left_out_of_the_comparison_and_named() -> None:
    truth = ["a", "b", "c", "c"]
    found = compare(
        TASK,
        answers(("a", "b", "c"), ["a", "c", "c", "c"], truth),
        answers(("a", "b"), ["a", "b", "a", "a"], truth),
    )
    assert found["common_samples"] == 2
    assert found["only_challenger"] == ["c"]
    assert found["only_champion"] == []
    assert found["challenger"]["accuracy"] == 0.5
    assert found["champion"]["accuracy"] == 1.0


def test_nothing_in_common_gives_no_figure() -> None:
    truth = ["a", "a"]
    found = compare(
        TASK, answers(("a", "b"), ["a", "b"], truth), answers(("c", "d"), ["c", "d"], truth)
    )
    assert found["common_samples"] == 0
    assert found["challenger"] is None
    assert found["p_value"] == 1.0


def test_different_samples_are_refused() -> None:
    with pytest.raises(BadInput):
        compare(TASK, answers(("a", "b"), ["a"], ["a"]), answers(("a", "b"), ["a"] * 2, ["a"] * 2))
