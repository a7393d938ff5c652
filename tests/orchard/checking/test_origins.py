"""Sources that a column tells: which are kept together, and which may be tested on."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchard.checking.origins import MOST_TESTED, Kept, Row, kept_together


def kept(rows: list[Row], *, divided: bool = False) -> Kept:
    return kept_together(rows, "picture", divided=divided)


def fresh(origins: str, labels: str = "ab", count: int = 4) -> list[Row]:
    return [Row(origin, label, None, count, 0) for origin in origins for label in labels]


def test_sources_are_kept_together_and_told() -> None:
    found = kept([*fresh("uvwxyz"), Row(None, "a", None, 3, 0)])
    assert found.held.keys() == set("uvwxyz")
    ((text, count),) = found.notices.items()
    assert count == 48
    assert text.startswith("Pictures of one source") and "6 sources (u, v, w, x, y, z)" in text


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (fresh("u"), "all new pictures come of one source"),
        ([*fresh("u"), Row(None, "a", "train", 50, 0)], "all new pictures come of one source"),
        ([Row(name, "a", None, 1, 0) for name in "uvwxyz"], "another source for every picture"),
        (fresh("uv"), "too few"),
        ([Row("u", "a", None, 9, 0), Row("v", "b", None, 9, 0)], "too few"),
        ([Row("u", "a", None, 9, 0), Row("u", "a", "test", 5, 5)], "all new pictures"),
    ],
)
def test_what_keeps_nothing_together(rows: list[Row], why: str) -> None:
    found = kept(rows)
    assert not found.held
    (text,) = found.notices
    assert why in text


def test_nothing_is_said_where_no_column_tells() -> None:
    assert kept([Row(None, "a", None, 5, 0), Row(None, "a", "test", 5, 0)]) == Kept()


def test_a_division_of_its_own_and_a_test_split_of_before_need_no_test_of_sources() -> None:
    assert kept(fresh("uv"), divided=True).held.keys() == set("uv")
    settled = [Row("w", "a", "test", 9, 0), Row("w", "b", "test", 9, 0)]
    found = kept([*fresh("uv"), *settled])
    assert found.held.keys() == set("uv")
    assert list(found.notices.values()) == [34]


def test_the_only_source_of_a_class_is_held_back() -> None:
    found = kept([*fresh("uvwxyz"), Row("w", "c", None, 9, 0)])
    assert found.held["w"] and not all(found.held.values())


def test_a_source_that_has_places_elsewhere_is_left_as_it_is() -> None:
    found = kept([*fresh("uvwxyz"), Row("u", "a", "train", 2, 2), Row("u", "a", "test", 1, 1)])
    assert found.held.keys() == set("vwxyz")
    assert list(found.notices.values()) == [40, 11]


ROWS = st.lists(
    st.builds(
        Row,
        st.sampled_from([None, *"uvwxyz"]),
        st.sampled_from("abc"),
        st.sampled_from([None, None, "train", "test"]),
        st.integers(1, 9),
        st.just(0),
    ),
    unique_by=lambda row: row[:3],
)


@given(ROWS, st.booleans())
def test_sources_that_may_be_tested_on_leave_enough_of_each_class(
    rows: list[Row], divided: bool
) -> None:
    found = kept(rows, divided=divided)
    assert found == kept(rows[::-1], divided=divided)
    free = {origin for origin, held in found.held.items() if not held}
    room, taken = Counter[str](), Counter[str]()
    for row in rows:
        if row.split != "test":
            room[row.label] += row.samples
        if row.origin in free and row.split is None:
            taken[row.label] += row.samples
    assert all(taken[label] <= MOST_TESTED * room[label] for label in taken)
