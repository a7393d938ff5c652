"""Whether an answer is right, in words, and which is worst."""

from __future__ import annotations

from typing import Any

import numpy as np

from orchard.tasks import task
from orchard.tasks.base import Verdict

TASK = task("object_detection")
CARD = {"labels": ["cup", "plate"], "thresholds": {"default": 0.5}}


def box(label: str, left: float, side: float = 40, **more: Any) -> dict[str, Any]:
    return {"label": label, "left": left, "top": 0, "width": side, "height": side, **more}


def verdict(truth: list[dict[str, Any]], *found: tuple[float, ...]) -> Verdict:
    rows = [(number, score, left, 0, 40, 40) for number, score, left in found]
    return TASK.verdict(np.array(rows, np.float32).reshape(-1, 6), {"boxes": truth}, CARD)


def test_a_right_answer() -> None:
    truth = [box("cup", 0), box("cup", 100), box("plate", 200)]
    found = verdict(truth, (0, 0.9, 0), (0, 0.8, 102), (1, 0.9, 200), (1, 0.4, 400))
    assert found == Verdict(True, "2 cup, 1 plate", "2 cup, 1 plate", 0.0)
    assert verdict([]) == Verdict(True, "nothing", "nothing", 0.0)


def test_a_crowd_may_be_met_often_or_not_at_all() -> None:
    crowd = [box("cup", 0, 400, crowd=True)]
    assert verdict(crowd).right
    assert verdict(crowd, (0, 0.9, 0), (0, 0.8, 200)).right
    assert not verdict(crowd, (1, 0.9, 0)).right


def test_errors_are_named_with_their_numbers() -> None:
    truth = [box("cup", 0), box("cup", 100), box("plate", 200), box("cup", 300)]
    found = verdict(
        truth, (0, 0.9, 0), (0, 0.8, 1), (0, 0.7, 200), (1, 0.7, 500), (1, 0.6, 600), (0, 0.6, 325)
    )
    assert found.truth == "3 cup, 1 plate"
    assert found.said == (
        "missed 1 cup, took 1 plate for cup, invented 2 plate, placed badly 1 cup, found twice 1 cup"
    )
    assert not found.right


def test_confident_false_alarms_and_large_missed_objects_are_the_worst() -> None:
    sure, unsure = verdict([], (0, 0.95, 0)), verdict([], (0, 0.55, 0))
    large, small = verdict([box("cup", 0, 400)]), verdict([box("cup", 0, 10)])
    assert 1 >= sure.confidence > large.confidence > unsure.confidence > small.confidence > 0
    both = verdict([box("cup", 300, 10)], (0, 0.95, 0))
    assert both.confidence == sure.confidence
