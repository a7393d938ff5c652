"""Zip archives: what is read, what is refused by name, what is refused whole."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from pathlib import Path

import pytest

from orchard.errors import BadInput
from orchard.sources import Limits
from orchard.sources.zip_archive import ZipSource
from tests.orchard.sources.helpers import LIMITS, MEBIBYTE, contents, refusals, write_zip


def test_it_reads_what_was_packed(tmp_path: Path) -> None:
    files = {"a/1.jpg": b"one", "a/2.jpg": b"", "b/ü.jpg": b"x" * 100_000}
    with ZipSource(write_zip(tmp_path / "a.zip", files), LIMITS) as source:
        assert contents(source) == files
        assert contents(source) == files


def test_odd_entries_are_refused_by_name_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        link = zipfile.ZipInfo("a/link.jpg")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        pipe = zipfile.ZipInfo("a/pipe.jpg")
        pipe.external_attr = (stat.S_IFIFO | 0o644) << 16
        archive.writestr(pipe, "")
        archive.writestr("a/1.jpg", b"one")
        archive.writestr("a/1.JPG", b"other")
        archive.writestr("A/1.jpg", b"kept apart")
        archive.writestr("a/more.zip", b"PK")
        archive.writestr("a/big.jpg", b"x" * 9 * MEBIBYTE)
        archive.writestr("a/new\nline.jpg", b"x")
    with ZipSource(path, LIMITS) as source:
        assert refusals(source) == {
            "a/link.jpg": "link",
            "a/pipe.jpg": "special_file",
            "a/1.JPG": "duplicate_name",
            "a/more.zip": "nested_archive",
            "a/big.jpg": "too_large",
            "a/new\\nline.jpg": "unusable_name",
        }
        assert contents(source) == {"a/1.jpg": b"one", "A/1.jpg": b"kept apart"}


@pytest.mark.parametrize("name", ["../x.jpg", "/x.jpg", "C:\\x.jpg", "a\\..\\..\\x.jpg"])
def test_a_name_that_leads_out_refuses_the_whole_archive(tmp_path: Path, name: str) -> None:
    path = write_zip(tmp_path / "a.zip", {"a/1.jpg": b"one", name: b"two"})
    with (
        ZipSource(path, LIMITS) as source,
        pytest.raises(BadInput, match=r"The archive holds") as e,
    ):
        contents(source)
    assert e.value.value == name


def test_windows_separators_are_read_as_folders(tmp_path: Path) -> None:
    with ZipSource(write_zip(tmp_path / "a.zip", {"cat\\1.jpg": b"one"}), LIMITS) as source:
        assert contents(source) == {"cat/1.jpg": b"one"}
        assert source.notices == {"Backslashes in names were read as folders": 1}


def renamed(path: Path, ascii_name: str, raw: bytes) -> Path:
    """Replace a name in the archive by raw bytes of the same length."""
    content = path.read_bytes()
    assert content.count(ascii_name.encode()) == 2
    path.write_bytes(content.replace(ascii_name.encode(), raw))
    return path


@pytest.mark.parametrize(
    ("encoding", "text"), [("gbk", "正常.jpg"), ("utf-8", "正常.jpg"), ("cp437", "Größe.jpg")]
)
def test_names_without_a_stated_encoding(tmp_path: Path, encoding: str, text: str) -> None:
    raw = text.encode(encoding)
    placeholder = "q" * len(raw)
    path = write_zip(tmp_path / "a.zip", {placeholder: b"one"})
    with ZipSource(renamed(path, placeholder, raw), LIMITS) as source:
        assert contents(source) == {text: b"one"}
        assert source.notices.total() == 1


def test_the_unicode_path_field_wins(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    raw = b"q.jpg"
    field = struct.pack("<BI", 1, zlib.crc32(b"\x87.jpg")) + "ç.jpg".encode()
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo(raw.decode())
        info.extra = struct.pack("<HH", 0x7075, len(field)) + field
        archive.writestr(info, b"one")
    path.write_bytes(path.read_bytes().replace(b"q.jpg", b"\x87.jpg"))
    with ZipSource(path, LIMITS) as source:
        assert contents(source) == {"ç.jpg": b"one"}


def test_encrypted_entries_are_refused_by_name(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"a.jpg": b"one", "b.jpg": b"two"})
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\x01\x02")
    content[at + 8] |= 1
    path.write_bytes(content)
    with ZipSource(path, LIMITS) as source:
        assert refusals(source) == {"a.jpg": "encrypted"}
        assert contents(source) == {"b.jpg": b"two"}


def test_an_entry_with_a_wrong_checksum_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.jpg", b"one-one-one")
        archive.writestr("b.jpg", b"two")
    path.write_bytes(path.read_bytes().replace(b"one-one-one", b"one-two-one"))
    with ZipSource(path, LIMITS) as source:
        assert contents(source) == {"b.jpg": b"two"}


def test_bombs_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"a.jpg": bytes(8 * MEBIBYTE)})
    with pytest.raises(BadInput, match="archive bomb") as caught:
        ZipSource(path, LIMITS)
    assert "a.jpg" in str(caught.value)
    small = Limits(archive_bytes=10, archive_ratio=100, entry_bytes=100, entries=10)
    with pytest.raises(BadInput, match="too large when unpacked"):
        ZipSource(write_zip(tmp_path / "b.zip", {"a": b"123456", "b": b"123456"}), small)
    with pytest.raises(BadInput, match="too many files"):
        ZipSource(write_zip(tmp_path / "c.zip", {str(n): b"" for n in range(11)}), small)


def test_entries_that_lie_over_each_other_are_refused(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"a.jpg": bytes(range(256)) * 40})
    with zipfile.ZipFile(path) as archive:
        info = archive.infolist()[0]
        directory = archive.start_dir
    content = path.read_bytes()
    record = content[directory : content.rindex(b"PK\x05\x06")]
    records = b"".join(record.replace(b"a.jpg", f"{n}.jpg".encode()) for n in range(9))
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 9, 9, len(records), directory, 0)
    path.write_bytes(content[:directory] + records + end)
    assert info.compress_size * 9 > path.stat().st_size
    with pytest.raises(BadInput, match="over each other"):
        ZipSource(path, LIMITS)


def test_a_directory_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    length = 3 * 1024 * 11
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 0, 0, length, 0, 0)
    path.write_bytes(bytes(length) + end)
    limits = Limits(archive_bytes=100, archive_ratio=100, entry_bytes=100, entries=10)
    with pytest.raises(BadInput, match="directory is too long"):
        ZipSource(path, limits)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.99])
def test_a_truncated_archive_is_refused_whole(tmp_path: Path, share: float) -> None:
    path = write_zip(tmp_path / "a.zip", {f"{n}.jpg": bytes([n]) * 50 for n in range(20)})
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(BadInput, match="damaged or was cut off"):
        ZipSource(path, LIMITS)
