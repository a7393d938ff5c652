"""Immutable segments: many samples' bytes one after the other in one file.

Small files are dear on HDFS, so samples are packed. A segment is named by the hash of its content:
the same samples in the same order give the same segment, whoever writes it, and a second write of
it costs nothing. A sample is addressed by a `Reference`.
"""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from types import TracebackType
from typing import IO

from orchard.blobs import keys
from orchard.blobs.store import Blobs
from orchard.errors import OrchardError


@dataclass(frozen=True)
class Reference:
    """Where a sample's bytes lie.

    Attributes:
        segment: key of the segment, from the root of the store.
        offset, length: position and size in bytes.
        sha256: 64 hexadecimal digits of the sample's bytes.
    """

    segment: str
    offset: int
    length: int
    sha256: str


class SegmentWriter:
    """Packs payloads into segments of a data set; memory use does not depend on their number.

    References are known only when their segment is complete, so `add` returns those that were
    completed by this call (often none) and `close` the rest, in the order of adding, each with
    the tag that was given.
    """

    def __init__(self, blobs: Blobs, owner: str, dataset: str, limit: int) -> None:
        self._blobs = blobs
        self._owner = owner
        self._dataset = dataset
        self._limit = limit
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 — lives as long as the writer
        self._digest = hashlib.sha256()
        self._offset = 0
        self._pending: list[tuple[object, int, int, str]] = []

    def __enter__(self) -> SegmentWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, payload: bytes, tag: object) -> list[tuple[object, Reference]]:
        """Append one sample. Returns the (tag, reference) pairs of a segment that became full."""
        done = self.close() if self._offset and self._offset + len(payload) > self._limit else []
        self._file.write(payload)
        self._digest.update(payload)
        digest = hashlib.sha256(payload).hexdigest()
        self._pending.append((tag, self._offset, len(payload), digest))
        self._offset += len(payload)
        return done

    def close(self) -> list[tuple[object, Reference]]:
        """Store the segment that is open. Returns its (tag, reference) pairs."""
        if not self._pending:
            return []
        key = keys.segment(self._owner, self._dataset, self._digest.hexdigest()[:32])
        if not self._blobs.exists(key):
            self._blobs.send(key, self._file)
        references = [
            (tag, Reference(key, offset, length, digest))
            for tag, offset, length, digest in self._pending
        ]
        self._file.seek(0)
        self._file.truncate()
        self._digest = hashlib.sha256()
        self._offset = 0
        self._pending = []
        return references


class SegmentReader:
    """Reads samples by reference, keeping the last segment open (references come sorted)."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._key = ""
        self._file: IO[bytes] | None = None

    def read(self, segment: str, offset: int, length: int) -> bytes:
        """The bytes at a place. Raises OrchardError where the segment is shorter than said."""
        if self._file is None or self._key != segment:
            self.close()
            self._file = self._blobs.open(segment)
            self._key = segment
        self._file.seek(offset)
        payload = self._file.read(length)
        if len(payload) != length:
            raise OrchardError(
                "A segment is shorter than its references say",
                value=f"{segment}: {length} bytes at {offset}",
                way_out="Restore the segment from a backup, or import the data again",
            )
        return payload

    def close(self) -> None:
        """Close the open segment, if any."""
        if self._file is not None:
            self._file.close()
        self._file = None
