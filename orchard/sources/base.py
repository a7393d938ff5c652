"""What a source of files is: something that can be walked, entry by entry, as often as needed."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import IO

CHUNK = 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """What an import may cost.

    Attributes:
        archive_bytes: bytes of all entries together, unpacked.
        archive_ratio: unpacked over packed bytes.
        entry_bytes: bytes of one entry, unpacked.
        entries: number of entries.
    """

    archive_bytes: int
    archive_ratio: float
    entry_bytes: int
    entries: int


@dataclass(frozen=True)
class Entry:
    """A file of a source.

    Attributes:
        path: relative path in Unicode form NFC with `/` between its parts.
        size: size in bytes, as the source says.
    """

    path: str
    size: int


@dataclass(frozen=True)
class Refusal:
    """An entry, or a row of a label file, that is not taken, with a short code and a sentence."""

    path: str
    code: str
    reason: str


Wanted = Callable[[Entry], bool]
Found = tuple[Entry, bytes | None] | Refusal


class Source(ABC):
    """A folder or an archive.

    Walks are repeatable and give the same entries in the same order. `notices` counts what was
    set right on the way (sentence → number of entries), over one walk.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.notices: Counter[str] = Counter()
        self._resources = contextlib.ExitStack()

    @abstractmethod
    def walk(self, wanted: Wanted) -> Iterator[Found]:
        """Every entry once: (entry, its bytes where `wanted` says so, else None), or a refusal.

        Raises BadInput where the whole source is damaged or dangerous.
        """

    def close(self) -> None:
        """Give back files and temporary folders."""
        self._resources.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_at_most(file: IO[bytes], limit: int) -> bytes | None:
    """All bytes of a file, or None where there are more than `limit`; holds no more than that."""
    parts: list[bytes] = []
    length = 0
    while chunk := file.read(min(CHUNK, limit + 1 - length)):
        parts.append(chunk)
        length += len(chunk)
        if length > limit:
            return None
    return parts[0] if len(parts) == 1 else b"".join(parts)
