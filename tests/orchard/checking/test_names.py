"""Spellings of one class become one name."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from orchard.checking.names import canonical_names, folded, renamed_labels, tidy


def test_the_most_frequent_spelling_wins() -> None:
    counts = {"Scratch": 3, "scratch": 5, "SCRATCH ": 1, "dent": 2}
    names = canonical_names(counts)
    assert names == {
        "Scratch": "scratch",
        "scratch": "scratch",
        "SCRATCH ": "scratch",
        "dent": "dent",
    }
    assert renamed_labels(counts, names) == [
        {"from": "SCRATCH ", "to": "scratch", "count": 1},
        {"from": "Scratch", "to": "scratch", "count": 3},
    ]


def test_equally_frequent_spellings_go_by_code_point() -> None:
    assert canonical_names({"b": 1, "B": 1}) == {"b": "B", "B": "B"}


def test_width_and_composition_do_not_matter() -> None:
    wide, composed = "ＡＢＣ", "café"
    decomposed = unicodedata.normalize("NFD", composed)
    names = canonical_names({wide: 1, "ABC": 2, composed: 1, decomposed: 4})
    assert names[wide] == "ABC"
    assert names[decomposed] == names[composed] == composed


def test_a_settled_spelling_stays_however_rare() -> None:
    assert canonical_names({"DENT": 99, "dent": 1}, ["Dent"]) == {"DENT": "Dent", "dent": "Dent"}


@given(st.dictionaries(st.text(min_size=1), st.integers(1, 9), max_size=12))
def test_names_that_fold_alike_become_one_and_others_stay_apart(counts: dict[str, int]) -> None:
    names = canonical_names(counts)
    assert set(names) == set(counts)
    for one in counts:
        for other in counts:
            assert (names[one] == names[other]) == (folded(one) == folded(other))
        assert folded(names[one]) == folded(one)
        assert tidy(names[one]) == names[one]
