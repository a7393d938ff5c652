"""What the report says in words, and that its drawings show the figures."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from orchard.tasks import task
from orchard.tasks.base import Answers
from tests.orchard.tasks.object_detection.reference import answered
from tests.orchard.tasks.object_detection.test_metrics import LABELS, answers_of, box

TASK = task("object_detection")


def told(answers: Answers, kind: str | None = None, **summary: Any) -> str:
    card = {
        "labels": list(answers.labels),
        "thresholds": {"default": 0.5, "per_class": dict.fromkeys(answers.labels, 0.5)},
    }
    found = TASK.findings(TASK.metrics(answers, card), card, summary)
    return "\n".join(one.text for one in found if kind in (None, one.kind))


def row_of(
    truth: str, said: str | None, count: int, side: float = 60, score: float = 0.9
) -> Answers:
    """`count` pictures with one object each, and one box on it, or none."""
    found = [] if said is None else [(LABELS.index(said), score, 0, 0, side)]
    return answers_of(*[([box(truth, 0, 0, side)], found)] * count)


def together(*parts: Answers) -> Answers:
    return Answers(
        LABELS,
        [answer for part in parts for answer in part.answers],
        [truth for part in parts for truth in part.truths],
    )


def test_a_perfect_model_has_nothing_to_mend() -> None:
    answers = together(row_of("cup", "cup", 20), row_of("plate", "plate", 20))
    assert "finds 40 of 40 objects (100 %)" in told(answers, "good")
    assert "All 2 classes are found well" in told(answers, "good")
    assert "right numbers in 100 %" in told(answers, "good")
    assert told(answers, "problem") == ""


@pytest.mark.parametrize("said", [None, "plate"])
def test_a_useless_model_is_never_passed_over_in_silence(said: str | None) -> None:
    text = told(row_of("cup", said, 30), "problem").splitlines()[0]
    assert "no use" in text and "Do not put it into service" in text
    good = together(row_of("cup", "cup", 28), row_of("cup", None, 2))
    assert "no use" not in told(good)


def test_a_weak_class_is_named_with_its_numbers() -> None:
    answers = together(
        row_of("cup", "cup", 30), row_of("plate", "plate", 5), row_of("plate", None, 7)
    )
    assert "Of “plate” only 5 of 12 objects are found" in told(answers, "problem")
    assert "Found well: “cup”" in told(answers, "good")
    assert "Most errors, 7 of 7, are objects that it does not see" in told(answers, "advice")


def test_the_commonest_error_comes_with_what_to_do() -> None:
    right = row_of("cup", "cup", 30)
    mixed = together(right, row_of("plate", "cup", 5), row_of("plate", "plate", 9))
    assert "called by the wrong name" in told(mixed, "advice")
    assert "mixes up “plate” with “cup”: 5 of 14" in told(mixed, "advice")
    false = answers_of(*[([], [(0, 0.9, 0, 0)])] * 6)
    assert "boxes where there is nothing" in told(together(right, false), "advice")
    beside = answers_of(*[([box("cup", 0, 0)], [(0, 0.9, 20, 0)])] * 6)
    assert "Draw the boxes of the training pictures tight" in told(
        together(right, beside), "advice"
    )
    twice = answers_of(*[([box("cup", 0, 0)], [(0, 0.9, 0, 0), (0, 0.8, 2, 0)])] * 6)
    assert "found twice" in told(together(right, twice), "advice")


def test_small_objects_loose_boxes_and_counting() -> None:
    small = together(row_of("cup", "cup", 20), row_of("cup", None, 12, side=20))
    assert "Small objects" in told(small, "advice")
    assert "off by 0.4 a picture" in told(small)
    loose = answers_of(*[([box("cup", 0, 0)], [(0, 0.9, 8, 4)])] * 20)
    assert "fit loosely" in told(loose, "advice")
    assert "Small objects" not in told(loose)


def test_thin_missing_and_outside_are_told() -> None:
    answers = row_of("cup", "cup", 4)
    assert "Fewer than 10 objects in the test pictures: “cup”" in told(answers)
    assert "no test picture with “plate”" in told(answers, "problem")
    fork = answers_of(([box("fork", 0, 0)], []))
    assert "never learnt: 1 object" in told(together(answers, fork), "problem")
    assert "Not one of 1 test picture" in told(fork, "problem")
    assert "More of “cup”" in told(answers, "advice", advice=["more of `cup`"])


@settings(max_examples=40, deadline=None)
@given(answered())
def test_words_and_drawings_come_of_any_figures(answers: Answers) -> None:
    card = {"labels": list(answers.labels), "thresholds": TASK.thresholds(answers, "accuracy")}
    metrics = TASK.metrics(answers, card)
    texts = [finding.text for finding in TASK.findings(metrics, card, {})]
    assert texts and all(text.endswith(".") and "None" not in text for text in texts)
    plots = TASK.plots(metrics, card)
    assert bool(plots) == (metrics["ap50"] is not None)
    for plot in plots:
        ElementTree.fromstring(f"<all>{plot.svg}</all>")
        assert "None" not in plot.svg and "nan" not in plot.svg
    table = TASK.class_table(metrics, card, {})
    assert [row[0] for row in table.rows] == list(answers.labels)
    assert {len(row) for row in table.rows} == {len(table.heads)}


def drawings(answers: Answers) -> dict[str, str]:
    card = {"thresholds": {"default": 0.3, "per_class": dict.fromkeys(LABELS, 0.3)}}
    plots = TASK.plots(TASK.metrics(answers, card), card)
    return {plot.title: plot.svg for plot in plots}


def test_drawings_show_the_numbers() -> None:
    answers = together(
        row_of("cup", "cup", 30),
        row_of("cup", None, 3),
        row_of("plate", "cup", 5),
        row_of("plate", "plate", 9),
    )
    shown = drawings(answers)
    assert "30 %" in shown["From which score on should a box count?"]
    mixed = shown["What is mixed up, missed and invented?"]
    for hint in ("cup → cup: 30 of 33", "cup → (missed): 3 of 33", "plate → cup: 5 of 14"):
        assert hint in mixed
    assert "missed: 3" in shown["What kinds of errors are there?"]
    assert "wrong class: 5" in shown["What kinds of errors are there?"]
    assert "none in the test" in shown["Does the size of an object matter?"]


def test_names_cannot_break_a_drawing() -> None:
    names = ("<b>&\"'", "x" * 90)
    answers = row_of("cup", "cup", 3)
    truths = [{"boxes": [{**truth["boxes"][0], "label": names[0]}]} for truth in answers.truths]
    card = {"thresholds": {"default": 0.3, "per_class": dict.fromkeys(names, 0.3)}}
    for plot in TASK.plots(TASK.metrics(Answers(names, answers.answers, truths), card), card):
        ElementTree.fromstring(f"<all>{plot.svg}</all>")
