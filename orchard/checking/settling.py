"""Samples with all that their label rows say: merged to one annotation, settled by their size."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa

from orchard.checking.labelling import text_of
from orchard.tasks.base import Given, Task

SETTLED_SCHEMA = pa.schema(
    [
        ("annotation", pa.string()),
        ("label", pa.string()),
        ("conflict", pa.bool_()),
        ("code", pa.string()),
        ("reason", pa.string()),
    ]
)
"""What settling adds to a sample: its annotation and stratum (null without a label), whether its
rows contradict each other, and code and reason of a refusal (null: none)."""

_SIZES = ("width", "height", "given_width", "given_height", "orientation")


class _Row(NamedTuple):
    annotation: str | None = None
    label: str | None = None
    conflict: bool = False
    code: str | None = None
    reason: str | None = None
    notices: tuple[str, ...] = ()


def settled(
    batches: Iterable[pa.RecordBatch], task: Task, counts: Mapping[str, int]
) -> Iterator[pa.RecordBatch]:
    """Rows of samples → the same with SETTLED_SCHEMA, and what was repaired among their notices.

    Columns that count: verdicts (list of {annotation, label}), notices, width, height, given_width,
    given_height and orientation (null: as the sample is stored). `counts` is how often each class
    occurs, for the strata.
    """

    @lru_cache(maxsize=4096)
    def row_of(texts: tuple[str, ...], sizes: tuple[int | None, ...]) -> _Row:
        return _settle(texts, sizes, task, counts) if texts else _Row()

    for batch in batches:
        sizes = zip(*(batch.column(name).to_pylist() for name in _SIZES), strict=True)
        verdicts = batch.column("verdicts").to_pylist()
        rows = [
            row_of(tuple(each["annotation"] for each in said or ()), size)
            for said, size in zip(verdicts, sizes, strict=True)
        ]
        notices = [
            list(dict.fromkeys([*(before or ()), *row.notices]))
            for before, row in zip(batch.column("notices").to_pylist(), rows, strict=True)
        ]
        at = batch.schema.get_field_index("notices")
        added = pa.array(notices, batch.schema.field(at).type)
        columns = [added if n == at else column for n, column in enumerate(batch.columns)]
        columns += [
            pa.array([getattr(row, field.name) for row in rows], field.type)
            for field in SETTLED_SCHEMA
        ]
        yield pa.RecordBatch.from_arrays(
            columns, names=[*batch.schema.names, *SETTLED_SCHEMA.names]
        )


def _settle(
    texts: tuple[str, ...], sizes: tuple[int | None, ...], task: Task, counts: Mapping[str, int]
) -> _Row:
    annotation = task.merged([json.loads(text) for text in texts])
    if annotation is None:
        return _Row(conflict=True)
    width, height, given_width, given_height, orientation = (size or 0 for size in sizes)
    given = Given(given_width or width, given_height or height, orientation or 1)
    found = task.settled(annotation, width, height, given)
    if found.annotation is None:
        return _Row(code=found.code, reason=found.reason)
    label = task.stratum(found.annotation, counts)
    return _Row(text_of(found.annotation), label, notices=found.notices)
