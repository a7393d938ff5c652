"""The choice among formats, and what is said where none fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchard.errors import BadInput
from orchard.formats import FORMATS, recognise
from tests.orchard.sources.helpers import listing_of, write_tree

KIND = "class"
FOLDERS = {"cat/1.jpg": b"x", "dog/2.jpg": b"x"}


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (FOLDERS, "class_folders"),
        ({**FOLDERS, "labels.csv": b"cat/1.jpg,a\ndog/2.jpg,b\n"}, "table"),
        ({**FOLDERS, "x.jsonl": b'{"image": "cat/1.jpg", "label": "a"}\n'}, "json_lines"),
        ({**FOLDERS, "cat/1.json": b'{"labels": [{"name": "a"}]}'}, "easydl"),
        ({**FOLDERS, "labels.csv": b"far/away.jpg,a\nnowhere.jpg,b\n"}, "class_folders"),
        ({**FOLDERS, "README.md": b"cat/1.jpg, a cat"}, "class_folders"),
    ],
)
def test_the_surest_format_is_taken(tmp_path: Path, files: dict[str, bytes], name: str) -> None:
    best, _, notices = recognise(listing_of(write_tree(tmp_path, files)), KIND)
    assert best.name == name
    if name != "class_folders":
        assert any("class_folders" in notice for notice in notices)


def test_a_source_without_labels_is_described(tmp_path: Path) -> None:
    files = {f"{number:02}.jpg": b"x" for number in range(12)}
    files["notes.xyz"] = b"x"
    listing = listing_of(write_tree(tmp_path, files))
    with pytest.raises(BadInput) as caught:
        recognise(listing, KIND)
    text = str(caught.value)
    assert "12 × .jpg" in text
    assert "1 × .xyz" in text
    assert "09.jpg" in text
    assert "10.jpg" not in text
    for form in FORMATS:
        assert (form.title in text) is (KIND in form.kinds)


def test_a_kind_without_a_format_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nothing yet"):
        recognise(listing_of(write_tree(tmp_path, FOLDERS)), "no_such_kind")


def test_a_table_that_was_pointed_at_is_read_or_refused(tmp_path: Path) -> None:
    files = {**FOLDERS, "labels.csv": b"cat/1.jpg,a\ndog/2.jpg,b\n", "other.csv": b"x,y\n"}
    listing = listing_of(write_tree(tmp_path, files))
    listing.preferred = "labels.csv"
    assert recognise(listing, KIND)[0].name == "table"
    listing.preferred = "other.csv"
    with pytest.raises(BadInput, match="other.csv"):
        recognise(listing, KIND)


def test_what_the_source_refused_is_said(tmp_path: Path) -> None:
    listing = listing_of(tmp_path)
    listing.refused["encrypted"] = 3
    with pytest.raises(BadInput, match="3 × encrypted"):
        recognise(listing, KIND)
