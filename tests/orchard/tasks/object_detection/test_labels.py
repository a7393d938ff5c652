"""Labels of boxes: names, strata, merging, and what becomes of odd boxes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from orchard.tasks.base import Given
from orchard.tasks.object_detection import labels, repair

SIDES = ("left", "top", "width", "height")


def box(label: str, *sides: Any, **more: Any) -> dict[str, Any]:
    return {"label": label, **dict(zip(SIDES, sides, strict=True)), **more}


def boxes(*found: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"boxes": list(found), **more}


def place(annotation: Any) -> list[tuple[float, ...]]:
    return [tuple(each[side] for side in SIDES) for each in annotation["boxes"]]


def test_names_are_counted_by_box_and_renamed() -> None:
    annotation = boxes(box("a", 1, 1, 1, 1), box("A", 2, 2, 1, 1), box("", 3, 3, 1, 1))
    assert labels.labels_of(annotation) == ("a", "A")
    assert labels.labels_of(labels.renamed(annotation, {"A": "a"})) == ("a", "a")
    assert labels.labels_of(None) == ()


def test_the_stratum_is_the_rarest_class() -> None:
    annotation = boxes(box("a", 1, 1, 1, 1), box("b", 1, 1, 1, 1), box("b", 3, 1, 1, 1))
    assert labels.stratum(annotation, {"a": 100, "b": 3}) == "b"
    assert labels.stratum(annotation, {"a": 3, "b": 100}) == "a"
    assert labels.stratum(annotation) == "a"
    assert labels.stratum(boxes()) == labels.NOTHING
    assert labels.stratum(None) == labels.stratum("cat") == ""


def test_rows_of_one_picture_are_put_together_in_any_order() -> None:
    rows = [
        boxes(box("b", 1, 1, 1, 1)),
        boxes(box("a", 2, 2, 2, 2)),
        boxes(box("b", 1, 1, 1, 1)),
        boxes(),
    ]
    together = labels.merged(rows)
    assert together == labels.merged(rows[::-1])
    assert labels.labels_of(together) == ("a", "b")


def test_rows_in_different_units_or_of_different_sizes_contradict() -> None:
    one = boxes(box("a", 0, 0, 1, 1))
    assert labels.merged([one, {**one, "unit": "fraction"}]) is None
    assert labels.merged([{**one, "size": [10, 10]}, {**one, "size": [20, 10]}]) is None


@pytest.mark.parametrize(
    ("given_box", "left", "notice"),
    [
        (box("a", 10, 10, 20, 20), (10, 10, 20, 20), None),
        (box("a", 30, 30, -20, -20), (10, 10, 20, 20), repair.REVERSED),
        (box("a", -10, -10, 30, 30), (0, 0, 20, 20), repair.CLIPPED),
        (box("a", 90, 70, 30, 30), (90, 70, 10, 10), repair.CLIPPED),
        (box("a", 0, 0, 100.5, 80.5), (0, 0, 100, 80), None),
        (box("a", 10, 10, 0, 20), None, repair.NO_AREA),
        (box("a", 10, 10, 0.001, 20), None, repair.NO_AREA),
        (box("a", 110, 10, 20, 20), None, repair.OUTSIDE),
        (box("a", None, 10, 20, 20), None, repair.NOT_NUMBERS),
        (box("a", float("nan"), 10, 20, 20), None, repair.NOT_NUMBERS),
        (box(" ", 10, 10, 20, 20), None, repair.NO_NAME),
    ],
)
def test_odd_boxes(
    given_box: dict[str, Any], left: tuple[float, ...] | None, notice: str | None
) -> None:
    other = box("z", 50, 50, 5, 5)
    answer = repair.settled(boxes(given_box, other), 100, 80)
    expected = [left] if left else []
    assert place(answer.annotation) == [*expected, (50, 50, 5, 5)]
    assert list(answer.notices) == ([f"{notice} (1)"] if notice else [])
    if left is None:
        alone = repair.settled(boxes(given_box), 100, 80)
        assert alone.annotation is None
        assert alone.code == "no_usable_box"
        assert str(notice) in alone.reason


def test_a_picture_without_objects_stays_one() -> None:
    assert repair.settled(boxes(size=[1, 1]), 100, 80).annotation == {"boxes": []}
    assert repair.settled("cat", 100, 80).code == "unknown_label"


def test_repeated_boxes_and_crowds() -> None:
    one = box("a", 10, 10, 20, 20)
    answer = repair.settled(boxes(one, {**one, "left": 10.0}, box("b", 10, 10, 20, 20, crowd=True)), 100, 80)  # fmt: skip
    assert answer.annotation == boxes(one, box("b", 10, 10, 20, 20, crowd=True))
    assert answer.notices == (f"{repair.REPEATED} (1)",)


def test_fractions_become_pixels() -> None:
    answer = repair.settled(boxes(box("a", 0.1, 0.25, 0.5, 0.5), unit="fraction"), 100, 80)
    assert place(answer.annotation) == [(10, 20, 50, 40)]


@pytest.mark.parametrize(
    ("claimed", "sides", "expected", "notice"),
    [
        ([100, 80], (10, 10, 20, 20), (10, 10, 20, 20), None),
        ([101, 80], (10, 10, 20, 20), (10, 10, 20, 20), None),
        ([80, 100], (10, 10, 20, 20), (10, 10, 20, 20), repair.SWAPPED),
        ([80, 100], (85, 10, 10, 20), (85, 10, 10, 20), repair.SWAPPED),
        ([80, 100], (10, 85, 20, 10), None, None),
        ([50, 40], (60, 10, 30, 20), (60, 10, 30, 20), repair.OTHER_CLAIM),
        ([200, 160], (120, 40, 60, 80), (60, 20, 30, 40), repair.SCALED),
        ([200, 160], (10, 10, 20, 20), None, None),
        ([200, 90], (120, 40, 60, 40), None, None),
    ],
)
def test_claims_of_another_size(
    claimed: list[int],
    sides: tuple[float, ...],
    expected: tuple[float, ...] | None,
    notice: str | None,
) -> None:
    answer = repair.settled(boxes(box("a", *sides), size=claimed), 100, 80)
    if expected is None:
        assert answer.annotation is None
        assert answer.code == "other_size"
        assert "100 × 80" in answer.reason
    else:
        assert place(answer.annotation) == [expected]
        assert list(answer.notices) == ([f"{notice} (1)"] if notice else [])


TRANSPOSES = {
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


@pytest.mark.parametrize("orientation", sorted(TRANSPOSES))
def test_boxes_turn_with_their_picture(orientation: int) -> None:
    stored = np.zeros((40, 60), np.uint8)
    stored[5:15, 20:50] = 255
    upright = np.asarray(Image.fromarray(stored).transpose(TRANSPOSES[orientation]))
    down, across = np.nonzero(upright)
    expected = (across.min(), down.min(), np.ptp(across) + 1, np.ptp(down) + 1)
    answer = repair.settled(
        boxes(box("a", 20, 5, 30, 10), size=[60, 40]), 40, 60, Given(40, 60, orientation)
    )
    assert place(answer.annotation) == [expected]
    assert answer.notices == (f"{repair.TURNED} (1)",)


def test_boxes_are_scaled_with_a_picture_that_the_judge_scaled() -> None:
    answer = repair.settled(
        boxes(box("a", 100, 200, 300, 400), size=[1000, 800]), 500, 400, Given(1000, 800)
    )
    assert place(answer.annotation) == [(50, 100, 150, 200)]


numbers = st.none() | st.floats(allow_nan=True, allow_infinity=True) | st.floats(-200, 300)
odd_boxes = st.builds(
    lambda label, sides, crowd: box(label, *sides, **({"crowd": True} if crowd else {})),
    st.sampled_from(["a", "b", "", "c c"]),
    st.tuples(numbers, numbers, numbers, numbers),
    st.booleans(),
)
sizes = st.none() | st.lists(st.integers(-1, 300), min_size=2, max_size=2)


@given(
    st.lists(odd_boxes, max_size=6),
    sizes,
    st.sampled_from(["fraction", None]),
    st.integers(1, 200),
    st.integers(1, 200),
    st.integers(1, 8),
)
def test_a_settled_box_is_inside_with_an_area(
    found: list[dict[str, Any]],
    size: list[int] | None,
    unit: str | None,
    width: int,
    height: int,
    orientation: int,
) -> None:
    annotation = boxes(*found, size=size, unit=unit)
    answer = repair.settled(annotation, width, height, Given(width, height, orientation))
    if answer.annotation is None:
        assert answer.code in ("no_usable_box", "other_size")
        assert found
        return
    assert bool(found) == bool(answer.annotation["boxes"])
    for left, top, across, down in place(answer.annotation):
        assert 0 <= left < width
        assert 0 <= top < height
        assert across > 0
        assert down > 0
        assert left + across <= width + 1e-9
        assert top + down <= height + 1e-9
    json.dumps(answer.annotation, allow_nan=False)
    again = repair.settled(answer.annotation, width, height)
    assert again.annotation == answer.annotation
    assert again.notices == ()
