"""A detector's plan: fixed work out of minutes, in the shape of the pictures."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchard.errors import BadInput
from orchard.preprocess import validate
from orchard.tasks.base import Ask
from orchard.tasks.costs import Costs
from orchard.tasks.object_detection.branching import ENOUGH_EPOCHS, MOST_EPOCHS, plan
from orchard.tasks.object_detection.sizes import SIDE_MULTIPLE, input_size

CARD: dict[str, Any] = {
    "kind": "maps",
    "title": "EfficientNet-Lite0",
    "sha256": "0123456789abcdef",
    "milliseconds_per_megapixel": 190.0,
    "normalisation": {"mean": [127.0] * 3, "scale": [128.0] * 3},
    "levels": [
        {"blocks": ["a"], "stride": 8, "channels": 40},
        {"blocks": ["b", "c"], "stride": 16, "channels": 192},
        {"blocks": ["d", "e"], "stride": 32, "channels": 512},
    ],
}


def asked(
    samples: int = 291,
    minutes: float = 10.0,
    size: tuple[int, int] = (640, 480),
    counts: dict[str, int] | None = None,
    cards: dict[str, Any] | None = None,
    share: float | None = None,
) -> Ask:
    counts = {"RBC": 280, "WBC": 270} if counts is None else counts
    return Ask(
        summary={"sizes": {"median": list(size)}, **({"object_share": share} if share else {})},
        labels=sorted(counts),
        counts=counts,
        samples=samples,
        seconds=max(0.2 * minutes * 60, minutes * 60 - 240),
        minutes=minutes,
        gpus=0,
        costs=Costs(),
        cards={"lite0-maps": CARD} if cards is None else cards,
        objective="accuracy",
        reasons=[],
    )


def _epochs(branch: dict[str, Any]) -> int:
    work = branch["work"]
    return int(work["members"] * sum(r["keep"] * r["epochs"] for r in work["rungs"]))


def test_ten_minutes_fit_into_ten_minutes() -> None:
    ask = asked()
    planned = plan(ask)
    assert planned.folds == 5
    (branch,) = planned.branches
    assert branch["prepare_seconds"] / 2 + branch["seconds"] <= ask.seconds
    assert branch["work"]["members"] == 2
    assert branch["work"]["processes"] == 2
    assert branch["feature_key"] == "lite0-maps-640x480-pad-p1-01234567"
    assert branch["work"]["rungs"][0]["epochs"] >= ENOUGH_EPOCHS
    assert ask.reasons


def test_the_input_lies_as_the_pictures_do() -> None:
    assert input_size(640, 480, 384 * 512) == (384, 512)
    assert input_size(480, 640, 384 * 512) == (512, 384)
    assert input_size(500, 500, 384 * 512) == (448, 448)


def test_small_pictures_are_not_blown_up_far() -> None:
    height, width = input_size(200, 200, 480 * 640)
    assert (height, width) == (320, 320)


@given(
    width=st.integers(1, 6000),
    height=st.integers(1, 6000),
    pixels=st.floats(100_000, 400_000),
)
def test_every_size_suits_the_strides(width: int, height: int, pixels: float) -> None:
    rows, columns = input_size(width, height, pixels)
    assert rows % SIDE_MULTIPLE == columns % SIDE_MULTIPLE == 0
    assert min(rows, columns) >= 2 * SIDE_MULTIPLE
    assert rows * columns <= 1.5 * pixels


@given(
    samples=st.integers(2, 20_000),
    minutes=st.floats(1, 240),
    size=st.tuples(st.integers(20, 4000), st.integers(20, 4000)),
)
def test_any_plan_is_whole(samples: int, minutes: float, size: tuple[int, int]) -> None:
    planned = plan(asked(samples, minutes, size))
    made = planned.branches
    assert planned.decode_seconds > 0
    assert len({branch["key"] for branch in made}) == len(made)
    for branch in made:
        validate(branch["preprocessing"])
        work = branch["work"]
        assert all(rung["keep"] >= 1 and rung["epochs"] >= 1 for rung in work["rungs"])
        assert work["rungs"][0]["keep"] == work["candidates"]
        assert sum(rung["epochs"] for rung in work["rungs"]) <= MOST_EPOCHS
        assert branch["views"][0] == "plain"
        assert work["mirrored"] == ("mirror" in branch["views"])


def test_more_minutes_give_more_work() -> None:
    work = []
    for minutes in (3.0, 10.0, 30.0, 120.0):
        made = plan(asked(minutes=minutes)).branches
        pixels = [
            branch["preprocessing"][0]["width"] * branch["preprocessing"][0]["height"]
            for branch in made
        ]
        work.append(sum(_epochs(b) * p for b, p in zip(made, pixels, strict=True)))
    assert work == sorted(work)
    assert work[0] < work[-1]


def test_features_of_many_pictures_stay_small() -> None:
    made = plan(asked(samples=10_000, minutes=20.0)).branches
    assert all(branch["views"] == ["plain"] for branch in made)
    assert not made[0]["work"]["mirrored"]


def test_no_boxes_or_no_backbone_are_refused() -> None:
    with pytest.raises(BadInput, match="pictures with boxes"):
        plan(asked(counts={"RBC": 0}))
    with pytest.raises(BadInput, match="feature maps"):
        plan(asked(cards={"lite0": {"kind": "pooled"}}))


def test_a_class_of_few_pictures_is_trained_and_the_plan_says_how_many_are_missing() -> None:
    ask = asked(counts={"RBC": 280, "Platelets": 3})
    assert plan(ask).branches
    (said,) = [reason for reason in ask.reasons if "Platelets" in reason]
    assert "only 3 pictures" in said and "2 more are needed" in said


def _tiles(ask: Ask) -> int:
    (first, *_) = plan(ask).branches[0]["preprocessing"]
    return int(first.get("columns", 1))


def test_large_objects_need_no_tiles() -> None:
    assert _tiles(asked(size=(3000, 2000), share=0.1)) == 1
    assert _tiles(asked(size=(3000, 2000))) == 1


def test_small_objects_in_large_pictures_are_looked_for_in_tiles_and_the_plan_says_why() -> None:
    ask = asked(size=(3000, 2000), share=0.015, minutes=20.0)
    (branch,) = plan(ask).branches
    tiles = branch["preprocessing"][0]
    assert tiles["operation"] == "tiles" and 2 <= tiles["columns"] == tiles["rows"] <= 4
    (said,) = [reason for reason in ask.reasons if "tiles" in reason]
    assert f"{tiles['columns']}×{tiles['columns']} tiles" in said and "every other object" in said
    assert "tiles" in branch["feature_key"] and "tiles" in branch["key"]
    assert branch["prepare_seconds"] / 2 + branch["seconds"] <= ask.seconds


def test_pictures_are_not_cut_where_they_have_no_more_detail() -> None:
    assert _tiles(asked(size=(300, 200), share=0.02, minutes=60.0)) == 1


def test_without_the_time_for_tiles_there_are_none_and_the_plan_says_so() -> None:
    ask = asked(samples=3000, size=(3000, 2000), share=0.01, minutes=4.0)
    assert _tiles(ask) == 1
    assert any("tiles would help" in reason for reason in ask.reasons)
