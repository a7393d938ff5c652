"""Locations: only below the import roots, only of the kinds that are allowed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchard.errors import BadInput
from orchard.sources.folder import FolderSource
from orchard.sources.locate import Place, open_location, refuse_login, resolved
from orchard.sources.seven_zip import SevenZipSource
from orchard.sources.tar_archive import TarSource
from orchard.sources.zip_archive import ZipSource
from tests.orchard.sources.helpers import LIMITS, contents, write_tar, write_tree, write_zip
from tests.orchard.sources.test_seven_zip import write_7z


def place(tmp_path: Path, *, allow_http: bool = False) -> Place:
    root, workspace = tmp_path / "imports", tmp_path / "workspace"
    root.mkdir(exist_ok=True)
    workspace.mkdir(exist_ok=True)
    return Place((root,), allow_http, workspace)


def test_kinds_are_told_by_content_and_not_by_name(tmp_path: Path) -> None:
    here = place(tmp_path)
    root = here.roots[0]
    files = {"a/1.jpg": b"one"}
    write_tree(root / "folder", files)
    write_zip(root / "zip.7z", files)
    write_7z(root / "seven.zip", list(files.items()))
    write_tar(root / "tar.zip", files)
    write_tar(root / "tgz", files, "w:gz")
    write_tar(root / "txz.tar", files, "w:xz")
    kinds = {
        "folder": FolderSource,
        "zip.7z": ZipSource,
        "seven.zip": SevenZipSource,
        "tar.zip": TarSource,
        "tgz": TarSource,
        "txz.tar": TarSource,
        str(root / "folder"): FolderSource,
        f"file://{root}/folder": FolderSource,
        f"file://localhost{root}/folder": FolderSource,
    }
    for location, kind in kinds.items():
        located = open_location(location, LIMITS, here)
        with located.source as source:
            assert isinstance(source, kind), location
            assert contents(source) == files


def test_a_table_means_its_folder(tmp_path: Path) -> None:
    here = place(tmp_path)
    write_tree(here.roots[0], {"d/labels.csv": b"1.jpg,cat", "d/1.jpg": b"one", "e/2.jpg": b""})
    located = open_location("d/labels.csv", LIMITS, here)
    assert located.preferred == "labels.csv"
    assert list(contents(located.source)) == ["1.jpg", "labels.csv"]


def test_nothing_outside_of_the_roots(tmp_path: Path) -> None:
    here = place(tmp_path)
    outside = write_tree(tmp_path / "outside", {"a/1.jpg": b"one"})
    (here.roots[0] / "link").symlink_to(outside)
    (here.roots[0] / "loop").symlink_to("loop")
    locations = [
        str(outside),
        "../outside",
        "link",
        "link/a",
        "loop",
        "nothing",
        "/etc/passwd",
        f"file://{outside}",
        f"file://{here.roots[0]}/%2e%2e/outside",
        "nul\0l",
        "~",
    ]
    for location in locations:
        with pytest.raises(BadInput, match="no such data below the allowed import folders"):
            open_location(location, LIMITS, here)


@given(st.lists(st.sampled_from(["..", ".", "a", "link", "", "up", "imports", "/"]), max_size=6))
def test_whatever_is_found_lies_below_a_root(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    base = tmp_path_factory.getbasetemp() / "below"
    root = base / "imports"
    if not root.exists():
        write_tree(root, {"a/a/1": b"", "b": b""})
        (root / "link").symlink_to(root / "a")
        (root / "up").symlink_to(base)
    try:
        found = resolved("/".join(parts), (root,))
    except BadInput:
        return
    assert found.resolve().is_relative_to(root.resolve())


def test_a_root_that_is_a_link_is_followed(tmp_path: Path) -> None:
    real = write_tree(tmp_path / "real", {"a/1.jpg": b"one"})
    (tmp_path / "root").symlink_to(real)
    assert resolved("a", (tmp_path / "root",)) == real.resolve() / "a"


@pytest.mark.parametrize(
    "location",
    [
        "https://me:hunter2@example.org/a.zip",
        "hdfs://me:hunter2@host/a",
        "https://hunter2@example.org",
        "https://me:hunter2@example.org/a?token=hunter2",
        "ftp://me:hunter2@x@host/x",
    ],
)
def test_a_password_is_refused_and_not_repeated(tmp_path: Path, location: str) -> None:
    with pytest.raises(BadInput, match="password") as caught:
        open_location(location, LIMITS, place(tmp_path, allow_http=True))
    shown = str(caught.value)
    assert "hunter2" not in shown
    assert "me:" not in shown


def test_an_address_without_a_login_passes() -> None:
    refuse_login("https://example.org/a@b.zip?c=d@e")


@pytest.mark.parametrize(
    ("location", "text"),
    [
        ("https://example.org/a.zip?token=abc", "web"),
        ("s3://bucket/a.zip", "of this kind"),
        ("memory://a", "of this kind"),
        ("file://otherhost/a", "another machine"),
        ("hdfs://host/data", "outside"),
    ],
)
def test_other_kinds_are_refused(tmp_path: Path, location: str, text: str) -> None:
    with pytest.raises(BadInput, match=text) as caught:
        open_location(location, LIMITS, place(tmp_path))
    assert "token" not in str(caught.value)


def test_hdfs_stays_below_its_roots(tmp_path: Path) -> None:
    here = Place((Path("hdfs://host/imports"),), False, tmp_path)
    for location in ("hdfs://host/other", "hdfs://host/imports/../x", "hdfs://other/imports/a"):
        with pytest.raises(BadInput, match="outside"):
            open_location(location, LIMITS, here)


def test_other_files_are_refused_by_name(tmp_path: Path) -> None:
    here = place(tmp_path)
    write_tree(here.roots[0], {"notes.zip": b"just a text"})
    with pytest.raises(BadInput, match="no archive") as caught:
        open_location("notes.zip", LIMITS, here)
    assert caught.value.value == "notes.zip"
