"""Annotations of label rows: the class names in them, and the same with canonical names."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa

from orchard.tasks.base import Task

NAME_SCHEMA = pa.schema([("name", pa.string()), ("count", pa.int64())])
LABEL_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("annotation", pa.string()),
        ("label", pa.string()),
        ("label_split", pa.string()),
        ("source", pa.string()),
        ("origin", pa.string()),
    ]
)


def text_of(annotation: Any) -> str:
    """The one text that stands for an annotation: JSON, keys sorted, no white space."""
    return json.dumps(annotation, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def names_in(batches: Iterable[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
    """Rows (annotation, count) → NAME_SCHEMA, each class name once a batch."""
    for batch in batches:
        counts: Counter[str] = Counter()
        for row in batch.to_pylist():
            for name in set(task.labels_of(json.loads(row["annotation"]))):
                counts[name] += row["count"]
        yield pa.RecordBatch.from_arrays(
            [pa.array(list(counts), pa.string()), pa.array(list(counts.values()), pa.int64())],
            schema=NAME_SCHEMA,
        )


def canonical_labels(
    batches: Iterable[pa.RecordBatch],
    task: Task,
    names: Mapping[str, str],
    counts: Mapping[str, int],
) -> Iterator[pa.RecordBatch]:
    """Rows of labels → LABEL_SCHEMA with canonical names; rows without a label are left out.

    `label` is the stratum of the row's annotation; `counts` is how often each class occurs.
    """

    @lru_cache(maxsize=4096)
    def canonical(annotation: str) -> tuple[str, str]:
        value = task.renamed(json.loads(annotation), names)
        return text_of(value), task.stratum(value, counts)

    for batch in batches:
        rows = [
            (
                row["path"],
                *canonical(row["annotation"]),
                row["split"],
                row["source"],
                row["origin"],
            )
            for row in batch.to_pylist()
        ]
        kept = [row for row in rows if row[2]]
        if kept:
            columns = [list(column) for column in zip(*kept, strict=True)]
            yield pa.RecordBatch.from_arrays(
                [pa.array(column, pa.string()) for column in columns], schema=LABEL_SCHEMA
            )
