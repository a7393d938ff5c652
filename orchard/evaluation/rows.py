"""What a worker does with rows of a manifest: read, decode once, ask every bundle."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from orchard.blobs import Blobs, SegmentReader
from orchard.errors import BadInput
from orchard.inference import Model, fetch
from orchard.tasks import Task
from orchard.tasks import task as task_of
from orchard.tasks.base import JUDGED

MANIFEST_COLUMNS = ("sample_id", "path", "segment", "offset", "length", "annotation")
SCHEMA = pa.schema(
    [
        ("sample_id", pa.string()),
        ("path", pa.string()),
        ("segment", pa.string()),
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("annotation", pa.string()),
        ("right", pa.bool_()),
        ("truth", pa.string()),
        ("label", pa.string()),
        ("confidence", pa.float32()),
        ("answer", pa.list_(pa.float32())),
        ("bundle", pa.string()),
        ("failure", pa.string()),
    ]
)
"""A sample and bundle a row: `annotation` is the truth as JSON, `answer` the task's answer in C order;
`right`, `truth`, `label` (what was said) and `confidence` are the task's verdict. A sample that could
not be read has only its `failure`."""
SPARK_SCHEMA = (
    "sample_id string, path string, segment string, offset bigint, length bigint, "
    "annotation string, right boolean, truth string, label string, confidence float, "
    "answer array<float>, bundle string, failure string"
)
_AT_ONCE = 8

Row = dict[str, Any]


@dataclass(frozen=True)
class Evaluated:
    """What a worker needs to know; small, and travels to it.

    Attributes:
        blobs_root: root of the store.
        folder: where this machine keeps copies of the bundles.
        bundles: hashes of the bundles that are asked.
    """

    blobs_root: str
    owner: str
    task: str
    folder: str
    bundles: tuple[str, ...]


def predict(
    batches: Iterator[pa.RecordBatch], evaluated: Evaluated, count: Callable[[int], None]
) -> Iterator[pa.RecordBatch]:
    """Rows of `MANIFEST_COLUMNS` → rows of `SCHEMA`, one a sample and bundle.

    A sample that cannot be read or decoded becomes a row with `failure` and without answer. At most
    8 decoded samples are held at once. `count` is told how many samples are done.
    """
    blobs = Blobs(evaluated.blobs_root)
    models = _models(evaluated)
    chosen = task_of(evaluated.task)
    reader = SegmentReader(blobs)
    try:
        for batch in batches:
            for start in range(0, batch.num_rows, _AT_ONCE):
                samples = batch.slice(start, _AT_ONCE).to_pylist()
                rows = _rows_of(samples, reader, chosen, models)
                count(len(samples))
                yield pa.RecordBatch.from_pylist(rows, schema=SCHEMA)
    finally:
        reader.close()


def _rows_of(
    samples: Sequence[Row], reader: SegmentReader, chosen: Task, models: Sequence[Model]
) -> list[Row]:
    decoded: list[NDArray[Any]] = []
    readable: list[Row] = []
    failed: list[tuple[Row, str]] = []
    for sample in samples:
        try:
            payload = reader.read(sample["segment"], sample["offset"], sample["length"])
            decoded.append(chosen.decode(payload, JUDGED))
            readable.append(sample)
        except BadInput as error:
            failed.append((sample, str(error)))
    rows = []
    for model in models:
        card, name = model.bundle.card, model.bundle.hash
        for sample, answer in zip(readable, model.answers_of_decoded(decoded), strict=True):
            verdict = chosen.verdict(answer, json.loads(sample["annotation"]), card)
            row = {**_EMPTY, **sample, "bundle": name, "answer": answer.reshape(-1).tolist()}
            row |= {"right": verdict.right, "truth": verdict.truth, "label": verdict.said}
            rows.append({**row, "confidence": verdict.confidence})
        rows += [
            {**_EMPTY, **sample, "bundle": name, "failure": reason} for sample, reason in failed
        ]
    return rows


_EMPTY: Row = dict.fromkeys(SCHEMA.names)


@lru_cache(maxsize=2)
def _models(evaluated: Evaluated) -> tuple[Model, ...]:
    """The bundles' models, kept by a worker from one group of rows to the next."""
    blobs = Blobs(evaluated.blobs_root)
    folder = Path(evaluated.folder)
    return tuple(Model(fetch(blobs, evaluated.owner, name, folder)) for name in evaluated.bundles)
