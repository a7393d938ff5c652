"""What the first walk over a source found, in memory that does not grow with its samples."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from orchard.errors import BadInput
from orchard.sources.compact import NameTable
from orchard.sources.names import ending, stem
from orchard.tasks.base import PICTURE_ENDINGS

FIRST = 10
MAXIMUM_FOLDERS = 100_000
_ENDING_CODES = 254


@dataclass
class Listing:
    """Counts and names that formats are recognised by.

    Attributes:
        title: name of the source.
        sample_word: what a person calls a sample (picture, sound, …).
        sample_endings: extensions by which samples are counted; whether a file is one, the judge
            says.
        files: number of files that are not junk.
        size: their bytes together.
        endings: number of files by extension in lower case.
        folders: number of samples by the folder they lie in ("" is the top).
        bare: number of files without an extension by the folder they lie in.
        refused: number of entries that the source itself refused, by code.
        first: the first paths, to be shown.
        tables: what may be label tables (path → copy on the disk), as far as they were kept.
        documents: the first JSON, XML, YAML and .names files (path → copy on the disk).
        preferred: path of the table the person pointed at, if any.
    """

    title: str
    sample_word: str = "picture"
    sample_endings: frozenset[str] = PICTURE_ENDINGS
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
        if extension in self.sample_endings:
            self._count_sample(path, extension)
        elif not extension and len(self.bare) < MAXIMUM_FOLDERS:
            self.bare[path.rpartition("/")[0]] += 1

    def _count_sample(self, path: str, extension: str) -> None:
        self.folders[path.rpartition("/")[0]] += 1
        if len(self.folders) > MAXIMUM_FOLDERS:
            raise BadInput(
                f"The {self.sample_word}s lie in too many folders",
                value=f"more than {MAXIMUM_FOLDERS:,}",
                way_out="Use a folder a class, or a table of paths and labels",
            )
        written = path[len(path) - len(extension) :]
        if written in self._codes or len(self._codes) < _ENDING_CODES:
            code = self._codes.setdefault(written, len(self._codes))
            self._stems.add(stem(path), code)

    @property
    def samples(self) -> int:
        """Number of files with a sample's extension."""
        return sum(self.folders.values())

    def __contains__(self, path: str) -> bool:
        """Whether the source has a file of this path."""
        return path in self._paths

    def sample_of(self, path_without_extension: str) -> str | None:
        """The sample with this path but for the extension; None where there is none."""
        code = self._stems.get(path_without_extension)
        if code is None:
            return None
        return path_without_extension + next(e for e, c in self._codes.items() if c == code)
