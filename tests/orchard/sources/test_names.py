"""Names of entries are made safe or refused."""

from __future__ import annotations

import posixpath
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orchard.sources.names import (
    DangerousName,
    UnusableName,
    decoded,
    ending,
    is_archive,
    is_junk,
    printable,
    safe_path,
    stem,
)

PIECES = st.lists(
    st.sampled_from(["..", ".", "", "/", "\\", "a", "C:", "b.jpg", "\0", "é", " ", "~", "\ud800"]),
    max_size=12,
).map("".join)


@given(st.one_of(st.text(max_size=40), PIECES))
@example("..\\..\\x")
@example("a/../../b")
@example("C:\\x")
@example("./C:/x")
@example(" ../x")
def test_a_safe_path_stays_below_its_folder(name: str) -> None:
    try:
        path = safe_path(name)
    except (DangerousName, UnusableName):
        return
    landed = posixpath.normpath(posixpath.join("/base", path))
    assert landed.startswith("/base/")
    assert landed == f"/base/{path}"
    assert "\\" not in path
    assert path == unicodedata.normalize("NFC", path)
    assert safe_path(path) == path
    path.encode()


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../x", "a/../x", "a\\..\\x", "\\\\host\\x", "C:\\x", "c:x", "a/.. /x"]
)
def test_names_that_lead_out_are_dangerous(name: str) -> None:
    with pytest.raises(DangerousName):
        safe_path(name)


@pytest.mark.parametrize("name", ["", ".", "./", "a\0b", "a\nb", "\udcff.jpg", "x" * 1025])
def test_names_that_cannot_be_kept_are_unusable(name: str) -> None:
    with pytest.raises(UnusableName):
        safe_path(name)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("./a//b.jpg", "a/b.jpg"),
        ("class\\one.jpg", "class/one.jpg"),
        ("cafe\u0301.jpg", "caf\u00e9.jpg"),
        ("a..b/c...jpg", "a..b/c...jpg"),
    ],
)
def test_harmless_names_are_straightened(name: str, path: str) -> None:
    assert safe_path(name) == path


@given(st.text(max_size=50))
def test_printable_names_can_be_stored(name: str) -> None:
    printable(name).encode()  # raises where it cannot be stored


def test_names_without_a_stated_encoding() -> None:
    assert decoded("键盘/正常.jpg".encode(), "cp437") == ("键盘/正常.jpg", "UTF-8")
    assert decoded("键盘/正常.jpg".encode("gbk"), "cp437") == ("键盘/正常.jpg", "GBK")
    assert decoded("Straße.jpg".encode("cp437"), "cp437") == ("Straße.jpg", "cp437")


def test_junk() -> None:
    for path in ("a/.DS_Store", "__MACOSX/a/._1.jpg", "Thumbs.db", "a/desktop.ini", ".git/x/y"):
        assert is_junk(path)
    for path in ("a/b.jpg", "desktop.ini.jpg", "macosx/a.jpg"):
        assert not is_junk(path)


def test_endings() -> None:
    assert ending("a/b.JPG") == ".jpg"
    assert ending("a.b/c") == ""
    assert ending("a/.hidden") == ""
    assert stem("a.b/c.tar") == "a.b/c"
    assert is_archive("x/Y.ZIP")
    assert not is_archive("x/zip.jpg")
