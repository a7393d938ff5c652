"""When a plan lets a detector's backbone be trained, and with how much work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchard.tasks.object_detection.branching import choice_of, plan
from orchard.tasks.object_detection.fine_tuning import LEAST_EPOCHS, LEAST_SAMPLES, from_scratch
from tests.orchard.tasks.object_detection.test_branching import CARD, asked


def tuned(**changes: Any) -> list[dict[str, Any]]:
    planned = plan(replace(asked(), **changes))
    return [branch for branch in planned.branches if branch["mode"] == "fine_tuned"]


def test_features_stay_frozen_in_few_minutes_on_cores_and_the_plan_says_why() -> None:
    ask = asked()
    assert all(branch["mode"] == "frozen" for branch in plan(ask).branches)
    assert any("the backbone stays as it is" in reason for reason in ask.reasons)


def test_a_gpu_trains_the_whole_backbone_beside_the_frozen_branch() -> None:
    ask = replace(asked(), gpus=1)
    frozen, branch = plan(ask).branches
    assert frozen["mode"] == "frozen" and frozen["work"] == plan(asked()).branches[0]["work"]
    assert branch["gpus"] == 1 and branch["feature_key"] == ""
    assert branch["work"]["frozen_to"] == "" and branch["work"]["weights"] == "pretrained"
    assert branch["work"]["rungs"][0]["epochs"] >= LEAST_EPOCHS
    assert branch["seconds"] <= ask.seconds
    assert any("whole backbone" in reason for reason in ask.reasons)


def test_hours_on_cores_train_the_last_blocks() -> None:
    ask = replace(asked(minutes=240.0))
    frozen, branch = plan(ask).branches
    assert frozen["mode"] == "frozen"
    assert branch["work"]["frozen_to"] == CARD["levels"][-2]["blocks"][-1]
    assert branch["gpus"] == 0 and branch["seconds"] <= ask.seconds


@pytest.mark.parametrize("samples", [3, LEAST_SAMPLES - 1])
def test_few_pictures_never_train_a_backbone(samples: int) -> None:
    assert not tuned(samples=samples, gpus=1)
    assert not tuned(samples=samples, minutes=240.0, seconds=14_000.0)


def test_from_scratch_the_same_detector_has_the_search_s_whole_time() -> None:
    ask = asked()
    choice = choice_of(ask, CARD, 320, 416)
    branch = from_scratch(ask, choice, "lite0-maps", CARD)
    assert branch["work"]["weights"] == "random" and branch["work"]["frozen_to"] == ""
    assert branch["work"]["threads"] == ask.costs.cores
    assert 0.6 * ask.seconds <= branch["seconds"] <= ask.seconds
