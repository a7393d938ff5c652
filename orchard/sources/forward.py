"""Reading a stream once from front to back, compressed or not, with a guard against bombs."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from pathlib import Path
from typing import IO, cast

from orchard.errors import BadInput
from orchard.sources.base import CHUNK, Limits
from orchard.sources.danger import check_ratio, damaged

_XZ_MEMORY = 192 * CHUNK
HEADER_BYTES = 8 * CHUNK
"""Bytes of headers that are taken between two members of a tar archive."""


class _XzStream:
    """Decompresses xz with a limit on the dictionary, which the stream itself chooses."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._decompressor = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
        self._started = False

    def read(self, size: int) -> bytes:
        while True:
            given = b""
            if self._decompressor.eof:
                given = self._decompressor.unused_data.lstrip(b"\0") or self._raw.read(CHUNK)
                if not given.lstrip(b"\0"):
                    return b""
                self._decompressor = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
            elif self._decompressor.needs_input:
                given = self._raw.read(CHUNK)
                if not given:
                    raise EOFError("the compressed stream ends too early")
            payload = self._decompressor.decompress(given, size)
            if payload:
                return payload


def is_compressed(start: bytes) -> bool:
    """Whether a file that begins so is a gzip, bzip2 or xz stream."""
    return start.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00"))


class ForwardReader:
    """What `tarfile` needs of a file: `read`, `tell` and a `seek` that leads forward only.

    Nothing that an archive says makes one call hold more than `HEADER_BYTES`. Unpacked bytes are
    counted against the limits as they come.

    Args:
        path: the file; gzip, bzip2 and xz are told by its first bytes.
    """

    def __init__(self, path: Path, limits: Limits) -> None:
        self._name = path.name
        self._limits = limits
        self._raw = path.open("rb")
        self._size = os.fstat(self._raw.fileno()).st_size
        start = self._raw.read(6)
        self._raw.seek(0)
        self.compressed = is_compressed(start)
        self._stream = self._decompressed(start)
        self._position = 0
        self._budget = HEADER_BYTES
        self.last = b""
        """The bytes that the last `read` gave."""

    def _decompressed(self, start: bytes) -> IO[bytes]:
        if start.startswith(b"\x1f\x8b"):
            return cast(IO[bytes], gzip.GzipFile(fileobj=self._raw))
        if start.startswith(b"BZh"):
            return cast(IO[bytes], bz2.BZ2File(self._raw))
        if self.compressed:
            return cast(IO[bytes], _XzStream(self._raw))
        return self._raw

    def allow(self, size: int) -> None:
        """Let the coming reads take so many bytes together."""
        self._budget = size

    def tell(self) -> int:
        """Position in the unpacked bytes."""
        return self._position

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; fewer only at the end."""
        self._budget -= size
        if size < 0 or self._budget < 0:
            raise BadInput(
                "The archive has headers that are too long, as made to fill the memory",
                value=self._name,
                way_out="Pack the files anew",
            )
        parts: list[bytes] = []
        missing = size
        while missing > 0 and (part := self._some(missing)):
            parts.append(part)
            missing -= len(part)
        self.last = parts[0] if len(parts) == 1 else b"".join(parts)
        return self.last

    def seek(self, position: int) -> int:
        """Move forward."""
        if position < self._position:
            raise damaged(self._name, ValueError("a header leads backwards"))
        if not self.compressed:
            # Never beyond the end: what is missing there must be noticed as missing.
            self._position = self._raw.seek(min(position, self._size))
            return self._position
        while self._position < position and self._some(position - self._position):
            pass
        return self._position

    def finish(self) -> None:
        """Read what is left, so that checksums at the end are proved."""
        while self._some(CHUNK):
            pass

    def _some(self, size: int) -> bytes:
        payload = self._stream.read(min(size, CHUNK))
        self._position += len(payload)
        if self.compressed:
            check_ratio(self._name, self._position, self._raw.tell(), self._limits)
        elif self._position > self._limits.archive_bytes:
            check_ratio(self._name, self._position, self._position, self._limits)
        return payload

    def close(self) -> None:
        """Close the file."""
        self._raw.close()
