"""The compact table of names behaves as a dict does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchard.sources.compact import NameTable


@given(st.lists(st.tuples(st.text(max_size=6), st.integers(0, 254)), max_size=200))
def test_it_keeps_the_first_number_of_each_text(pairs: list[tuple[str, int]]) -> None:
    table, expected = NameTable(), dict[str, int]()
    for text, value in pairs:
        assert table.add(text, value) == (text not in expected)
        expected.setdefault(text, value)
    assert len(table) == len(expected)
    assert all(table.get(text) == value for text, value in expected.items())
    assert "never added to it" not in table


def test_it_grows() -> None:
    table = NameTable()
    for number in range(20_000):
        assert table.add(f"class/{number}.jpg", number % 250)
    assert len(table) == 20_000
    assert all(table.get(f"class/{n}.jpg") == n % 250 for n in range(0, 20_000, 37))
    assert "class/20000.jpg" not in table
