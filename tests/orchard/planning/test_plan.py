from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchard.errors import BadInput
from orchard.planning import Costs, make

SIZES = {"median": [640, 480]}


def cards() -> dict[str, dict[str, Any]]:
    return {
        f"efficientnet-lite{number}": {
            "name": f"efficientnet-lite{number}",
            "title": f"EfficientNet-Lite{number}",
            "sha256": str(number) * 64,
            "feature_count": 4048,
            "milliseconds_per_megapixel": milliseconds,
            "normalisation": {"mean": [127.0] * 3, "scale": [128.0] * 3},
        }
        for number, milliseconds in enumerate((195.0, 252.0, 295.0))
    }


def summary(per_class: int = 80, classes: int = 10, validation: int = 0) -> dict[str, Any]:
    labels = {
        f"class {number:02d}": {"train": per_class, "validation": validation, "test": 20}
        for number in range(classes)
    }
    return {
        "labels": labels,
        "splits": {"train": per_class * classes, "validation": validation * classes},
        "sizes": SIZES,
    }


def plan(minutes: float = 5, given: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    parameters = {"task": "image_classification", "minutes": minutes, "objective": "accuracy"}
    return make(
        given if given is not None else summary(),
        parameters,
        cards(),
        dataset="clothing",
        version="0123456789abcdef",
        **more,
    )


def test_five_minutes_and_a_thousand_pictures_leave_time_for_the_rest() -> None:
    made = plan(5)
    assert 100 <= sum(made["seconds"].values()) <= 300 - 60
    assert len(made["branches"]) >= 3
    assert len({branch["key"] for branch in made["branches"]}) == len(made["branches"])
    assert len({branch["backbone"] for branch in made["branches"]}) == 3
    assert made["folds"] == 5
    assert made["labels"] == sorted(made["labels"])
    assert made["branches"][0]["feature_key"] == "efficientnet-lite0-224-squash-p1-00000000"


def test_a_plan_says_why_in_words_and_is_plain_json() -> None:
    made = plan()
    assert json.loads(json.dumps(made)) == made
    text = " ".join(made["reasons"])
    for word in ("800 samples", "10 classes", "5 minutes", "pixels", "candidates"):
        assert word in text


@given(
    minutes=st.integers(1, 240),
    per_class=st.integers(1, 3000),
    classes=st.integers(2, 40),
    gpus=st.integers(0, 2),
)
def test_every_plan_can_be_followed(minutes: int, per_class: int, classes: int, gpus: int) -> None:
    made = plan(minutes, summary(per_class, classes), gpus=gpus)
    assert made == plan(minutes, summary(per_class, classes), gpus=gpus)
    for branch in made["branches"]:
        assert branch["size"] % 32 == 0
        assert branch["views"][0] == "plain"
        assert branch["mode"] in ("frozen", "fine_tuned")
        rungs = branch["work"]["rungs"]
        assert rungs[0]["keep"] == branch["work"]["candidates"]
        keeps = [rung["keep"] for rung in rungs]
        assert keeps == sorted(keeps, reverse=True)
        assert all(rung["epochs"] > 0 for rung in rungs)
        assert branch["seconds"] > 0
        if branch["mode"] == "fine_tuned":
            assert branch["work"]["fine_tune_epochs"] > 0
            assert branch["work"]["unfrozen_blocks"] > 0


@given(small=st.integers(1, 120), more=st.integers(1, 120))
def test_more_minutes_are_never_less_work(small: int, more: int) -> None:
    def work(minutes: int) -> float:
        made = plan(minutes)
        return sum(branch["prepare_seconds"] for branch in made["branches"])

    assert work(small) <= work(small + more) + 1e-9


def test_small_pictures_are_not_blown_up_far() -> None:
    tiny = {**summary(), "sizes": {"median": [85, 85]}}
    assert max(branch["size"] for branch in plan(5, tiny)["branches"]) <= 224


def test_long_pictures_are_padded_and_the_reason_says_so() -> None:
    made = plan(5, {**summary(), "sizes": {"median": [1600, 400]}})
    assert {branch["fit"] for branch in made["branches"]} == {"pad"}
    assert any("4.0 times as long" in reason for reason in made["reasons"])


def test_fine_tuning_is_chosen_where_time_or_a_gpu_allow_it() -> None:
    def tuned(made: dict[str, Any]) -> list[str]:
        return [b["key"] for b in made["branches"] if b["mode"] == "fine_tuned"]

    assert tuned(plan(5)) == []
    assert len(tuned(plan(60))) == 1
    assert len(tuned(plan(10, gpus=1))) == 1


def test_large_classes_are_validated_on_a_part_only() -> None:
    assert plan(30, summary(1000, 3))["folds"] == 0
    assert plan(30, summary(1000, 3, validation=100))["folds"] == 0
    mixed = summary(1000, 3)
    mixed["labels"]["rare"] = {"train": 12, "validation": 0, "test": 3}
    assert plan(30, mixed)["folds"] == 5


def test_classes_that_cannot_be_trained_are_left_out() -> None:
    given_summary = summary(80, 3)
    given_summary["labels"]["only tested"] = {"train": 0, "validation": 0, "test": 4}
    assert "only tested" not in plan(5, given_summary)["labels"]


@pytest.mark.parametrize("minutes", [0, 241, -5])
def test_minutes_out_of_range_are_refused(minutes: int) -> None:
    with pytest.raises(BadInput, match="1 to 240 minutes"):
        plan(minutes)


def test_one_class_is_not_enough() -> None:
    with pytest.raises(BadInput, match="at least two classes"):
        plan(5, summary(50, 1))


def test_slower_machines_get_less() -> None:
    one = plan(5, costs=Costs(cores=1))
    assert sum(b["prepare_seconds"] for b in one["branches"]) < sum(
        b["prepare_seconds"] for b in plan(5)["branches"]
    )


def test_a_slow_machine_gets_less_work_and_its_own_times() -> None:
    quick, slow = plan(3), plan(3, costs=Costs(core_speed=0.4))
    work = [sum(b["work"]["candidates"] for b in each["branches"]) for each in (quick, slow)]
    assert work[1] < work[0]
    assert sum(slow["seconds"].values()) <= 180
    assert "0.4 times the speed" in " ".join(slow["reasons"])
    assert "times the speed" not in " ".join(quick["reasons"])
    half, twin = plan(10, costs=Costs(core_speed=0.5)), plan(5)
    assert [each["work"] for each in half["branches"]] == [
        each["work"] for each in twin["branches"]
    ]
    for here, there in zip(half["branches"], twin["branches"], strict=True):
        assert here["seconds"] == pytest.approx(2 * there["seconds"], abs=0.01)
