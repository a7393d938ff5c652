"""Zip archives, read without unpacking them to files.

Format: PKWARE APPNOTE 6.3.10. The directory at the end of the file is judged before any content is
read: number of entries, sizes, ratios, and whether entries lie over each other (D. Fifield, "A
better zip bomb", WOOT 2019).
"""

from __future__ import annotations

import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from orchard.errors import BadInput
from orchard.sources.base import Entry, Found, Limits, Refusal, Source, Wanted, read_at_most
from orchard.sources.compact import NameTable
from orchard.sources.danger import Danger, check_ratio, claim, damaged, refuse_count
from orchard.sources.folder import too_large
from orchard.sources.names import UnusableName, decoded, is_archive, printable

_UTF8_FLAG = 0x800
_ENCRYPTED_FLAG = 0x1
_UNICODE_PATH = 0x7075
_END_SIZE = 22
_SMALLEST_RECORD = 46
_MAXIMUM_RECORD = _SMALLEST_RECORD + 1024


class ZipSource(Source):
    """The entries of a zip archive in the order of its directory."""

    def __init__(self, path: Path, limits: Limits) -> None:
        super().__init__(path.name)
        self._limits = limits
        self._packed = path.stat().st_size
        self._check_directory_size(path)
        try:
            self._archive = self._resources.enter_context(zipfile.ZipFile(path))
        except (zipfile.BadZipFile, OSError, ValueError, struct.error) as error:
            raise damaged(path.name, error) from error
        self._check_claims()

    def walk(self, wanted: Wanted) -> Iterator[Found]:
        self.notices.clear()
        names = NameTable()
        for info in self._archive.infolist():
            if info.is_dir() or info.filename.endswith("\\"):
                continue
            yield self._one(info, wanted, names)

    def _one(self, info: zipfile.ZipInfo, wanted: Wanted, names: NameTable) -> Found:
        name = self._name(info)
        try:
            path = claim(name, names)
        except UnusableName as error:
            return Refusal(printable(name), "unusable_name", f"{error}")
        except Danger as danger:
            return danger.refusal
        if "\\" in name:
            self.notices["Backslashes in names were read as folders"] += 1
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind == stat.S_IFLNK:
            return Refusal(path, "link", "This is a link; links are not followed")
        if kind not in (0, stat.S_IFREG):
            return Refusal(path, "special_file", "This is no regular file")
        if info.flag_bits & _ENCRYPTED_FLAG:
            return Refusal(path, "encrypted", "This entry is protected by a password")
        if is_archive(path):
            return Refusal(path, "nested_archive", "An archive in the archive is not unpacked")
        if info.file_size > self._limits.entry_bytes:
            return too_large(path, info.file_size, self._limits)
        entry = Entry(path, info.file_size)
        if not wanted(entry):
            return entry, None
        return self._read(entry, info)

    def _read(self, entry: Entry, info: zipfile.ZipInfo) -> Found:
        try:
            with self._archive.open(info) as file:
                payload = read_at_most(file, self._limits.entry_bytes)
        except NotImplementedError as error:
            return Refusal(entry.path, "unsupported_compression", f"{error}")
        except (
            zipfile.BadZipFile,
            zlib.error,
            lzma.LZMAError,
            EOFError,
            OSError,
            RuntimeError,
        ) as e:
            return Refusal(entry.path, "damaged", f"The entry is damaged: {e}")
        return (entry, payload) if payload is not None else too_large(entry.path, -1, self._limits)

    def _name(self, info: zipfile.ZipInfo) -> str:
        name = info.orig_filename
        if name.isascii() or info.flag_bits & _UTF8_FLAG:
            return name
        raw = name.encode("cp437")
        stored = _unicode_path(info.extra, raw)
        if stored is not None:
            return stored
        name, encoding = decoded(raw, "cp437")
        self.notices[f"Names without a stated encoding were read as {encoding}"] += 1
        return name

    def _check_directory_size(self, path: Path) -> None:
        """Refuse a directory that is too long before zipfile reads it whole into memory."""
        length = _directory_length(path)
        if length is not None and length > self._limits.entries * _MAXIMUM_RECORD:
            raise BadInput(
                "The archive's directory is too long",
                value=f"{path.name}: {length:,} bytes",
                way_out="Import it in parts, or raise the setting maximum_entries",
            )

    def _check_claims(self) -> None:
        entries = self._archive.infolist()
        limits = self._limits
        refuse_count(len(entries), limits)
        packed = sum(entry.compress_size for entry in entries)
        if packed > self._packed:
            raise BadInput(
                "The archive's entries lie over each other, as in an archive bomb",
                value=self.title,
                way_out="Pack the files anew",
            )
        for entry in entries:
            check_ratio(entry.filename, entry.file_size, entry.compress_size, limits)
        check_ratio(self.title, sum(entry.file_size for entry in entries), self._packed, limits)


def _unicode_path(extra: bytes, raw: bytes) -> str | None:
    """The name in the Info-ZIP Unicode Path extra field, where it belongs to this raw name."""
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<HH", extra)
        body = extra[4 : 4 + length]
        extra = extra[4 + length :]
        if kind == _UNICODE_PATH and len(body) > 5 and body[0] == 1:
            (checksum,) = struct.unpack_from("<I", body, 1)
            if checksum == zlib.crc32(raw):
                try:
                    return body[5:].decode()
                except UnicodeDecodeError:
                    return None
    return None


def _directory_length(path: Path) -> int | None:
    """Length in bytes of the central directory, as the end record says; None where there is none."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _END_SIZE - 0xFFFF))
        tail = file.read()
        at = tail.rfind(b"PK\x05\x06")
        if at < 0 or len(tail) - at < _END_SIZE:
            return None
        (length,) = struct.unpack_from("<I", tail, at + 12)
        locator = at - 20
        if locator >= 0 and tail[locator : locator + 4] == b"PK\x06\x07":
            (offset,) = struct.unpack_from("<Q", tail, locator + 8)
            file.seek(min(offset, size))
            record = file.read(56)
            if len(record) == 56 and record[:4] == b"PK\x06\x06":
                (length,) = struct.unpack_from("<Q", record, 40)
    return int(length)
