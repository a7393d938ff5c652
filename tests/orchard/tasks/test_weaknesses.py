"""Weak and mixed-up classes out of figures."""

from __future__ import annotations

from orchard.tasks.weaknesses import Mixed, mixed_up, weak_classes

ROWS = {
    "a": {"support": 10, "recall": 0.5},
    "b": {"support": 10, "recall": 0.2},
    "c": {"support": 10, "recall": 0.9},
    "d": {"support": 0, "recall": 0.0},
    "e": {"support": 10, "recall": 0.5},
}
CONFUSION = {"labels": ["a", "b", "c"], "matrix": [[8, 2, 0], [3, 90, 7], [1, 0, 9]]}


def test_the_weakest_classes_come_first_and_the_rest_is_named() -> None:
    found = weak_classes(ROWS, 0.8, 2, lambda label, row: f"{label} {row['recall']}")
    assert [each.text for each in found] == ["b 0.2", "a 0.5", "Also weak: “e”."]
    assert all(each.kind == "problem" for each in found)
    assert weak_classes(ROWS, 0.1, 2, lambda label, row: label) == []


def test_pairs_are_ranked_by_how_many_and_how_large_a_share_is_wrong() -> None:
    assert mixed_up(CONFUSION, 3, 2) == [
        Mixed("b", "c", 7, 100),
        Mixed("b", "a", 3, 100),
        Mixed("a", "b", 2, 10),
    ]
    assert [pair.wrong for pair in mixed_up(CONFUSION, 1, 2)] == [7]
    assert [pair.wrong for pair in mixed_up(CONFUSION, 9, 2, least_share=0.05)] == [7, 2]
    assert mixed_up({"labels": ["a"], "matrix": [[4]]}, 3, 1) == []
