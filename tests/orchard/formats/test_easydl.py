"""EasyDL's JSON file beside each picture."""

from __future__ import annotations

import json
from pathlib import Path

from orchard.formats.base import Label, Role
from orchard.formats.easydl import EasyDL
from orchard.sources import Refusal
from tests.orchard.sources.helpers import listing_of, write_tree


def document(*names: str) -> bytes:
    return json.dumps({"labels": [{"name": name} for name in names]}, ensure_ascii=False).encode()


def test_labels_come_from_the_file_of_the_same_name(tmp_path: Path) -> None:
    files = {
        "1.jpg": b"x",
        "1.json": document("正常"),
        "2.PNG": b"x",
        "2.json": b"\xef\xbb\xbf" + document("划痕"),
        "3.jpg": b"x",
        "3.json": document("正常", "划痕"),
        "4.jpg": b"x",
        "4.json": document(),
        "5.json": document("正常"),
        "6.jpg": b"x",
        "6.json": b"{",
        "7.jpg": b"x",
        "7.json": b'{"labels": [{"title": "x"}]}',
        "8.jpg": b"x",
        "8.json": '{"labels": [{"name": "划痕"}]}'.encode("gbk"),
    }
    listing = listing_of(write_tree(tmp_path, files))
    evidence = EasyDL().recognise(listing)
    assert evidence is not None
    reading = EasyDL().read(listing, evidence)
    labels, refused = {}, {}
    for path, payload in files.items():
        if reading.role(path) is Role.DOCUMENT:
            for row in reading.document(path, payload):
                if isinstance(row, Refusal):
                    refused[row.path] = row.code
                else:
                    assert row.source == path
                    labels[row.path] = row.annotation
        else:
            assert reading.role(path) is Role.SAMPLE
    assert labels == {"1.jpg": "正常", "2.PNG": "划痕", "8.jpg": "划痕"}
    assert refused == {
        "3.jpg": "several_labels",
        "5.json": "no_picture",
        "6.json": "bad_json",
        "7.jpg": "unknown_label",
    }


def test_documents_in_a_folder_of_their_own(tmp_path: Path) -> None:
    files = {"d/Images/1.jpg": b"x", "d/Annotations/1.json": document("ok")}
    listing = listing_of(write_tree(tmp_path, files))
    evidence = EasyDL().recognise(listing)
    assert evidence is not None
    rows = list(EasyDL().read(listing, evidence).document("d/Annotations/1.json", document("ok")))
    assert rows == [Label("d/Images/1.jpg", "ok", None, "d/Annotations/1.json")]


def test_other_json_is_not_recognised(tmp_path: Path) -> None:
    files = {"1.jpg": b"x", "1.json": b'{"shapes": []}', "labels.json": document("ok")}
    assert EasyDL().recognise(listing_of(write_tree(tmp_path, files))) is None
