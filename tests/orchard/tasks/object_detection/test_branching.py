"""A detector's plan: fixed work out of minutes, in the shape of the pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchard.errors import BadInput
from orchard.preprocess import validate
from orchard.tasks.object_detection.branching import (
    MOST_EPOCHS,
    SIDE_MULTIPLE,
    branches,
    input_size,
)


@dataclass(frozen=True)
class _Costs:
    cores: int = 2
    decode_megapixel: float = 0.018
    spark_start: float = 7.5


@dataclass(frozen=True)
class _Ask:
    samples: int = 291
    minutes: float = 10.0
    size: tuple[int, int] = (640, 480)
    counts: dict[str, int] = field(default_factory=lambda: {"RBC": 280, "WBC": 270})
    cards: dict[str, Any] = field(default_factory=lambda: {"lite0-maps": CARD})
    costs: _Costs = _Costs()
    reasons: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return max(0.2 * self.minutes * 60, self.minutes * 60 - 240)

    @property
    def summary(self) -> dict[str, Any]:
        return {"sizes": {"median": list(self.size)}}


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


def _epochs(branch: dict[str, Any]) -> int:
    work = branch["work"]
    return int(work["members"] * sum(r["keep"] * r["epochs"] for r in work["rungs"]))


def test_ten_minutes_fit_into_ten_minutes() -> None:
    ask = _Ask()
    folds, made, _ = branches(ask)
    assert folds == 5
    (branch,) = made
    assert branch["prepare_seconds"] / 2 + branch["seconds"] <= ask.seconds
    assert branch["work"]["members"] == 2
    assert branch["work"]["processes"] == 2
    assert branch["feature_key"] == "lite0-maps-512x384-pad-p1-01234567"
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
    _, made, decoding = branches(_Ask(samples, minutes, size))
    assert decoding > 0
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
        _, made, _ = branches(_Ask(minutes=minutes))
        pixels = [
            branch["preprocessing"][0]["width"] * branch["preprocessing"][0]["height"]
            for branch in made
        ]
        work.append(sum(_epochs(b) * p for b, p in zip(made, pixels, strict=True)))
    assert work == sorted(work)
    assert work[0] < work[-1]


def test_features_of_many_pictures_stay_small() -> None:
    _, made, _ = branches(_Ask(samples=10_000, minutes=20.0))
    assert all(branch["views"] == ["plain"] for branch in made)
    assert not made[0]["work"]["mirrored"]


def test_no_boxes_or_no_backbone_are_refused() -> None:
    with pytest.raises(BadInput, match="pictures with boxes"):
        branches(_Ask(counts={"RBC": 0}))
    with pytest.raises(BadInput, match="feature maps"):
        branches(_Ask(cards={"lite0": {"kind": "pooled"}}))
