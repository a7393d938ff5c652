"""The manifest of a data set version: its columns, its hash, the counts over it."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from orchard.tasks.base import Task

MANIFEST_SCHEMA = pa.schema(
    [
        ("sample_id", pa.string()),
        ("path", pa.string()),
        ("segment", pa.string()),
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("annotation", pa.string()),
        ("label", pa.string()),
        ("split", pa.string()),
        ("fold", pa.int32()),
        ("group", pa.string()),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("orientation", pa.int32()),
        ("fingerprint", pa.binary()),
        ("version_added", pa.int32()),
        ("notices", pa.list_(pa.string())),
    ]
)
_HASHED = ("sample_id", "path", "annotation", "split", "fold", "group")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_MOST_NOTICES = 200
_MOST_KNOWN = 4096
_LEARNT = ("train", "validation")
_SHARE_UNITS = 10_000


@dataclass
class Census:
    """Hash and counts of a manifest, gathered batch by batch in the order of sample ids.

    The hash covers what a model can depend on (content, annotation, split, fold, group) and the
    path; not where the bytes lie, which depends on how many workers packed them.

    `labels` counts the samples that hold a class; `objects` what is labelled with it, which are more
    where a sample has several. `shares` are those objects' sizes, in ten thousandths.
    """

    task: Task
    samples: int = 0
    bytes: int = 0
    splits: Counter[str] = field(default_factory=Counter)
    widths: Counter[int] = field(default_factory=Counter)
    heights: Counter[int] = field(default_factory=Counter)
    notices: Counter[str] = field(default_factory=Counter)
    added: Counter[int] = field(default_factory=Counter)
    shares: Counter[int] = field(default_factory=Counter)
    _digest: Any = field(default_factory=hashlib.sha256, repr=False)
    _last: str = ""
    _holding: Counter[tuple[str, str]] = field(default_factory=Counter, repr=False)
    _objects: Counter[tuple[str, str]] = field(default_factory=Counter, repr=False)
    _known: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    def add(self, batch: pa.RecordBatch) -> None:
        """Count a batch of manifest rows. Raises ValueError where sample ids are not ascending."""
        if batch.num_rows == 0:
            return
        columns = [batch.column(name).to_pylist() for name in _HASHED]
        ids = [self._last, *columns[0]]
        if any(one >= other for one, other in zip(ids, ids[1:], strict=False)):
            raise ValueError("The rows of a manifest must come sorted by sample id, each once")
        self._last = ids[-1]
        for row in zip(*columns, strict=True):
            self._digest.update(json.dumps(row, ensure_ascii=False).encode())
            self._digest.update(b"\n")
        self.samples += batch.num_rows
        self.bytes += pc.sum(batch.column("length")).as_py()
        annotations, splits = columns[_HASHED.index("annotation")], columns[_HASHED.index("split")]
        self.splits.update(splits)
        for annotation, split in zip(annotations, splits, strict=True):
            names = self._names_of(annotation)
            self._objects.update((name, split) for name in names)
            self._holding.update((name, split) for name in set(names))
        sides = zip(*(batch.column(name).to_pylist() for name in ("width", "height")), strict=True)
        for annotation, split, size in zip(annotations, splits, sides, strict=True):
            if annotation is not None and split in _LEARNT:
                found = self.task.object_shares(
                    json.loads(annotation), *(side or 0 for side in size)
                )
                self.shares.update(round(_SHARE_UNITS * share) for share in found)
        self.widths.update(batch.column("width").to_pylist())
        self.heights.update(batch.column("height").to_pylist())
        self.added.update(batch.column("version_added").to_pylist())
        for notices in batch.column("notices").to_pylist():
            for notice in notices or ():
                text = _DIGITS.sub("…", notice)
                if text in self.notices or len(self.notices) < _MOST_NOTICES:
                    self.notices[text] += 1

    @property
    def version(self) -> str:
        """The name of the version: 16 hexadecimal digits of the hash over all rows."""
        return str(self._digest.hexdigest()[:16])

    @property
    def labels(self) -> dict[str, dict[str, int]]:
        """label → {"train", "validation", "test"} → count, labels sorted."""
        return _by_name(self._holding)

    @property
    def objects(self) -> dict[str, dict[str, int]]:
        """As `labels`, with the number of objects."""
        return _by_name(self._objects)

    def _names_of(self, annotation: str | None) -> tuple[str, ...]:
        if annotation is None:
            return ()
        names = self._known.get(annotation)
        if names is None:
            names = self.task.labels_of(json.loads(annotation))
            if len(self._known) < _MOST_KNOWN:
                self._known[annotation] = names
        return names

    @property
    def object_share(self) -> float | None:
        """The median of what `Task.object_shares` gives of the samples to learn from."""
        return _median(self.shares) / _SHARE_UNITS if self.shares else None

    @property
    def sizes(self) -> dict[str, list[int]]:
        """Smallest, median and largest width and height in pixels, each side for itself."""
        if not self.samples:
            return {}
        sides = (self.widths, self.heights)
        return {
            "minimum": [min(side) for side in sides],
            "median": [_median(side) for side in sides],
            "maximum": [max(side) for side in sides],
        }


def census(batches: Iterable[pa.RecordBatch], task: Task) -> Census:
    """The census of a manifest whose batches come in the order of sample ids."""
    found = Census(task)
    for batch in batches:
        found.add(batch)
    return found


def _by_name(cells: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    return {
        name: {split: cells[name, split] for split in ("train", "validation", "test")}
        for name in sorted({name for name, _ in cells})
    }


def _median(counts: Counter[int]) -> int:
    half = (sum(counts.values()) + 1) // 2
    for value in sorted(counts):
        half -= counts[value]
        if half <= 0:
            return value
    return 0
