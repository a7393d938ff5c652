"""A folder a class: where in a path the class and the split stand."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchard.formats.base import Label, Role
from orchard.formats.class_folders import ClassFolders
from orchard.sources.listing import Listing

Rows = dict[str, tuple[str | None, str | None]]


def read(paths: list[str]) -> tuple[Rows, tuple[str, ...]]:
    """Path → (class, split), and the notices."""
    listing = Listing("data")
    for path in paths:
        listing.add(path, 1)
    evidence = ClassFolders().recognise(listing)
    assert evidence is not None
    reading = ClassFolders().read(listing, evidence)
    rows: Rows = {}
    for path in paths:
        labels = [row.annotation for row in reading.sample(path) if isinstance(row, Label)]
        rows[path] = (labels[0] if labels else None, reading.split(path))
    return rows, evidence.notices


@pytest.mark.parametrize(
    "rows",
    [
        # plain, and below folders that say nothing
        {"cat/1.jpg": ("cat", None), "dog/2.jpg": ("dog", None)},
        {"data/set/cat/1.jpg": ("cat", None), "data/set/dog/2.jpg": ("dog", None)},
        {"wrap/cat/1.jpg": ("cat", None)},
        # splits above the classes, below them, and with a folder between
        {"train/cat/1.jpg": ("cat", "train"), "test/cat/2.jpg": ("cat", "test")},
        {"d/Train/cat/1.jpg": ("cat", "train"), "d/Valid/dog/2.jpg": ("dog", "validation")},
        {"cat/train/1.jpg": ("cat", "train"), "dog/val/1.jpg": ("dog", "validation")},
        {"训练集/猫/1.jpg": ("猫", "train"), "测试集/猫/2.jpg": ("猫", "test")},
        # nested
        {"a/cat/1.jpg": ("cat", None), "a/dog/1.jpg": ("dog", None), "b/cow/1.jpg": ("cow", None)},
        {"ok/mon/1.jpg": ("ok", None), "bad/mon/1.jpg": ("bad", None), "bad/tue/1.jpg": ("bad", None)},
        {"ok/1.jpg": ("ok", None), "ok/more/2.jpg": ("ok", None), "bad/1.jpg": ("bad", None)},
        {"ok/img/1.jpg": ("ok", None), "bad/img/1.jpg": ("bad", None)},
        # pictures without an extension, where there are no others
        {"cat/1": ("cat", None), "dog/2": ("dog", None)},
        # loose pictures have no label
        {"1.jpg": (None, None), "cat/1.jpg": ("cat", None)},
        {"train/1.jpg": (None, "train"), "train/a/1.jpg": ("a", "train"), "val/a/1.jpg": ("a", "validation")},
    ],
)  # fmt: skip
def test_layouts(rows: Rows) -> None:
    assert read(list(rows))[0] == rows


def test_one_split_alone_is_no_split() -> None:
    rows, notices = read(["train/cat/1.jpg", "train/dog/2.jpg"])
    assert rows == {"train/cat/1.jpg": ("cat", None), "train/dog/2.jpg": ("dog", None)}
    assert any("train" in notice for notice in notices)


def test_loose_and_nested_pictures_are_said() -> None:
    assert "1 pictures lie in no class folder" in read(["1.jpg", "cat/1.jpg"])[1][0]
    assert "nested" in read(["a/cat/1.jpg", "b/cow/1.jpg"])[1][0]


def test_pictures_without_folders_are_not_recognised() -> None:
    listing = Listing("data")
    assert ClassFolders().recognise(listing) is None
    listing.add("1.jpg", 1)
    assert ClassFolders().recognise(listing) is None


@pytest.mark.parametrize("extension", [".wav", ".txt"])
def test_samples_of_other_tasks_are_recognised_by_their_endings(extension: str) -> None:
    paths = [f"hum/1{extension}", f"knock/2{extension}", f"3{extension}"]
    listing = Listing("data", "sound", frozenset({extension}))
    pictures = Listing("data")
    for path in paths:
        listing.add(path, 1)
        pictures.add(path, 1)
    assert ClassFolders().recognise(pictures) is None
    evidence = ClassFolders().recognise(listing)
    assert evidence is not None
    assert "2 sounds" in evidence.reason
    assert "1 sounds lie in no class folder" in evidence.notices[0]
    reading = ClassFolders().read(listing, evidence)
    assert [row.annotation for row in reading.sample(paths[0]) if isinstance(row, Label)] == ["hum"]
    assert reading.role(paths[1]) is Role.SAMPLE


def test_accompanying_files_are_no_samples_but_odd_files_are() -> None:
    listing = Listing("data")
    listing.add("cat/1.jpg", 1)
    evidence = ClassFolders().recognise(listing)
    assert evidence is not None
    reading = ClassFolders().read(listing, evidence)
    for path in ("README.md", "cat/LICENSE", "labels.csv", "set.SOURCE.md"):
        assert reading.role(path) is Role.OTHER
    for path in ("cat/1.jpg", "cat/notes.txt", "cat/film.mp4", "cat/none"):
        assert reading.role(path) is Role.SAMPLE


@given(
    st.lists(
        st.lists(st.sampled_from(["a", "b", "train", "test", "x"]), max_size=4).map(
            lambda folders: "/".join([*folders, "1.jpg"])
        ),
        min_size=1,
        max_size=8,
        unique=True,
    )
)
def test_every_class_is_a_folder_of_its_picture(paths: list[str]) -> None:
    listing = Listing("data")
    for path in paths:
        listing.add(path, 1)
    if ClassFolders().recognise(listing) is None:
        # Only folders of splits, or none at all: there is no class.
        return
    rows, _ = read(paths)
    for path, (label, split) in rows.items():
        folders = Counter(path.split("/")[:-1])
        assert label is None or label in folders
        assert split is None or split in folders
        if label == split and label is not None:
            assert folders[label] > 1
