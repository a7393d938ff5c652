"""The service's answer to a picture."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchard.errors import BadInput
from orchard.tasks import task

TASK = task("object_detection")
CARD = {"labels": ["cup", "plate"], "thresholds": {"default": 0.5}}
ANSWER = np.array(
    [[0, 0.6, 10.4, 20.6, 30.2, 40.0], [1, 0.9, 0, 0, 5, 5], [0, 0.3, 1, 2, 3, 4]], np.float32
)


def test_boxes_come_best_first_in_whole_pixels() -> None:
    assert TASK.response(ANSWER, CARD, {}) == {
        "results": [
            {
                "name": "plate",
                "score": pytest.approx(0.9),
                "location": {"left": 0, "top": 0, "width": 5, "height": 5},
            },
            {
                "name": "cup",
                "score": pytest.approx(0.6),
                "location": {"left": 10, "top": 21, "width": 31, "height": 40},
            },
        ]
    }
    assert TASK.response(np.zeros((0, 6), np.float32), CARD, {}) == {"results": []}


@pytest.mark.parametrize(
    ("threshold", "count"), [(0.95, 0), (0.7, 1), ("0.7", 1), (0, 3), (1, 0), ("0.1", 3), (None, 2)]
)
def test_the_request_can_set_the_threshold(threshold: object, count: int) -> None:
    assert len(TASK.response(ANSWER, CARD, {"threshold": threshold})["results"]) == count


@pytest.mark.parametrize("value", [-0.1, 1.1, 50, True, "half", "", "nan", math.nan, [], {}, "1e9"])
def test_a_wrong_threshold_is_refused_with_a_way_out(value: object) -> None:
    with pytest.raises(BadInput, match="from 0 to 1") as caught:
        TASK.response(ANSWER, CARD, {"threshold": value})
    assert "0.5" in str(caught.value)


@given(
    st.tuples(st.integers(1, 500), st.integers(1, 500)),
    st.tuples(*[st.floats(0, 1, width=32)] * 4),
)
def test_whole_pixels_stay_inside_of_the_picture(
    size: tuple[int, int], shares: tuple[float, ...]
) -> None:
    left, right = sorted(np.float32(share * size[0]) for share in shares[:2])
    top, bottom = sorted(np.float32(share * size[1]) for share in shares[2:])
    if right <= left or bottom <= top:
        return
    answer = np.array([[0, 1, left, top, right - left, bottom - top]], np.float32)
    place = TASK.response(answer, CARD, {})["results"][0]["location"]
    assert all(type(value) is int for value in place.values())
    assert min(place["width"], place["height"]) >= 1
    assert place["left"] >= 0 and place["left"] + place["width"] <= size[0]
    assert place["top"] >= 0 and place["top"] + place["height"] <= size[1]
    assert abs(place["left"] - left) <= 1 and abs(place["top"] - top) <= 1


def test_of_two_boxes_in_one_place_the_better_counts_where_objects_never_share_one() -> None:
    answer = np.array([[0, 0.9, 10, 10, 50, 50], [1, 0.8, 11, 10, 50, 50]], np.float32)
    labels = ["a", "b"]
    for across, count in ((None, 2), (0.5, 1)):
        card = {"labels": labels, "thresholds": {"default": 0.5, "across": across}}
        results = TASK.response(answer, card, {})["results"]
        assert [each["name"] for each in results] == labels[:count]


def everything() -> dict[str, Any]:
    return TASK.response(ANSWER, CARD, TASK.parity_request(CARD))


def test_parity_sees_every_box() -> None:
    assert len(everything()["results"]) == len(ANSWER)
    assert TASK.difference(everything(), everything()) == 0


def changed(**changes: Any) -> dict[str, Any]:
    """The response with its second result changed."""
    response = copy.deepcopy(everything())
    response["results"][1].update(changes)
    return response


@pytest.mark.parametrize(
    ("other", "least", "most"),
    [
        (changed(score=0.601), 0.0009, 0.0011),
        (changed(location={"left": 11, "top": 21, "width": 30, "height": 40}), 0, 1e-9),
        (changed(location={"left": 15, "top": 21, "width": 31, "height": 40}), 0.5, 1),
        (changed(name="plate"), 0.5, 1),
        ({"results": []}, 0.5, 1),
        ({"error_code": 1}, math.inf, math.inf),
        ({"results": [{"name": "cup", "score": 0.6}]}, math.inf, math.inf),
    ],
)
def test_differences_are_seen_from_both_sides(
    other: dict[str, Any], least: float, most: float
) -> None:
    for found in (TASK.difference(everything(), other), TASK.difference(other, everything())):
        assert least <= found <= most


def test_a_box_at_the_lowest_score_may_be_on_one_side_only() -> None:
    other = everything()
    other["results"].append(
        {
            "name": "cup",
            "score": 0.0101,
            "location": dict.fromkeys(("left", "top", "width", "height"), 7),
        }
    )
    assert TASK.difference(everything(), other) < 0.001


def test_order_among_nearly_equal_scores_is_no_difference() -> None:
    other = everything()
    other["results"].reverse()
    assert TASK.difference(everything(), other) == 0
