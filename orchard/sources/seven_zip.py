"""7z archives: unpacked once into one spool file, since their entries can only be read in order.

Names inside the archive are never used as paths. The directory is judged before anything is
unpacked: number of entries, sizes, ratio, and the memory that the decoders ask for
(7zFormat.txt and Methods.txt of the LZMA SDK).
"""

from __future__ import annotations

import lzma
import shutil
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

import py7zr
from py7zr.exceptions import ArchiveError, PasswordRequired
from py7zr.io import Py7zIO, WriterFactory

from orchard.errors import BadInput, TryAgain
from orchard.sources.base import CHUNK, Entry, Found, Limits, Refusal, Source, Wanted
from orchard.sources.compact import NameTable
from orchard.sources.danger import Danger, check_ratio, claim, damaged, refuse_count
from orchard.sources.folder import too_large
from orchard.sources.names import UnusableName, is_archive, printable

_MAXIMUM_DECODER_MEMORY = 512 * CHUNK
_MAXIMUM_HEADER = 256 * CHUNK
_LZMA = b"\x03\x01\x01"
_LZMA2 = b"\x21"
_PPMD = b"\x03\x04\x01"
_DAMAGES: tuple[type[Exception], ...] = (
    # What py7zr lets through when an archive's structure is broken.
    *(ArchiveError, lzma.LZMAError, EOFError, OSError, ValueError, struct.error, TypeError),
    *(KeyError, IndexError, AttributeError, AssertionError, RuntimeError, MemoryError),
)


class _Piece(Py7zIO):
    """The place in the spool file where one entry goes."""

    def __init__(self, spool: IO[bytes]) -> None:
        self._spool = spool
        self.offset = spool.tell()
        self.length = 0

    def write(self, s: bytes | bytearray) -> int:
        self._spool.write(s)
        self.length += len(s)
        return len(s)

    def read(self, size: int | None = None) -> bytes:
        return b""

    def seek(self, offset: int, whence: int = 0) -> int:
        return 0

    def flush(self) -> None:
        return

    def size(self) -> int:
        return self.length


class _Spool(WriterFactory):
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.pieces: dict[str, _Piece] = {}

    def create(self, filename: str) -> Py7zIO:
        piece = _Piece(self._file)
        # Of two entries of one name only the first is ever asked for.
        self.pieces.setdefault(filename, piece)
        return piece


class SevenZipSource(Source):
    """The entries of a 7z archive in the order of its directory.

    Args:
        workspace: folder for the spool file; it has no name there, so nothing is left behind.
    """

    def __init__(self, path: Path, limits: Limits, workspace: Path) -> None:
        super().__init__(path.name)
        self._limits = limits
        self._found: list[tuple[str, int] | Refusal] = []
        self._pieces: dict[str, _Piece] = {}
        self._spool = self._resources.enter_context(
            tempfile.TemporaryFile(dir=workspace)  # noqa: SIM115 — entered in this line
        )
        check_header_length(path)
        try:
            with path.open("rb") as file, py7zr.SevenZipFile(file) as archive:
                self._judge(archive, path.stat().st_size, workspace)
        except PasswordRequired as error:
            raise _encrypted(path.name) from error
        except _DAMAGES as error:
            raise damaged(path.name, error) from error

    def _judge(self, archive: py7zr.SevenZipFile, packed: int, workspace: Path) -> None:
        if archive.needs_password():
            raise _encrypted(self.title)
        check_decoders(archive, self.title)
        refuse_count(len(archive.files), self._limits)
        unpacked = sum(int(entry.uncompressed or 0) for entry in archive.files)
        check_ratio(self.title, unpacked, packed, self._limits)
        free = shutil.disk_usage(workspace).free
        if unpacked > free:
            raise TryAgain(
                "There is not enough room on the disk to unpack the archive",
                value=f"{self.title}: {unpacked:,} bytes, {free:,} free",
                way_out="Make room, then try again",
            )
        names = NameTable()
        targets: dict[str, str] = {}
        for entry in archive.files:
            if entry.is_directory:
                continue
            found = self._one(entry, names)
            self._found.append(found)
            if not isinstance(found, Refusal):
                targets[entry.filename] = found[0]
        spool = _Spool(self._spool)
        if targets:
            archive.extract(targets=list(targets), factory=spool)
        for name, path in targets.items():
            self._pieces[path] = spool.pieces[PurePosixPath(name).as_posix()]

    def _one(self, entry: Any, names: NameTable) -> tuple[str, int] | Refusal:
        name = str(entry.filename)
        try:
            path = claim(name, names)
        except UnusableName as error:
            return Refusal(printable(name), "unusable_name", f"{error}")
        except Danger as danger:
            return danger.refusal
        size = int(entry.uncompressed or 0)
        if entry.is_symlink or entry.is_junction:
            return Refusal(path, "link", "This is a link; links are not followed")
        if not entry.is_file:
            return Refusal(path, "special_file", "This is no regular file")
        if is_archive(path):
            return Refusal(path, "nested_archive", "An archive in the archive is not unpacked")
        if size > self._limits.entry_bytes:
            return too_large(path, size, self._limits)
        return path, size

    def walk(self, wanted: Wanted) -> Iterator[Found]:
        for found in self._found:
            if isinstance(found, Refusal):
                yield found
                continue
            entry = Entry(*found)
            yield entry, (self._read(entry.path) if wanted(entry) else None)

    def _read(self, path: str) -> bytes:
        piece = self._pieces[path]
        self._spool.seek(piece.offset)
        return self._spool.read(piece.length)


def check_header_length(path: Path) -> None:
    """Raises BadInput where the directory, which is read whole, is too long or cut off."""
    with path.open("rb") as file:
        start = file.read(32)
    if len(start) < 32:
        raise damaged(path.name, EOFError("it ends in its first bytes"))
    offset, length = struct.unpack_from("<QQ", start, 12)
    if 32 + offset + length > path.stat().st_size:
        raise damaged(path.name, EOFError("its directory is missing"))
    if length > _MAXIMUM_HEADER:
        raise BadInput(
            "The archive's directory is too long",
            value=f"{path.name}: {length:,} bytes",
            way_out="Import it in parts",
        )


def check_decoders(archive: py7zr.SevenZipFile, name: str) -> None:
    """Raises BadInput where the archive's decoders ask for too much memory."""
    streams = getattr(getattr(archive, "header", None), "main_streams", None)
    for folder in streams.unpackinfo.folders if streams is not None else ():
        for coder in folder.coders:
            memory = decoder_memory(coder["method"], coder.get("properties") or b"")
            if memory > _MAXIMUM_DECODER_MEMORY:
                raise BadInput(
                    "The archive needs too much memory to be unpacked",
                    value=f"{name}: {memory:,} bytes",
                    way_out="Pack it with a smaller dictionary, or as zip",
                )


def decoder_memory(method: bytes, properties: bytes) -> int:
    """Bytes of dictionary or model that a 7z coder asks for; 0 where it has none."""
    if method in (_LZMA, _PPMD) and len(properties) >= 5:
        return int(struct.unpack_from("<I", properties, 1)[0])
    if method == _LZMA2 and properties:
        bits = properties[0]
        return (2 | (bits & 1)) << (bits // 2 + 11) if bits < 40 else 0xFFFFFFFF
    return 0


def _encrypted(name: str) -> BadInput:
    return BadInput(
        "The archive is protected by a password",
        value=name,
        way_out="Pack the files anew without a password",
    )
