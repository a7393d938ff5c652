"""A folder is walked in order, and never left."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from orchard.errors import BadInput
from orchard.sources import Limits
from orchard.sources.folder import FolderSource
from tests.orchard.sources.helpers import LIMITS, contents, refusals, write_tree


def test_files_come_sorted_with_their_bytes(tmp_path: Path) -> None:
    files = {"b/2.jpg": b"two", "a/1.jpg": b"one", "a/inner/0.jpg": b"", "c.jpg": b"three"}
    source = FolderSource(write_tree(tmp_path, files), LIMITS)
    assert list(contents(source)) == ["a/1.jpg", "a/inner/0.jpg", "b/2.jpg", "c.jpg"]
    assert contents(source) == files


def test_links_pipes_and_odd_names_are_refused_by_name(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    root = write_tree(tmp_path / "data", {"a/1.jpg": b"one"})
    (root / "a" / "link.jpg").symlink_to(secret)
    (root / "b").symlink_to(tmp_path)
    os.mkfifo(root / "a" / "pipe.jpg")
    (root / "back\\slash.jpg").write_bytes(b"x")
    source = FolderSource(root, LIMITS)
    assert refusals(source) == {
        "a/link.jpg": "link",
        "b": "link",
        "a/pipe.jpg": "special_file",
        "back\\slash.jpg": "unusable_name",
    }
    assert contents(source) == {"a/1.jpg": b"one"}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems forbid such names")
def test_a_name_that_is_no_unicode_is_refused(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"bad\xff.jpg")).write_bytes(b"x")
    assert refusals(FolderSource(tmp_path, LIMITS)) == {"bad\\udcff.jpg": "unusable_name"}


def test_a_file_above_the_limit_is_refused_and_the_rest_goes_on(tmp_path: Path) -> None:
    limits = Limits(archive_bytes=100, archive_ratio=2, entry_bytes=4, entries=10)
    source = FolderSource(write_tree(tmp_path, {"a.jpg": b"12345", "b.jpg": b"1234"}), limits)
    assert refusals(source) == {"a.jpg": "too_large"}
    assert contents(source) == {"b.jpg": b"1234"}


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    limits = Limits(archive_bytes=100, archive_ratio=2, entry_bytes=4, entries=2)
    source = FolderSource(write_tree(tmp_path, {f"{n}.jpg": b"" for n in range(3)}), limits)
    with pytest.raises(BadInput, match="too many files"):
        contents(source)
