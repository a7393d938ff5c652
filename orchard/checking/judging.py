"""Reads samples from their segments and has the task's judge decide over each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from orchard.blobs import Blobs, SegmentReader, SegmentWriter
from orchard.tasks.base import Limits, Refused, Task

VERDICT_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("split", pa.string()),
        ("sample_id", pa.string()),
        ("segment", pa.string()),
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("fingerprint", pa.binary()),
        ("notices", pa.list_(pa.string())),
        ("given_width", pa.int32()),
        ("given_height", pa.int32()),
        ("orientation", pa.int32()),
        ("code", pa.string()),
        ("reason", pa.string()),
    ]
)
"""One row a file; `code` and `reason` are null where it was accepted.

`given_width`, `given_height` and `orientation` say what the file was before the judge turned or
scaled it; null: as it is stored."""


@dataclass(frozen=True)
class Judging:
    """What a worker needs in order to judge; travels to it pickled."""

    task: Task
    limits: Limits
    blobs: Blobs
    owner: str
    dataset: str
    segment_bytes: int


def judged(
    batches: Iterable[pa.RecordBatch], judging: Judging, count: Callable[[int], None]
) -> Iterator[pa.RecordBatch]:
    """Rows of files (path, segment, offset, length, sha256, split) → VERDICT_SCHEMA.

    Bytes that the judge changed go to new segments; their rows follow when the segment is stored.
    `count` is told the number of files judged.
    """
    reader = SegmentReader(judging.blobs)
    with SegmentWriter(
        judging.blobs, judging.owner, judging.dataset, judging.segment_bytes
    ) as writer:
        for batch in batches:
            rows: list[dict[str, Any]] = []
            for file in batch.to_pylist():
                rows.extend(_judge_one(file, judging, reader, writer))
            count(batch.num_rows)
            yield _batch(rows)
        yield _batch([_placed(row, reference) for row, reference in writer.close()])
    reader.close()


def _judge_one(
    file: dict[str, Any], judging: Judging, reader: SegmentReader, writer: SegmentWriter
) -> list[dict[str, Any]]:
    payload = reader.read(file["segment"], file["offset"], file["length"])
    verdict = judging.task.judge(payload, file["path"], judging.limits)
    row = {"path": file["path"], "split": file["split"], "notices": []}
    if isinstance(verdict, Refused):
        return [{**row, "code": verdict.code, "reason": verdict.reason}]
    row.update(
        width=verdict.width,
        height=verdict.height,
        fingerprint=verdict.fingerprint,
        notices=list(verdict.notices),
    )
    if verdict.given is not None:
        row.update(
            given_width=verdict.given.width,
            given_height=verdict.given.height,
            orientation=verdict.given.orientation,
        )
    if verdict.changed:
        return [_placed(held, reference) for held, reference in writer.add(verdict.payload, row)]
    row.update(
        sample_id=file["sha256"],
        segment=file["segment"],
        offset=file["offset"],
        length=file["length"],
    )
    return [row]


def _placed(row: Any, reference: Any) -> dict[str, Any]:
    return {
        **row,
        "sample_id": reference.sha256,
        "segment": reference.segment,
        "offset": reference.offset,
        "length": reference.length,
    }


def _batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=VERDICT_SCHEMA)
