"""The recommended threshold is where finding and being right are best balanced."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from orchard.errors import BadInput
from orchard.tasks.base import Answers
from orchard.tasks.object_detection import metrics, thresholds
from tests.orchard.tasks.object_detection.reference import answered
from tests.orchard.tasks.object_detection.test_metrics import answers_of, box


@settings(max_examples=12, deadline=None)
@given(answered())
def test_no_score_is_a_better_threshold(answers: Answers) -> None:
    chosen = thresholds.choose(answers, "accuracy")
    best = _figure(answers, chosen["default"], "f1")
    for answer in answers.answers:
        for score in answer[:, 1].tolist():
            assert _figure(answers, score, "f1") <= best + 1e-9
    for label, own in chosen["per_class"].items():
        at_own = metrics.evaluate(answers, {"thresholds": {"default": own}})["per_class"][label]
        at_default = metrics.evaluate(answers, {"thresholds": chosen})["per_class"][label]
        assert (at_own["f1"] or 0) >= (at_default["f1"] or 0) - 1e-9


def _figure(answers: Answers, threshold: float, name: str) -> float:
    found: Any = metrics.evaluate(answers, {"thresholds": {"default": threshold}})[name]
    return float(found or 0)


CUPS = [box("cup", 0, 0), box("cup", 100, 0)]


def test_it_lies_in_the_middle_between_right_and_wrong() -> None:
    found = [(0, 0.8, 0, 0), (0, 0.6, 100, 0), (0, 0.2, 300, 300)]
    chosen = thresholds.choose(answers_of((CUPS, found)), "accuracy")
    assert chosen["default"] == pytest.approx(0.4)
    assert chosen["per_class"] == {"cup": pytest.approx(0.4), "plate": pytest.approx(0.4)}
    assert (chosen["iou"], chosen["least_score"], chosen["most_boxes"]) == (0.6, 0.01, 100)


def test_the_worst_class_can_decide() -> None:
    many = [box("cup", 100 * place, 0) for place in range(20)]
    sure = [(0, 0.9, 100 * place, 0) for place in range(20)]
    false = [(0, 0.5, 100 * place, 500) for place in range(6)]
    answers = answers_of(([*many, box("plate", 0, 200)], [*sure, *false, (1, 0.3, 0, 200)]))
    assert thresholds.choose(answers, "accuracy")["default"] > 0.5
    assert thresholds.choose(answers, "worst_class_recall")["default"] < 0.3


def test_a_model_without_a_right_box_gets_the_neutral_one() -> None:
    for answers in (answers_of(([box("cup", 0, 0)], [])), answers_of(([], [(0, 0.9, 0, 0)]))):
        assert thresholds.choose(answers, "accuracy")["default"] == 0.5
        assert thresholds.choose(answers, "worst_class_recall")["default"] == 0.5


def test_an_unknown_objective_is_refused() -> None:
    with pytest.raises(BadInput, match="objective"):
        thresholds.choose(answers_of(([], [])), "speed")
