"""Bringing data: what is copied, where to, and what is refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchard.api.importing import stage
from orchard.errors import BadInput
from orchard.settings import settings


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installation whose import root is below its home."""
    monkeypatch.setenv("ORCHARD_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ORCHARD_IMPORT_ROOTS", raising=False)
    settings.cache_clear()
    yield tmp_path / "home"
    settings.cache_clear()


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """A folder a class."""
    folder = tmp_path / "My pictures"
    for name in ("good/a.jpg", "bad/ü.jpg"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"12345")
    return folder


def quiet(text: str) -> None:
    """Say nothing."""


def test_a_folder_is_copied_below_the_import_root_once(home: Path, pictures: Path) -> None:
    said: list[str] = []
    imported = stage(pictures, "keys", said.append)
    assert (imported.files, imported.bytes) == (2, 10)
    copied = Path(imported.location)
    assert copied.is_relative_to(home / "imports" / "keys")
    assert copied.name == "My pictures"
    assert (copied / "bad" / "ü.jpg").read_bytes() == b"12345"
    assert stage(pictures, "keys", said.append) == imported
    assert said == ["Copying 2 files, 0.0 MB"]
    assert [path.name for path in (home / "imports" / "keys").iterdir()] == [copied.parent.name]


def test_changed_data_are_another_copy(home: Path, pictures: Path) -> None:
    first = stage(pictures, "keys", quiet)
    (pictures / "good" / "b.jpg").write_bytes(b"1")
    second = stage(pictures, "keys", quiet)
    assert second.location != first.location
    assert second.files == 3
    assert len(list(Path(first.location).rglob("*.jpg"))) == 2


def test_an_archive_is_one_file(home: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    archive.write_bytes(b"PK")
    imported = stage(archive, "keys", quiet)
    assert imported.files == 1
    assert Path(imported.location).read_bytes() == b"PK"


def test_what_lies_below_an_import_root_stays_where_it_is(home: Path) -> None:
    folder = home / "imports" / "mine"
    folder.mkdir(parents=True)
    (folder / "a.jpg").write_bytes(b"1")
    assert stage(folder, "keys", quiet).location == str(folder)
    assert sorted(path.name for path in (home / "imports").iterdir()) == ["mine"]


def test_links_are_copied_as_links_and_a_pipe_is_left_out(home: Path, pictures: Path) -> None:
    (pictures / "good" / "secret").symlink_to("/etc/hostname")
    os.mkfifo(pictures / "good" / "pipe")
    said: list[str] = []
    copied = Path(stage(pictures, "keys", said.append).location)
    assert (copied / "good" / "secret").is_symlink()
    assert not (copied / "good" / "pipe").exists()
    assert "Left out" in said[-1]
    assert "pipe" in said[-1]


def test_a_copy_that_fails_leaves_nothing(
    home: Path, pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copy2", full)
    with pytest.raises(BadInput, match="No space left"):
        stage(pictures, "keys", quiet)
    assert list((home / "imports" / "keys").iterdir()) == []


def test_what_cannot_be_brought_is_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty" / "deep").mkdir(parents=True)
    os.mkfifo(tmp_path / "pipe")
    for name, said in (("none", "no such"), ("empty", "empty"), ("pipe", "neither")):
        with pytest.raises(BadInput, match=said):
            stage(tmp_path / name, "keys", quiet)
    with pytest.raises(BadInput, match="lower-case"):
        stage(tmp_path / "empty", "../up", quiet)
    assert not (home / "imports").exists()
