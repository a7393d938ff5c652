"""The intake appears whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from orchard.blobs import Blobs, Reference, keys
from orchard.sources.intake import BATCH, IntakeWriter

BUILD = "0123456789abcdef"


def test_rows_come_back_over_several_batches(tmp_path: Path) -> None:
    blobs = Blobs(f"file://{tmp_path}")
    count = BATCH * 2 + 3
    with IntakeWriter(blobs, "local", BUILD, 1) as intake:
        for number in range(count):
            split = "train" if number % 2 else None
            intake.file(f"ü/{number}.jpg", Reference("s", number, 5, "ab" * 32), split)
        intake.label("ü/1.jpg", "划痕", None, "labels.csv", 7)
        intake.label("b.jpg", "ok", "test", "labels.csv", 8, "ada")
        intake.refused("b.jpg", "link", "A sentence")
        assert intake.counts == {"files": count, "labels": 2, "refused": 1}
    folder = tmp_path / keys.intake("local", BUILD)
    files = pq.read_table(folder / "files").to_pylist()
    assert [row["offset"] for row in files] == list(range(count))
    assert files[1] == {
        "path": "ü/1.jpg",
        "segment": "s",
        "offset": 1,
        "length": 5,
        "sha256": "ab" * 32,
        "split": "train",
        "hints": None,
    }
    assert files[0]["split"] is None
    assert pq.read_table(folder / "labels").to_pylist() == [
        {
            "path": "ü/1.jpg",
            "annotation": '"划痕"',
            "split": None,
            "source": "labels.csv",
            "line": 7,
            "origin": None,
        },
        {
            "path": "b.jpg",
            "annotation": '"ok"',
            "split": "test",
            "source": "labels.csv",
            "line": 8,
            "origin": "ada",
        },
    ]
    assert pq.read_table(folder / "refused").to_pylist() == [
        {"path": "b.jpg", "code": "link", "reason": "A sentence", "stage": "ingest"}
    ]


def test_an_error_leaves_nothing_and_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    blobs = Blobs(f"file://{tmp_path}")
    with pytest.raises(ValueError, match="stop"), IntakeWriter(blobs, "local", BUILD, 1) as intake:
        intake.refused("b.jpg", "link", "A sentence")
        raise ValueError("stop")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    contents = []
    for attempt in (2, 3):
        with IntakeWriter(blobs, "local", BUILD, attempt) as intake:
            intake.refused("b.jpg", "link", "A sentence")
        contents.append(
            {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        )
    assert contents[0] == contents[1]


def test_what_a_killed_try_left_is_removed(tmp_path: Path) -> None:
    blobs = Blobs(f"file://{tmp_path}")
    left = f"{keys.build('local', BUILD)}/.intake-1.tmp/files/part-00000.parquet"
    blobs.write(left, b"half")
    with IntakeWriter(blobs, "local", BUILD, 2):
        pass
    assert not blobs.exists(left)
    assert blobs.exists(keys.intake("local", BUILD))
