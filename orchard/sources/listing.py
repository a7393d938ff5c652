"""What the first walk over a source found, in memory that does not grow with its samples."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from orchard.errors import BadInput
from orchard.sources.compact import NameTable
from orchard.sources.names import ending, stem

FIRST = 10
MAXIMUM_FOLDERS = 100_000
_ENDING_CODES = 254

PICTURE_ENDINGS = frozenset(
    {
        *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".apng", ".bmp", ".dib", ".gif", ".webp"),
        *(".tif", ".tiff", ".heic", ".heif", ".hif", ".avif", ".avifs", ".mpo", ".jps", ".ico"),
        *(".ppm", ".pgm", ".pbm", ".pnm", ".jp2", ".j2k", ".jpx", ".jpf", ".j2c", ".jpc"),
    }
)
"""Extensions by which formats are recognised; whether a file is a picture, its content says."""


@dataclass
class Listing:
    """Counts and names that formats are recognised by.

    Attributes:
        title: name of the source.
        files: number of files that are not junk.
        size: their bytes together.
        endings: number of files by extension in lower case.
        folders: number of pictures by the folder they lie in ("" is the top).
        bare: number of files without an extension by the folder they lie in.
        refused: number of entries that the source itself refused, by code.
        first: the first paths, to be shown.
        tables: what may be label tables (path → copy on the disk), as far as they were kept.
        documents: the first JSON files (path → copy on the disk), to be looked into.
        preferred: path of the table the person pointed at, if any.
    """

    title: str
    files: int = 0
    size: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    folders: Counter[str] = field(default_factory=Counter)
    bare: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    first: list[str] = field(default_factory=list)
    tables: dict[str, Path] = field(default_factory=dict)
    documents: dict[str, Path] = field(default_factory=dict)
    preferred: str | None = None
    _paths: NameTable = field(default_factory=NameTable)
    _stems: NameTable = field(default_factory=NameTable)
    _codes: dict[str, int] = field(default_factory=dict)

    def add(self, path: str, size: int) -> None:
        """Count one file."""
        extension = ending(path)
        self.files += 1
        self.size += size
        if extension in self.endings or len(self.endings) < _ENDING_CODES:
            self.endings[extension] += 1
        if len(self.first) < FIRST:
            self.first.append(path)
        self._paths.add(path)
        if extension in PICTURE_ENDINGS:
            self._count_picture(path, extension)
        elif not extension and len(self.bare) < MAXIMUM_FOLDERS:
            self.bare[path.rpartition("/")[0]] += 1

    def _count_picture(self, path: str, extension: str) -> None:
        self.folders[path.rpartition("/")[0]] += 1
        if len(self.folders) > MAXIMUM_FOLDERS:
            raise BadInput(
                "The pictures lie in too many folders",
                value=f"more than {MAXIMUM_FOLDERS:,}",
                way_out="Use a folder a class, or a table of paths and labels",
            )
        written = path[len(path) - len(extension) :]
        if written in self._codes or len(self._codes) < _ENDING_CODES:
            code = self._codes.setdefault(written, len(self._codes))
            self._stems.add(stem(path), code)

    @property
    def pictures(self) -> int:
        """Number of files with a picture's extension."""
        return sum(self.folders.values())

    def __contains__(self, path: str) -> bool:
        """Whether the source has a file of this path."""
        return path in self._paths

    def picture_of(self, path_without_extension: str) -> str | None:
        """The picture with this path but for the extension; None where there is none."""
        code = self._stems.get(path_without_extension)
        if code is None:
            return None
        return path_without_extension + next(e for e, c in self._codes.items() if c == code)
