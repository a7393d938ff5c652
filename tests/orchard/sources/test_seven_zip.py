"""7z archives."""

from __future__ import annotations

from pathlib import Path

import py7zr
import pytest

from orchard.errors import BadInput
from orchard.sources import Limits
from orchard.sources.seven_zip import SevenZipSource, decoder_memory
from tests.orchard.sources.helpers import LIMITS, MEBIBYTE, contents, refusals, write_tree


def write_7z(path: Path, files: list[tuple[str, bytes]]) -> Path:
    with py7zr.SevenZipFile(path, "w") as archive:
        for name, payload in files:
            archive.writestr(payload, name)
    return path


def test_it_reads_what_was_packed(tmp_path: Path) -> None:
    files = {"a/1.jpg": b"one", "a/2.jpg": b"", "b/ü.jpg": b"xy" * 100_000}
    path = write_7z(tmp_path / "a.7z", list(files.items()))
    with SevenZipSource(path, LIMITS, tmp_path) as source:
        assert contents(source) == files
        assert contents(source) == files
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_packed_whole(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "data", {"cat/1.jpg": b"one", "dog/2.jpg": b"two"})
    (root / "dog" / "link.jpg").symlink_to("2.jpg")
    path = tmp_path / "a.7z"
    with py7zr.SevenZipFile(path, "w") as archive:
        archive.writeall(root, "data")
    with SevenZipSource(path, LIMITS, tmp_path) as source:
        assert contents(source) == {"data/cat/1.jpg": b"one", "data/dog/2.jpg": b"two"}
        assert refusals(source) == {"data/dog/link.jpg": "link"}


def test_odd_entries_are_refused_by_name(tmp_path: Path) -> None:
    files = [("a.jpg", b"1"), ("a.jpg", b"2"), ("b.zip", b"PK"), ("c.jpg", b"x" * 101)]
    path = write_7z(tmp_path / "a.7z", files)
    limits = Limits(archive_bytes=MEBIBYTE, archive_ratio=1000, entry_bytes=100, entries=10)
    with SevenZipSource(path, limits, tmp_path) as source:
        assert refusals(source) == {
            "a.jpg": "duplicate_name",
            "b.zip": "nested_archive",
            "c.jpg": "too_large",
        }
        assert contents(source) == {"a.jpg": b"1"}


@pytest.mark.parametrize("name", ["../x.jpg", "/xx/x.jpg"])
def test_a_name_that_leads_out_refuses_the_whole_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(py7zr.SevenZipFile, "_sanitize_archive_arcname", staticmethod(str))
    monkeypatch.setattr("py7zr.py7zr.check_archive_path", lambda name: True)
    path = write_7z(tmp_path / "a.7z", [("ok.jpg", b"1"), (name, b"2")])
    with pytest.raises(BadInput, match="The archive holds"):
        SevenZipSource(path, LIMITS, tmp_path)


def test_bombs_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    path = write_7z(tmp_path / "a.7z", [("zeros.jpg", bytes(5 * MEBIBYTE))])
    with pytest.raises(BadInput, match="archive bomb"):
        SevenZipSource(path, LIMITS, tmp_path)


def test_a_password_is_named(tmp_path: Path) -> None:
    for name, hidden in (("a.7z", False), ("b.7z", True)):
        with py7zr.SevenZipFile(
            tmp_path / name, "w", password="secret", header_encryption=hidden
        ) as archive:
            archive.writestr(b"one", "a.jpg")
        with pytest.raises(BadInput, match="password"):
            SevenZipSource(tmp_path / name, LIMITS, tmp_path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_archive_is_refused_whole(tmp_path: Path, share: float) -> None:
    path = write_7z(tmp_path / "a.7z", [(f"{n}.jpg", bytes(range(256))) for n in range(5)])
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(BadInput, match="damaged or was cut off"):
        SevenZipSource(path, LIMITS, tmp_path)


@pytest.mark.parametrize("at", range(32, 200, 7))
def test_damage_is_a_sentence_and_never_a_fault(tmp_path: Path, at: int) -> None:
    path = write_7z(tmp_path / "a.7z", [(f"{n}.jpg", bytes(range(64))) for n in range(5)])
    content = bytearray(path.read_bytes())
    content[at % len(content)] ^= 0x55
    path.write_bytes(content)
    with pytest.raises(BadInput):
        SevenZipSource(path, LIMITS, tmp_path)


def test_memory_that_decoders_ask_for() -> None:
    assert decoder_memory(b"\x03\x01\x01", b"\x5d\x00\x00\x00\x04") == 64 * MEBIBYTE
    assert decoder_memory(b"\x21", bytes([24])) == 16 * MEBIBYTE
    assert decoder_memory(b"\x21", bytes([40])) == 0xFFFFFFFF
    assert decoder_memory(b"\x00", b"") == 0
