"""JSON lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchard.formats.base import Label
from orchard.formats.json_lines import JsonLines
from orchard.sources import Refusal
from tests.orchard.sources.helpers import listing_of, write_tree

PICTURES = {f"images/{name}.jpg": b"x" for name in "abcdefgh"}


def read(root: Path) -> list[Label | Refusal]:
    listing = listing_of(root)
    evidence = JsonLines().recognise(listing)
    assert evidence is not None
    return list(JsonLines().read(listing, evidence).tables())


@pytest.mark.parametrize(
    "record",
    [
        {"image": "images/a.jpg", "label": "cat"},
        {"file_name": "a.jpg", "label": " cat "},
        {"path": "/x/images/a.jpg", "class": "cat", "extra": 1},
        {"file": "images\\a.jpg", "category": ["cat"]},
        {"Image Path": "images/a.jpg", "labels": [{"name": "cat"}, {"name": "cat"}]},
    ],
)
def test_ways_to_write_a_record(tmp_path: Path, record: dict[str, object]) -> None:
    write_tree(tmp_path, PICTURES)
    (tmp_path / "labels.jsonl").write_text(json.dumps(record) + "\n\n")
    assert read(tmp_path) == [Label("images/a.jpg", "cat", None, "labels.jsonl", 1)]


def test_numbers_are_names_too_and_splits_are_kept(tmp_path: Path) -> None:
    write_tree(tmp_path, PICTURES)
    lines = ['{"image": "a.jpg", "label": 3, "split": "test"}', '{"image": "b.jpg", "label": 2.0}']
    (tmp_path / "labels.jsonl").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    assert [(r.annotation, r.split) for r in read(tmp_path) if isinstance(r, Label)] == [
        ("3", "test"),
        ("2", None),
    ]


def test_sources_from_a_key(tmp_path: Path) -> None:
    write_tree(tmp_path, PICTURES)
    lines = [
        '{"image": "a.jpg", "label": 3}',
        '{"image": "b.jpg", "label": 3, "Recording ID": 12}',
        '{"image": "c.jpg", "label": 3, "speaker": {"name": "ada"}}',
        '{"speaker": " ada", "session": "x", "image": "d.jpg", "label": 3}',
    ]
    (tmp_path / "labels.jsonl").write_text("\n".join(lines))
    assert [row.origin for row in read(tmp_path) if isinstance(row, Label)] == [
        None,
        "12",
        None,
        "ada",
    ]
    evidence = JsonLines().recognise(listing_of(tmp_path))
    assert evidence is not None
    assert "'Recording ID' of labels.jsonl" in evidence.notices[0]


def test_bad_lines_are_refused_and_the_rest_goes_on(tmp_path: Path) -> None:
    write_tree(tmp_path, PICTURES)
    lines = [
        '{"image": "a.jpg", "label": "cat"}',
        '{"image": "b.jpg", "label": ["cat", "dog"]}',
        '{"image": "c.jpg", "label": null}',
        '{"image": "d.jpg"}',
        '{"image": "e.jpg", "label": {"x": 1}}',
        '{"label": "cat"}',
        "no json",
        "[1]",
        '{"image": "f.jpg", "label": NaN}',
        '{"image": "g.jpg", "label": "dog"}',
        '{"image": "h.jpg", "label": "dog"}',
    ]
    (tmp_path / "labels.jsonl").write_text("\n".join(lines))
    rows = read(tmp_path)
    assert len(rows) == len(lines)
    assert [row.path for row in rows if isinstance(row, Label)] == [
        "images/a.jpg",
        "images/g.jpg",
        "images/h.jpg",
    ]
    codes = [(row.path, row.code) for row in rows if isinstance(row, Refusal)]
    assert codes == [
        ("images/b.jpg", "several_labels"),
        ("images/c.jpg", "no_label"),
        ("images/d.jpg", "no_label"),
        ("images/e.jpg", "unknown_label"),
        ("labels.jsonl", "bad_row"),
        ("labels.jsonl", "bad_row"),
        ("labels.jsonl", "bad_row"),
        ("images/f.jpg", "no_label"),
    ]


def test_a_line_that_is_too_long_is_refused(tmp_path: Path) -> None:
    write_tree(tmp_path, PICTURES)
    lines = [
        '{"image": "a.jpg", "label": "cat"}',
        "x" * (3 << 20),
        '{"image": "b.jpg", "label": 1}',
    ]
    (tmp_path / "labels.jsonl").write_text("\n".join(lines))
    kinds = [type(row) for row in read(tmp_path)]
    assert kinds == [Label, Refusal, Label]


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["image", "label", "name", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(
    max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(JSON)
def test_any_json_is_a_label_or_a_refusal(tmp_path: Path, value: object) -> None:
    write_tree(tmp_path, PICTURES)
    lines = [json.dumps({"image": "a.jpg", "label": "cat"}), json.dumps(value)]
    lines.append(json.dumps({"image": "b.jpg", "label": value}))
    (tmp_path / "labels.jsonl").write_text("\n".join(lines))
    rows = read(tmp_path)
    assert len(rows) == 3
    for row in rows:
        assert isinstance(row, Refusal) or (
            row.annotation.strip() and isinstance(row.annotation, str)
        )
