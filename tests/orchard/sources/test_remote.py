"""A folder behind a URI, over a real file system of fsspec."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchard.blobs.browse import Browser
from orchard.errors import BadInput
from orchard.sources import Limits
from orchard.sources.remote import RemoteFolderSource, fetch
from tests.orchard.sources.helpers import LIMITS, contents, refusals, write_tree


def test_it_is_walked_in_order_and_links_are_refused(tmp_path: Path) -> None:
    files = {"a/1.jpg": b"one", "b/c/2.jpg": b"two"}
    root = write_tree(tmp_path / "data", files)
    (root / "b" / "link.jpg").symlink_to(root / "a" / "1.jpg")
    source = RemoteFolderSource(Browser(f"file://{root}"), LIMITS)
    assert contents(source) == files
    assert list(contents(source)) == ["a/1.jpg", "b/c/2.jpg"]
    assert refusals(source) == {"b/link.jpg": "link"}


def test_an_archive_is_fetched_within_the_limit(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a.zip": b"x" * 1000})
    browser = Browser(f"file://{tmp_path}/a.zip")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    assert fetch(browser, browser.item(), LIMITS, workspace).read_bytes() == b"x" * 1000
    small = Limits(archive_bytes=999, archive_ratio=2, entry_bytes=4, entries=2)
    with pytest.raises(BadInput, match="too large"):
        fetch(browser, browser.item(), small, workspace)
    with pytest.raises(BadInput, match="nothing at this address"):
        Browser(f"file://{tmp_path}/none").item()
