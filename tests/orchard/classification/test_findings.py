"""What the report says in words, and that its drawings show the figures."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchard.classification.metrics import evaluate
from orchard.tasks import task
from orchard.tasks.base import Scores

TASK = task("image_classification")


def scores_of(labels: tuple[str, ...], pairs: list[tuple[str, str, int]], sure: float) -> Scores:
    """Scores of (truth, answer, how often), every answer with the same confidence."""
    truth, rows = [], []
    for own, answer, count in pairs:
        row = np.full(len(labels), (1 - sure) / (len(labels) - 1))
        row[labels.index(answer)] = sure
        truth += [labels.index(own) if own in labels else -1] * count
        rows += [row] * count
    return Scores(labels, np.array(rows, np.float32), np.array(truth, np.int64))


def texts(scores: Scores, kind: str | None = None, not_sure: float = 0.5, **summary: Any) -> str:
    card = {"thresholds": {"per_class": dict.fromkeys(scores.labels, 0.5), "not_sure": not_sure}}
    found = TASK.findings(evaluate(scores), card, summary)
    return "\n".join(one.text for one in found if kind in (None, one.kind))


LABELS = ("dent", "fine", "scratch")
MIXED = [("dent", "dent", 19), ("dent", "fine", 1), ("fine", "fine", 40)] + [
    ("scratch", "scratch", 5),
    ("scratch", "dent", 7),
]


def test_a_mix_up_is_told_with_its_numbers_and_what_to_do() -> None:
    scores = scores_of(LABELS, MIXED, 0.9)
    assert "mixes up “scratch” with “dent”: 7 of 12" in texts(scores, "advice")
    assert "“scratch” is found in only 5 of its 12" in texts(scores, "problem")
    assert "“fine”" in texts(scores, "good")
    assert "“dent” with “fine”" not in texts(scores)  # one of twenty is no pattern


def test_a_perfect_model_has_nothing_to_mend() -> None:
    scores = scores_of(LABELS, [(label, label, 20) for label in LABELS], 0.97)
    assert "60 are answered right (100 %)" in texts(scores)
    assert "All 3 classes" in texts(scores)
    assert texts(scores, "problem") == ""


def test_confidence_is_judged_in_words() -> None:
    assert "honest" in texts(scores_of(LABELS, [("dent", "dent", 90), ("fine", "dent", 10)], 0.9))
    assert "too sure" in texts(scores_of(LABELS, [("dent", "dent", 50), ("fine", "dent", 50)], 0.9))
    assert "too modest" in texts(scores_of(LABELS, [("dent", "dent", 50)], 0.6))


def test_thin_missing_and_unknown_classes_are_named() -> None:
    said = texts(
        scores_of(LABELS, [("dent", "dent", 30), ("fine", "fine", 3), ("new", "fine", 4)], 0.9)
    )
    assert "no test picture of “scratch”" in said
    assert "Fewer than 10 test pictures: “fine”" in said
    assert "never learnt: 4 test pictures" in said


def test_advice_of_the_data_is_passed_on() -> None:
    scores = scores_of(LABELS, MIXED, 0.9)
    assert "12 more of “scratch”, please." in texts(scores, advice=["12 more of `scratch`, please"])


def test_held_back_answers_are_counted() -> None:
    pairs = (
        scores_of(LABELS, [("dent", "dent", 75)], 0.95),
        scores_of(LABELS, [("fine", "dent", 25)], 0.6),
    )
    both = Scores(
        LABELS,
        np.concatenate([one.scores for one in pairs]),
        np.concatenate([one.truth for one in pairs]),
    )
    said = texts(both, not_sure=0.8)
    assert "Below a confidence of 80 %" in said
    assert "about 25 % of the answers" in said
    assert "Of the others 100 % are right" in said


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 40), st.integers(1, 80))
def test_words_and_drawings_come_of_any_figures(seed: int, classes: int, count: int) -> None:
    random = np.random.default_rng(seed)
    labels = tuple(f"<class & {'long ' * (n % 8)}{n}>" for n in range(classes))
    scores = random.dirichlet(np.full(classes, 0.3), count).astype(np.float32)
    truth = random.integers(-1, classes, count)
    truth[0] = 0
    found = evaluate(Scores(labels, scores, truth))
    card = {"thresholds": {"per_class": dict.fromkeys(labels, 0.3), "not_sure": 0.6}}
    assert TASK.findings(found, card, {})
    plots = TASK.plots(found, card)
    assert len({plot.title for plot in plots}) == len(plots) >= 4
    for plot in plots:
        root = ElementTree.fromstring(f"<div>{plot.svg}</div>")
        assert all(child.tag == "svg" for child in root)
        for element in root.iter():
            for name in ("x", "y", "width", "height", "cx", "cy"):
                assert float(element.get(name, "0")) == pytest.approx(float(element.get(name, "0")))


def test_the_heat_map_shows_the_counts() -> None:
    scores = scores_of(LABELS, MIXED, 0.9)
    card = {"thresholds": {"per_class": dict.fromkeys(LABELS, 0.5), "not_sure": 0.5}}
    drawing = TASK.plots(evaluate(scores), card)[1].svg
    assert "scratch → dent: 7 of 12" in drawing
    assert "fine → fine: 40 of 40" in drawing
