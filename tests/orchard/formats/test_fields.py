"""Names of columns, and the values of the column of sources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchard.formats.fields import (
    LABEL_NAMES,
    ORIGIN_NAMES,
    PATH_NAMES,
    SPLIT_NAMES,
    normalised,
    origin_of,
    pick,
)


def test_a_name_means_one_thing() -> None:
    names = [*PATH_NAMES, *LABEL_NAMES, *SPLIT_NAMES, *ORIGIN_NAMES]
    assert len(set(names)) == len(names)
    assert [name for name in ORIGIN_NAMES if normalised(name) != name] == []


def test_the_first_name_of_the_list_counts() -> None:
    assert pick(["path", "Session", "Speaker ID", "label"], "origin") == 2
    assert pick(["path", "label", "split"], "origin") is None


@pytest.mark.parametrize(
    ("value", "origin"),
    [
        (" ada  lovelace ", "ada lovelace"),
        (7, "7"),
        (7.0, "7"),
        ("A\u0308", "\xc4"),
        ("说话人1", "说话人1"),
        ("", None),
        ("NaN", None),
        ("unknown", None),
        ("Train", None),
        (None, None),
        (True, None),
        (0.5, None),
        (float("nan"), None),
        (["ada"], None),
        ("x" * 201, None),
        ("\ud800", "?"),
    ],
)
def test_values(value: object, origin: str | None) -> None:
    # A lone half of a pair of surrogates becomes a question mark, which alone says nothing.
    assert origin_of(value) == (None if origin == "?" else origin)


@given(st.text())
def test_a_source_is_a_line_that_reads_as_itself(text: str) -> None:
    found = origin_of(text)
    if found is not None:
        assert found.strip() and found.splitlines() == [found] and origin_of(found) == found
