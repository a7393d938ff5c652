"""Which split a sample belongs to, by lists beside the labels or by the names of folders.

Lists are text files named after a split with a path or a name a line, as Pascal VOC has them in
`ImageSets/Main/train.txt` and Darknet as `train.txt`, and tables with a path and a split in each
row. Folders are `train/…`, `images/val/…` and the like.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from orchard.formats.fields import pick
from orchard.formats.paths import Resolver
from orchard.formats.splits import split_of
from orchard.formats.tables import folder_of
from orchard.formats.text_file import encoding_of, rows, separator_of
from orchard.sources.compact import NameTable
from orchard.sources.listing import Listing
from orchard.sources.names import ending, stem

_SPLITS = ("train", "validation", "test")
_BOTH = "trainval"


@dataclass(frozen=True)
class _List:
    """One list: its path and copy, and what each of its lines says.

    `columns` are those of path and split; without them every line is a path of `split`.
    """

    path: str
    copy: Path
    encoding: str
    columns: tuple[int, int] | None
    split: str | None

    def entries(self) -> Iterator[tuple[str, str]]:
        """(path as written, split) of every line."""
        if self.columns is None:
            with self.copy.open(encoding=self.encoding, errors="replace") as file:
                yield from ((line.strip(), str(self.split)) for line in file if line.strip())
            return
        path_at, split_at = self.columns
        try:
            for _, cells in rows(self.copy, self.encoding, separator_of(self.copy, self.encoding)):
                said = split_of(cells[split_at]) if len(cells) > max(path_at, split_at) else None
                if said is not None:
                    yield cells[path_at], said
        except csv.Error:
            return


@dataclass
class SplitLists:
    """Splits by path; memory does not hold the paths themselves."""

    _listed: NameTable = field(default_factory=NameTable)
    _folders: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, listing: Listing) -> SplitLists:
        """The splits that a source's lists name, else those of its folders, two at least."""
        made = cls()
        lists = [found for path, copy in listing.tables.items() if (found := _list(path, copy))]
        if len({split for each in lists for _, split in each.entries()}) > 1:
            # Beside train.txt and val.txt, trainval.txt says nothing new, so it is read last.
            for each in sorted(lists, key=lambda each: (_leaf(each.path) == _BOTH, each.path)):
                resolver = Resolver(listing, folder_of(each.path))
                for written, split in each.entries():
                    sample = resolver.find(written)
                    if sample is not None:
                        made._listed.add(sample, _SPLITS.index(split))
            return made
        folders = {folder: said for folder in listing.folders if (said := _of_folder(folder))}
        if len(set(folders.values())) > 1:
            made._folders = folders
        return made

    def split(self, path: str) -> str | None:
        """The split of a sample, or None."""
        code = self._listed.get(path)
        return self._folders.get(folder_of(path)) if code is None else _SPLITS[code]


def is_list(path: str) -> bool:
    """Whether a text file is a list of a split, by its name."""
    leaf = _leaf(path)
    return ending(path) == ".txt" and (leaf == _BOTH or split_of(leaf) is not None)


def _leaf(path: str) -> str:
    return stem(path).rsplit("/", 1)[-1].lower()


def _of_folder(folder: str) -> str | None:
    """The split that the innermost folder with such a name means."""
    found = (split_of(part) for part in reversed(folder.split("/")))
    return next((split for split in found if split is not None), None)


def _list(path: str, copy: Path) -> _List | None:
    if is_list(path):
        return _List(path, copy, encoding_of(copy), None, split_of(_leaf(path)) or "train")
    if ending(path) not in (".csv", ".tsv"):
        return None
    encoding = encoding_of(copy)
    try:
        _, first = next(rows(copy, encoding, separator_of(copy, encoding)), (0, []))
    except csv.Error:
        return None
    path_at, split_at = pick(first, "path"), pick(first, "split")
    if path_at is None or split_at is None or pick(first, "label") is not None:
        return None
    return _List(path, copy, encoding, (path_at, split_at), None)
