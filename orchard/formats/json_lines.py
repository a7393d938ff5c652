"""JSON lines: one JSON object a line, with the sample's path, its label, perhaps its split
and its source.

The keys are those of common tools: Hugging Face's metadata.jsonl ("file_name", "label"), and the
names that columns of tables have.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from orchard.formats.base import Evidence, Format, Label, Reading, Role
from orchard.formats.fields import UnusableLabel, class_name, origin_of, pick
from orchard.formats.papers import is_paper, is_table
from orchard.formats.paths import Resolver, loose_path
from orchard.formats.splits import split_of
from orchard.formats.tables import (
    LEAST_SHARE,
    SNIFFED_ROWS,
    folder_of,
    origin_notice,
    split_in_name,
)
from orchard.formats.text_file import encoding_of
from orchard.sources.base import Refusal
from orchard.sources.listing import Listing
from orchard.sources.names import ending

ENDINGS = frozenset({".jsonl", ".ndjson", ".txt", ".json"})
_MAXIMUM_LINE = 1024 * 1024


@dataclass(frozen=True)
class LineFile:
    """A file of JSON lines: its path in the source, its copy on the disk, its encoding, and the key of
    sources in its first lines that have one."""

    path: str
    copy: Path
    encoding: str
    share: float
    split: str | None
    origin_key: str | None


class JsonLines(Format):
    """JSON lines with a path and a label."""

    name = "json_lines"
    title = 'JSON lines beside the pictures, such as {"image": "a.jpg", "label": "scratch"}'
    kinds = frozenset({"class"})
    reads_tables = True

    def recognise(self, listing: Listing) -> Evidence | None:
        candidates = {**listing.tables, **listing.documents}
        found = [
            file
            for path, copy in sorted(candidates.items())
            if ending(path) in ENDINGS
            and listing.preferred in (None, path)
            and (file := _inspect(listing, path, copy)) is not None
        ]
        if not found:
            return None
        share = max(file.share for file in found)
        reason = f"{', '.join(file.path for file in found)} with a path and a label in each line"
        notices = tuple(
            origin_notice("key", file.origin_key, file.path) for file in found if file.origin_key
        )
        return Evidence(0.5 + 0.45 * share, reason, notices, tuple(found))

    def read(self, listing: Listing, evidence: Evidence) -> Reading:
        return _LineReading(listing, evidence)


@dataclass
class _LineReading(Reading):
    def role(self, path: str) -> Role:
        if is_table(path) or is_paper(path) or any(f.path == path for f in self.evidence.facts):
            return Role.OTHER
        return Role.SAMPLE

    def tables(self) -> Iterable[Label | Refusal]:
        files: tuple[LineFile, ...] = self.evidence.facts
        splits = {file.split for file in files if file.split is not None}
        for file in files:
            resolver = Resolver(self.listing, folder_of(file.path))
            split = file.split if len(splits) > 1 else None
            for line, record in _records(file.copy, file.encoding):
                yield _label(resolver, file.path, line, record, split)


def _label(
    resolver: Resolver, source: str, line: int, record: Any, split: str | None
) -> Label | Refusal:
    where = f"line {line} of {source}"
    if not isinstance(record, dict):
        return Refusal(source, "bad_row", f"No JSON object in {where}")
    keys = list(record)
    path_at, label_at, split_at = pick(keys, "path"), pick(keys, "label"), pick(keys, "split")
    written = record[keys[path_at]] if path_at is not None else None
    path = _found(resolver, written)
    if path is None:
        return Refusal(source, "bad_row", f"No path in {where}")
    if label_at is None:
        return Refusal(path, "no_label", f"It has no label: {where}")
    try:
        name = class_name(record[keys[label_at]])
    except UnusableLabel as error:
        return Refusal(path, error.code, f"{error}: {where}")
    said = split_of(str(record[keys[split_at]])) if split_at is not None else None
    origin_key = _origin_key(record)
    origin = origin_of(record[origin_key]) if origin_key is not None else None
    return Label(path, name, said or split, source, line, origin)


def _origin_key(record: dict[str, Any]) -> str | None:
    keys = list(record)
    at = pick(keys, "origin")
    return keys[at] if at is not None else None


def _found(resolver: Resolver, written: Any) -> str | None:
    if not isinstance(written, str | int) or isinstance(written, bool):
        return None
    text = str(written)
    return resolver.find(text) or loose_path(text) or None


def _records(copy: Path, encoding: str) -> Iterator[tuple[int, Any]]:
    """Line number and JSON value of each line that is not empty; None where it is no JSON."""
    with copy.open(encoding=encoding, errors="replace") as file:
        number = 0
        while line := file.readline(_MAXIMUM_LINE):
            number += 1
            if not line.endswith("\n") and len(line) == _MAXIMUM_LINE:
                _skip_line(file.readline)
                line = "a line that is too long"
            if line.strip():
                try:
                    yield number, json.loads(line)
                except (ValueError, RecursionError):
                    yield number, None


def _skip_line(readline: Any) -> None:
    while (rest := readline(_MAXIMUM_LINE)) and not rest.endswith("\n"):
        pass


def _inspect(listing: Listing, path: str, copy: Path) -> LineFile | None:
    encoding = encoding_of(copy)
    sample = [record for _, record in islice(_records(copy, encoding), SNIFFED_ROWS)]
    resolver = Resolver(listing, folder_of(path))
    rows = [_label(resolver, path, 0, record, None) for record in sample]
    if not any(isinstance(row, Label) for row in rows):
        return None
    hits = sum(row.path in listing and row.path != path for row in rows)
    share = hits / max(len(rows), 1)
    if share < LEAST_SHARE:
        return None
    keys = (_origin_key(record) for record in sample if isinstance(record, dict))
    origin_key = next((key for key in keys if key is not None), None)
    return LineFile(path, copy, encoding, share, split_in_name(path), origin_key)
