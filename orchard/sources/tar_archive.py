"""Tar archives (ustar, GNU, pax), plain or packed with gzip, bzip2 or xz, read as a stream.

Only headers and contents of regular files are looked at. Links are never followed, so what they
point to does not matter.
"""

from __future__ import annotations

import lzma
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any, cast

from orchard.errors import BadInput
from orchard.sources.base import Entry, Found, Limits, Refusal, Source, Wanted
from orchard.sources.compact import NameTable
from orchard.sources.danger import Danger, claim, damaged, refuse_count
from orchard.sources.folder import too_large
from orchard.sources.forward import HEADER_BYTES, ForwardReader
from orchard.sources.names import UnusableName, decoded, is_archive, printable

_BLOCK = 512
_DAMAGES = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError, ValueError)


def is_tar(start: bytes) -> bool:
    """Whether the first 512 bytes are the header of a tar archive, or its end."""
    if len(start) < _BLOCK:
        return False
    try:
        tarfile.TarInfo.frombuf(start[:_BLOCK], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return not any(start)
    return True


class TarSource(Source):
    """The members of a tar archive, in their order; each walk reads the file anew."""

    def __init__(self, path: Path, limits: Limits) -> None:
        super().__init__(path.name)
        self._path = path
        self._limits = limits

    def walk(self, wanted: Wanted) -> Iterator[Found]:
        self.notices.clear()
        try:
            with closing(ForwardReader(self._path, self._limits)) as reader:
                yield from self._members(reader, wanted)
        except _DAMAGES as error:
            raise damaged(self.title, error) from error

    def _members(self, reader: ForwardReader, wanted: Wanted) -> Iterator[Found]:
        names = NameTable()
        archive = tarfile.TarFile(fileobj=cast(IO[bytes], reader), mode="r")
        count = 0
        member = archive.next()
        while member is not None:
            count += 1
            refuse_count(count, self._limits)
            found = self._one(archive, member, reader, wanted, names)
            if found is not None:
                yield found
            # tarfile keeps every member it has seen, which would fill the memory.
            cast(Any, archive).members.clear()
            reader.allow(HEADER_BYTES)
            member = archive.next()
        if len(reader.last) != _BLOCK or any(reader.last):
            raise EOFError("the mark at its end is missing")
        reader.finish()

    def _one(
        self,
        archive: tarfile.TarFile,
        member: tarfile.TarInfo,
        reader: ForwardReader,
        wanted: Wanted,
        names: NameTable,
    ) -> Found | None:
        name = self._name(member)
        if member.isdir():
            return None
        try:
            path = claim(name, names)
        except UnusableName as error:
            return Refusal(printable(name), "unusable_name", f"{error}")
        except Danger as danger:
            return danger.refusal
        if "\\" in name:
            self.notices["Backslashes in names were read as folders"] += 1
        if member.issym() or member.islnk():
            return Refusal(path, "link", "This is a link; links are not followed")
        if not member.isreg() or member.issparse():
            return Refusal(path, "special_file", "This is no regular file")
        if is_archive(path):
            return Refusal(path, "nested_archive", "An archive in the archive is not unpacked")
        if member.size > self._limits.entry_bytes:
            return too_large(path, member.size, self._limits)
        entry = Entry(path, member.size)
        return entry, (self._read(member, reader) if wanted(entry) else None)

    def _read(self, member: tarfile.TarInfo, reader: ForwardReader) -> bytes:
        reader.allow(member.size)
        reader.seek(member.offset_data)
        payload = reader.read(member.size)
        if len(payload) != member.size:
            raise EOFError("it ends in the middle of a file")
        return payload

    def _name(self, member: tarfile.TarInfo) -> str:
        name = member.name
        try:
            name.encode()
        except UnicodeEncodeError:
            name, encoding = decoded(name.encode("utf-8", "surrogateescape"), "latin-1")
            self.notices[f"Names without a stated encoding were read as {encoding}"] += 1
        return name


def not_tar(path: Path, limits: Limits) -> BadInput | None:
    """The error for a compressed file that holds no tar archive; None where it holds one."""
    try:
        with closing(ForwardReader(path, limits)) as reader:
            start = reader.read(_BLOCK)
    except _DAMAGES as error:
        return damaged(path.name, error)
    if is_tar(start):
        return None
    return BadInput(
        "This compressed file holds no tar archive",
        value=path.name,
        way_out="Pack the folder as zip, tar.gz or 7z",
    )
