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
    best = _figure(answers, chosen["default"], chosen["across"])
    for answer in answers.answers:
        for score in answer[:, 1].tolist():
            for across in thresholds.ACROSS:
                assert _figure(answers, score, across) <= best + 1e-9
    for label, own in chosen["per_class"].items():
        at_own = metrics.evaluate(answers, {"thresholds": {**chosen, "default": own}})
        at_own = at_own["per_class"][label]
        at_default = metrics.evaluate(answers, {"thresholds": chosen})["per_class"][label]
        assert (at_own["f1"] or 0) >= (at_default["f1"] or 0) - 1e-9


def _figure(answers: Answers, threshold: float, across: float | None) -> float:
    card = {"thresholds": {"default": threshold, "across": across}}
    found: Any = metrics.evaluate(answers, card)["f1"]
    return float(found or 0)


CUPS = [box("cup", 0, 0), box("cup", 100, 0)]


def test_it_lies_in_the_middle_between_right_and_wrong() -> None:
    found = [(0, 0.8, 0, 0), (0, 0.6, 100, 0), (0, 0.2, 300, 300)]
    chosen = thresholds.choose(answers_of((CUPS, found)), "accuracy")
    assert chosen["default"] == pytest.approx(0.4)
    assert chosen["per_class"] == {"cup": pytest.approx(0.4), "plate": pytest.approx(0.4)}
    assert (chosen["iou"], chosen["least_score"], chosen["most_boxes"]) == (0.6, 0.01, 100)


def test_where_objects_never_share_a_place_one_box_of_whatever_class_counts() -> None:
    found = [(0, 0.8, 0, 0), (1, 0.7, 1, 0), (0, 0.6, 100, 0), (1, 0.5, 100, 1)]
    answers = answers_of((CUPS, found))
    chosen = thresholds.choose(answers, "accuracy")
    assert chosen["across"] == thresholds.ACROSS[1]
    assert _figure(answers, chosen["default"], chosen["across"]) == 1.0
    assert _figure(answers, chosen["default"], None) < 1.0


def test_where_objects_share_places_all_their_boxes_count() -> None:
    both = [box("cup", 0, 0), box("plate", 1, 0)]
    answers = answers_of((both, [(0, 0.8, 0, 0), (1, 0.7, 1, 0)]))
    chosen = thresholds.choose(answers, "accuracy")
    assert chosen["across"] is None
    assert _figure(answers, chosen["default"], None) == 1.0


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
