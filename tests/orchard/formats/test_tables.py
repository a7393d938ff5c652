"""Tables of paths and labels, as people write them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchard.formats.base import Label
from orchard.formats.tables import Tables
from orchard.sources import Refusal
from tests.orchard.sources.helpers import listing_of, write_tree

PICTURES = {f"images/{name}.jpg": b"x" for name in ("a", "b", "c d", "e")}


def read(root: Path) -> list[Label | Refusal]:
    listing = listing_of(root)
    evidence = Tables().recognise(listing)
    assert evidence is not None
    return list(Tables().read(listing, evidence).tables())


def pairs(root: Path) -> list[tuple[str, str, str | None]]:
    return [(r.path, r.annotation, r.split) for r in read(root) if isinstance(r, Label)]


EXPECTED = [("images/a.jpg", "cat", None), ("images/b.jpg", "dög", None)]


@pytest.mark.parametrize(
    "text",
    [
        "images/a.jpg,cat\nimages/b.jpg,dög\n",
        "path,label\nimages/a.jpg,cat\nimages/b.jpg,dög\n",
        "Label;File Name\r\ncat;images/a.jpg\r\ndög;images/b.jpg\r\n",
        "id\tclass\nimages/a.jpg\tcat\nimages/b.jpg\tdög",
        '"image","category"\n"images/a.jpg","cat"\n"images/b.jpg"," dög "\n\n',
        "filename,width,height,class\na.jpg,1,1,cat\nb.jpg,1,1,dög\n",
        "image_id,label\na,cat\nb,dög\n",
        "Bild,Klasse\nimages/a.jpg,cat\nimages/b.jpg,dög\n",
        "images/a.jpg cat\nimages/b.jpg dög\n",
        "C:\\data\\images\\a.jpg,cat\nC:\\data\\images\\b.jpg,dög\n",
        "/home/somebody/images/a.jpg,cat\n./images/b.JPG,dög\n",
        "图片,标签\nimages/a.jpg,cat\nimages/b.jpg,dög\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_ways_to_write_a_table(tmp_path: Path, text: str, encoding: str) -> None:
    write_tree(tmp_path, PICTURES)
    (tmp_path / "labels.csv").write_bytes(text.encode(encoding))
    assert pairs(tmp_path) == EXPECTED


@pytest.mark.parametrize(("encoding", "word"), [("gbk", "划痕缺陷"), ("cp1252", "Äpfel défaut")])
def test_older_encodings(tmp_path: Path, encoding: str, word: str) -> None:
    write_tree(tmp_path, PICTURES)
    text = f"path,label\nimages/a.jpg,{word}\nimages/b.jpg,ok\n"
    (tmp_path / "labels.csv").write_bytes(text.encode(encoding))
    assert pairs(tmp_path)[0] == ("images/a.jpg", word, None)


def test_a_table_in_a_folder_of_its_own_and_paths_that_lead_up(tmp_path: Path) -> None:
    write_tree(tmp_path, PICTURES)
    write_tree(tmp_path, {"meta/labels.csv": b"file,label\n../images/a.jpg,cat\nb.jpg,dog\n"})
    assert pairs(tmp_path) == [("images/a.jpg", "cat", None), ("images/b.jpg", "dog", None)]


def test_splits_from_a_column_and_from_names(tmp_path: Path) -> None:
    write_tree(tmp_path, PICTURES)
    table = "path,label,split\nimages/a.jpg,cat,Training\nimages/b.jpg,dog,val\nimages/e.jpg,dog,\n"
    (tmp_path / "labels.csv").write_text(table)
    assert [split for _, _, split in pairs(tmp_path)] == ["train", "validation", None]
    (tmp_path / "labels.csv").unlink()
    (tmp_path / "train_labels.csv").write_text("images/a.jpg,cat\n")
    assert [split for _, _, split in pairs(tmp_path)] == [None]
    (tmp_path / "test.csv").write_text("images/b.jpg,cat\n")
    assert [split for _, _, split in pairs(tmp_path)] == ["test", "train"]


@pytest.mark.parametrize(
    ("text", "origins"),
    [
        ("path,label,Speaker\na.jpg,cat, ada \nb.jpg,dog,\ne.jpg,dog\n", ["ada", None, None]),
        ("session;label;path;device\n1;cat;a.jpg;x\n2;dog;b.jpg;x\n", ["x", "x"]),
        ("图片,标签,说话人\na.jpg,cat,小明\nb.jpg,dog,小红\n", ["小明", "小红"]),
        ("path,label,group\na.jpg,cat,train\nb.jpg,dog,test\n", [None, None]),
        ("Bild,Patient,Klasse\na.jpg,1,cat\nb.jpg,1,dog\n", ["1", "1"]),
        ("recording_id,label\na,cat\nb,dog\n", [None, None]),
        ("a.jpg,cat,speaker\nb.jpg,dog,ada\n", [None, None]),
        ("path,group\na.jpg,cat\nb.jpg,dog\n", [None, None]),
    ],
)
def test_sources_from_a_column(tmp_path: Path, text: str, origins: list[str | None]) -> None:
    write_tree(tmp_path, PICTURES)
    (tmp_path / "labels.csv").write_text(text)
    rows = [row for row in read(tmp_path) if isinstance(row, Label)]
    assert [row.origin for row in rows] == origins
    assert [row.annotation for row in rows] == ["cat", "dog", "dog"][: len(origins)]
    evidence = Tables().recognise(listing_of(tmp_path))
    named = evidence is not None and any("source" in notice for notice in evidence.notices)
    assert named == any(origins) or "group" in text


def test_bad_rows_are_refused_by_line_and_the_rest_goes_on(tmp_path: Path) -> None:
    write_tree(tmp_path, PICTURES)
    table = "path,label\nimages/a.jpg,cat\nimages/b.jpg,\n,dog\nimages/e.jpg\nimages/c d.jpg,dog\n"
    (tmp_path / "labels.csv").write_text(table)
    rows = read(tmp_path)
    assert [row.path for row in rows if isinstance(row, Label)] == [
        "images/a.jpg",
        "images/c d.jpg",
    ]
    refused = {row.path: (row.code, row.reason) for row in rows if isinstance(row, Refusal)}
    assert refused["images/b.jpg"] == ("no_label", "It has no label: line 3 of labels.csv")
    assert refused["labels.csv"][0] == "bad_row"
    assert "line 4" in refused["labels.csv"][1]
    assert refused["images/e.jpg"][0] == "bad_row"


def test_a_row_without_a_file_keeps_its_path(tmp_path: Path) -> None:
    write_tree(tmp_path, PICTURES)
    (tmp_path / "labels.csv").write_text("path,label\nimages/a.jpg,cat\nlost/z.jpg,dog\n")
    assert ("lost/z.jpg", "dog", None) in pairs(tmp_path)


def test_other_texts_are_no_tables(tmp_path: Path) -> None:
    write_tree(tmp_path, PICTURES)
    (tmp_path / "README.txt").write_text("These are pictures, of cats\nand dogs, both\n")
    (tmp_path / "labels.txt").write_text("cat\ndog\n")
    (tmp_path / "splits.csv").write_text("path,split\nimages/a.jpg,train\nimages/b.jpg,test\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "long.csv").write_text('a,"' + "x" * 200_000)
    assert Tables().recognise(listing_of(tmp_path)) is None


NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=12)


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    labels=st.lists(NAMES.filter(lambda name: bool(name.strip())), min_size=4, max_size=4),
    delimiter=st.sampled_from([",", ";", "\t"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    header=st.booleans(),
)
def test_what_a_csv_writer_wrote_is_read_back(
    tmp_path: Path, labels: list[str], delimiter: str, encoding: str, header: bool
) -> None:
    write_tree(tmp_path, PICTURES)
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    if header:
        writer.writerow(["path", "label"])
    writer.writerows(zip(PICTURES, labels, strict=True))
    (tmp_path / "labels.csv").write_bytes(text.getvalue().encode(encoding))
    expected = [(path, label.strip(), None) for path, label in zip(PICTURES, labels, strict=True)]
    assert pairs(tmp_path) == expected


@settings(
    max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.binary(max_size=300))
def test_any_bytes_are_a_table_or_none_and_never_a_fault(tmp_path: Path, content: bytes) -> None:
    write_tree(tmp_path, PICTURES)
    (tmp_path / "labels.csv").write_bytes(b"images/a.jpg,cat\n" + content)
    listing = listing_of(tmp_path)
    evidence = Tables().recognise(listing)
    if evidence is not None:
        list(Tables().read(listing, evidence).tables())
