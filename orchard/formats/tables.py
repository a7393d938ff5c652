"""CSV and its kin: one row a sample, with its path, its class, perhaps its split and its source."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from orchard.formats.base import Evidence, Format, Label, Reading, Role
from orchard.formats.fields import UnusableLabel, class_name, origin_of, pick
from orchard.formats.papers import is_paper, is_table
from orchard.formats.paths import Resolver, loose_path
from orchard.formats.splits import split_of
from orchard.formats.text_file import encoding_of, rows, separator_of
from orchard.sources.base import Refusal
from orchard.sources.listing import Listing
from orchard.sources.names import ending

ENDINGS = frozenset({".csv", ".tsv", ".txt"})
SNIFFED_ROWS = 200
LEAST_SHARE = 0.3
"""Share of the first rows whose file must be there for a table to count."""


@dataclass(frozen=True)
class Table:
    """How one table is to be read.

    Attributes:
        path: its path in the source.
        copy: where it lies on the disk.
        share: share of the first rows whose file is in the source.
        split: the split that the table's own name hints at.
        split_column: position of the split's column, or None.
        origin_column: position and name of the column of sources, or None.
    """

    path: str
    copy: Path
    encoding: str
    separator: str
    header: bool
    path_column: int
    label_column: int
    split_column: int | None
    origin_column: tuple[int, str] | None
    share: float
    split: str | None


class Tables(Format):
    """CSV, TSV or text with a path and a label in each row."""

    name = "table"
    title = "a CSV or TSV beside the pictures with a path and a label in each row"
    kinds = frozenset({"class"})
    reads_tables = True

    def recognise(self, listing: Listing) -> Evidence | None:
        found = [
            table
            for path, copy in sorted(listing.tables.items())
            if ending(path) in ENDINGS
            and listing.preferred in (None, path)
            and (table := inspect(listing, path, copy)) is not None
        ]
        if not found:
            return None
        share = max(table.share for table in found)
        names = ", ".join(table.path for table in found)
        reason = f"{names} with a path and a label in each row"
        notices = tuple(
            origin_notice("column", table.origin_column[1], table.path)
            for table in found
            if table.origin_column
        )
        return Evidence(0.5 + 0.45 * share, reason, notices, tuple(found))

    def read(self, listing: Listing, evidence: Evidence) -> Reading:
        return _TableReading(listing, evidence)


@dataclass
class _TableReading(Reading):
    def role(self, path: str) -> Role:
        if is_table(path) or is_paper(path) or any(t.path == path for t in self.evidence.facts):
            return Role.OTHER
        return Role.SAMPLE

    def tables(self) -> Iterable[Label | Refusal]:
        tables: tuple[Table, ...] = self.evidence.facts
        splits = {table.split for table in tables if table.split is not None}
        for table in tables:
            # One table called train.csv says nothing about what the rest would be.
            yield from _labels(self.listing, table, table.split if len(splits) > 1 else None)


def _labels(listing: Listing, table: Table, split: str | None) -> Iterator[Label | Refusal]:
    resolver = Resolver(listing, folder_of(table.path))
    content = rows(table.copy, table.encoding, table.separator)
    if table.header:
        next(content)
    try:
        for line, cells in content:
            yield _label(resolver, table, line, cells, split)
    except csv.Error as error:
        yield Refusal(table.path, "bad_table", f"The table cannot be read further: {error}")


def _label(
    resolver: Resolver, table: Table, line: int, cells: list[str], split: str | None
) -> Label | Refusal:
    where = f"line {line} of {table.path}"
    if len(cells) <= table.path_column:
        return Refusal(table.path, "bad_row", f"Too few columns in {where}")
    written = cells[table.path_column].strip()
    if not written or "\n" in written:
        return Refusal(table.path, "bad_row", f"No path, or an open quote, in {where}")
    path = resolver.find(written) or loose_path(written)
    if not path:
        return Refusal(table.path, "bad_row", f"No path in {where}")
    if len(cells) <= table.label_column:
        return Refusal(path, "bad_row", f"Too few columns in {where}")
    try:
        name = class_name(cells[table.label_column])
    except UnusableLabel as error:
        return Refusal(path, error.code, f"{error}: {where}")
    at = table.split_column
    said = split_of(cells[at]) if at is not None and at < len(cells) else None
    origin = None
    if table.origin_column is not None and table.origin_column[0] < len(cells):
        origin = origin_of(cells[table.origin_column[0]])
    return Label(path, name, said or split, table.path, line, origin)


def inspect(listing: Listing, path: str, copy: Path) -> Table | None:
    """How a table is to be read; None where it holds no paths of the source with labels."""
    encoding = encoding_of(copy)
    separator = separator_of(copy, encoding)
    try:
        sample = [cells for _, cells in islice(rows(copy, encoding, separator), SNIFFED_ROWS)]
    except csv.Error:
        return None
    if not sample or max(map(len, sample)) < 2:
        return None
    resolver = Resolver(listing, folder_of(path))
    header, columns = _columns(sample, resolver)
    if columns is None:
        return None
    path_column, label_column, split_column = columns
    origin_column = pick(sample[0], "origin") if header else None
    if origin_column in columns:
        origin_column = None
    body = sample[1:] if header else sample
    hits = sum(
        len(cells) > path_column and resolver.find(cells[path_column]) is not None for cells in body
    )
    share = hits / max(len(body), 1)
    if share < LEAST_SHARE:
        return None
    return Table(
        path=path,
        copy=copy,
        encoding=encoding,
        separator=separator,
        header=header,
        path_column=path_column,
        label_column=label_column,
        split_column=split_column,
        origin_column=(origin_column, sample[0][origin_column])
        if origin_column is not None
        else None,
        share=share,
        split=split_in_name(path),
    )


def _columns(
    sample: list[list[str]], resolver: Resolver
) -> tuple[bool, tuple[int, int, int | None] | None]:
    """Whether there is a header, and the columns of path, label and split."""
    first = sample[0]
    path_column, label_column = pick(first, "path"), pick(first, "label")
    if path_column is not None and label_column is not None:
        return True, (path_column, label_column, pick(first, "split"))
    width = max(map(len, sample))
    hits = [
        sum(at < len(cells) and resolver.find(cells[at]) is not None for cells in sample)
        for at in range(width)
    ]
    path_column = max(range(width), key=hits.__getitem__)
    if not hits[path_column]:
        return False, None
    header = len(first) <= path_column or resolver.find(first[path_column]) is None
    body = sample[1:] if header else sample
    split_column = next(
        (
            at
            for at in range(width)
            if at != path_column
            and body
            and all(at < len(cells) and split_of(cells[at]) is not None for cells in body)
        ),
        None,
    )
    others = [at for at in range(width) if at not in (path_column, split_column)]
    if not others:
        return header, None
    named = pick(first, "label") if header else None
    if named not in others:
        # A column of sources is the label only where there is no other.
        origin = pick(first, "origin") if header else None
        named = next((at for at in others if at != origin), others[0])
    label_column = named
    assert label_column is not None  # `others` is not empty
    return header, (path_column, label_column, split_column)


def origin_notice(word: str, name: str, path: str) -> str:
    """The sentence that says which column (or key) of a label file is read as the source."""
    return f"The {word} {name.strip()!r} of {path} is read as the source that a sample comes of"


def folder_of(path: str) -> str:
    """The folder of a path, "" at the top."""
    return path.rpartition("/")[0]


def split_in_name(path: str) -> str | None:
    """The split that a label file's name hints at, as in train_labels.csv or instances_val2017.json; None without one."""
    words = re.split(r"[\W\d_]+", path.rsplit("/", 1)[-1].lower())
    splits = {split for word in words if (split := split_of(word)) is not None}
    return splits.pop() if len(splits) == 1 else None
