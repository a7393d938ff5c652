"""The figures equal pycocotools', whatever the boxes, and fit to each other."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from orchard.errors import BadInput
from orchard.tasks.base import Answers
from orchard.tasks.object_detection import metrics, thresholds
from orchard.tasks.object_detection.boxes import truth_of
from orchard.tasks.object_detection.precision import average_precision, match_class
from tests.orchard.tasks.object_detection.reference import answered, coco

LABELS = ("cup", "plate")


def box(label: str, left: float, top: float, side: float = 40, **more: Any) -> dict[str, Any]:
    return {"label": label, "left": left, "top": top, "width": side, "height": side, **more}


def answers_of(*pictures: tuple[list[dict[str, Any]], list[tuple[float, ...]]]) -> Answers:
    """Pictures as (truth boxes, rows of (class, score, left, top[, side]))."""
    rows = [[(*row[:4], *(row[4:] or (40,)) * 2) for row in found] for _, found in pictures]
    return Answers(
        LABELS,
        [np.array(one, np.float32).reshape(-1, 6) for one in rows],
        [{"boxes": truth} for truth, _ in pictures],
    )


def at(answers: Answers, threshold: float) -> dict[str, Any]:
    return metrics.evaluate(answers, {"thresholds": {"default": threshold}})


@settings(max_examples=100, deadline=None)
@given(answered())
def test_average_precision_equals_pycocotools(answers: Answers) -> None:
    found, expected = metrics.evaluate(answers, {}), coco(answers)
    for name in ("ap", "ap50", "ap75"):
        assert found[name] == pytest.approx(expected[name], abs=1e-9)
    for label, row in found["per_class"].items():
        assert (row["ap"], row["ap50"]) == pytest.approx(expected["per_class"][label], abs=1e-9)
    for size in ("small", "medium", "large"):
        assert found["by_size"][size]["ap"] == pytest.approx(expected[f"ap_{size}"], abs=1e-9)
    occurring = [ap50 for _, ap50 in expected["per_class"].values() if ap50 is not None]
    assert found["worst_class_ap50"] == pytest.approx(min(occurring, default=None), abs=1e-9)
    json.dumps(found, allow_nan=False)


def test_more_than_a_hundred_boxes_of_a_class_count_as_in_pycocotools() -> None:
    random = np.random.default_rng(3)
    places = random.uniform(0, 2000, (130, 2))
    truth = [box("cup", x, y) for x, y in places.tolist()]
    rows = [(0, score, x, y) for (x, y), score in zip(places, random.random(130), strict=True)]
    answers = answers_of((truth, rows))
    assert at(answers, 0.5)["ap"] == pytest.approx(coco(answers)["ap"])
    assert at(answers, 0.5)["ap"] < 0.8


@settings(max_examples=60, deadline=None)
@given(answered())
def test_figures_fit_to_each_other(answers: Answers) -> None:
    chosen = thresholds.choose(answers, "accuracy")
    found = metrics.evaluate(answers, {"thresholds": chosen})
    matrix = np.array(found["confusion"]["matrix"])
    rows = list(found["per_class"].values())
    assert matrix[:-1].sum(axis=1).tolist() == [row["support"] for row in rows]
    assert matrix[:, :-1].sum(axis=0).tolist() == [row["found"] for row in rows]
    assert np.diag(matrix)[:-1].tolist() == [row["hits"] for row in rows]
    assert matrix[-1, -1] == 0
    assert found["boxes"] == sum(row["support"] for row in rows)
    hits = sum(row["hits"] for row in rows)
    wrong = sum(row["found"] for row in rows) - hits
    assert sum(found["errors"].values()) - found["errors"]["missed"] == wrong
    # Objects on the edge between two sizes count in both.
    assert sum(row["hits"] for row in found["by_size"].values()) >= hits
    # No threshold of the curve is better than the recommended one.
    curve = [value for value in found["curves"]["overall"]["f1"] if value is not None]
    assert max(curve, default=0) <= (found["f1"] or 0) + 1e-9
    assert len(found["curves"]["thresholds"]) <= 100


def test_each_kind_of_error_is_told_apart() -> None:
    truth = [box("cup", 0, 0), box("cup", 100, 0), box("plate", 200, 0), box("plate", 300, 0)]
    found = [
        (0, 0.9, 0, 0),  # right
        (0, 0.8, 2, 0),  # double
        (0, 0.9, 125, 0),  # badly placed: a share of 15 / 65 of the second cup
        (0, 0.7, 201, 0),  # wrong class
        (1, 0.6, 500, 300),  # invented
        (0, 0.6, 320, 20),  # wrong class and badly placed: a seventh of the last plate
        (1, 0.2, 300, 0),  # below the threshold
    ]
    figures = at(answers_of((truth, found)), 0.5)
    assert figures["errors"] == {
        "missed": 1,
        "invented": 1,
        "wrong_class": 1,
        "badly_placed": 1,
        "double": 1,
        "wrong_class_and_badly_placed": 1,
    }
    assert figures["confusion"]["matrix"] == [[1, 0, 1], [1, 0, 1], [3, 1, 0]]
    assert (figures["precision"], figures["recall"]) == pytest.approx((1 / 6, 1 / 4))
    assert figures["f1"] == pytest.approx(0.2)


def test_counting() -> None:
    figures = at(
        answers_of(
            ([box("cup", 0, 0), box("cup", 100, 0)], [(0, 0.9, 0, 0)]),
            ([box("cup", 0, 0)], [(0, 0.9, 300, 300)]),  # a wrong place, the right number
            ([], [(0, 0.9, 0, 0), (0, 0.8, 200, 0), (1, 0.3, 0, 0)]),
            ([box("plate", 0, 0, 400, crowd=True)], [(1, 0.9, 0, 0), (0, 0.9, 300, 300)]),
        ),
        0.5,
    )
    cup, plate = figures["per_class"]["cup"], figures["per_class"]["plate"]
    assert (cup["count_error"], cup["count_right"]) == (1.0, 0.25)
    # A crowd's number is not known: the fourth picture says nothing about plates.
    assert (plate["count_error"], plate["count_right"]) == (0.0, 1.0)
    assert figures["counts"]["right"] == pytest.approx(1 / 3)


def test_pictures_without_objects_or_labels() -> None:
    empty = at(answers_of(([], []), ([], [(0, 0.9, 0, 0)])), 0.5)
    assert empty["ap50"] is empty["worst_class_ap50"] is empty["recall"] is None
    assert (empty["samples"], empty["boxes"], empty["precision"]) == (2, 0, 0.0)
    assert empty["missing_classes"] == list(LABELS)
    half = answers_of(([box("cup", 0, 0)], [(0, 0.9, 0, 0)]), ([], [(0, 0.9, 0, 0)]))
    unlabelled = Answers(LABELS, half.answers, [half.truths[0], None])
    assert at(unlabelled, 0.5)["samples"] == 1
    assert at(unlabelled, 0.5)["precision"] == 1.0
    with pytest.raises(BadInput, match="no sample"):
        at(Answers(LABELS, half.answers, [None, None]), 0.5)


def test_boxes_of_a_class_that_the_model_does_not_know_are_outside() -> None:
    figures = at(answers_of(([box("cup", 0, 0), box("fork", 90, 0)], [(0, 0.9, 0, 0)])), 0.5)
    assert (figures["outside"], figures["boxes"], figures["recall"]) == (1, 1, 1.0)


@pytest.mark.parametrize(
    "row", [[2, 0.5, 0, 0, 1, 1], [-1, 0.5, 0, 0, 1, 1], [0, np.nan, 0, 0, 1, 1]]
)
def test_answers_that_cannot_be_are_refused(row: list[float]) -> None:
    with pytest.raises(BadInput):
        at(Answers(LABELS, [np.array([row], np.float32)], [{"boxes": []}]), 0.5)


def test_support_is_that_of_the_figure() -> None:
    answers = answers_of(
        ([box("cup", 0, 0), box("cup", 100, 0), box("plate", 200, 0)], [(0, 0.9, 0, 0)]),
        ([box("plate", 0, 0), box("plate", 200, 0)], [(1, 0.9, 0, 0), (1, 0.8, 200, 0)]),
        ([], []),
    )
    assert metrics.support(answers, "accuracy") == 3
    assert metrics.support(answers, "worst_class_recall") == 2  # the cups
    assert metrics.support(answers_of(([], [])), "worst_class_recall") == 0


def test_a_class_without_truth_has_no_average() -> None:
    truths = [truth_of({"boxes": []}, LABELS)]
    assert average_precision(match_class(0, [np.zeros((0, 6), np.float32)], truths)) is None
