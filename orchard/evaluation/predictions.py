"""Reads predictions back: figures need truth and answer only, bad cases the rest of few rows."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from orchard.blobs import Blobs
from orchard.errors import BadInput
from orchard.tasks.base import Answers, Task

Row = dict[str, Any]


@dataclass(frozen=True)
class Failures:
    """Samples without an answer: how many, and the first ones as {path, reason}."""

    count: int
    examples: tuple[Row, ...]


def batches(
    blobs: Blobs, folder: str, columns: Sequence[str], size: int = 16384
) -> Iterator[pa.RecordBatch]:
    """Parts of a Parquet folder, in order, only the named columns."""
    for key in blobs.list(folder):
        if key.endswith(".parquet"):
            with blobs.open(key) as file, pq.ParquetFile(file) as parquet:
                yield from parquet.iter_batches(batch_size=size, columns=list(columns))


def load_answers(
    blobs: Blobs, folder: str, bundle: str, task: Task, labels: Sequence[str]
) -> Answers:
    """Answers of one bundle to all samples it could read, in the order of the folder.

    Memory: about 200 bytes a sample, and 4 for each number of its answer.

    Raises:
        BadInput: the bundle answered no sample.
    """
    answers: list[Any] = []
    truths: list[Any] = []
    for batch in batches(blobs, folder, ("bundle", "annotation", "answer")):
        own = batch.filter(pc.and_(pc.equal(batch["bundle"], bundle), pc.is_valid(batch["answer"])))
        if own.num_rows:
            flat = own["answer"].flatten().to_numpy(zero_copy_only=False).astype(np.float32)
            ends = np.cumsum(pc.list_value_length(own["answer"]).to_numpy(zero_copy_only=False))
            answers += [task.unflattened(part, labels) for part in np.split(flat, ends[:-1])]
            truths += [json.loads(text) for text in own["annotation"].to_pylist()]
    if not answers:
        raise BadInput(
            "No test sample could be read",
            value=bundle,
            way_out="Look at the reasons in the log of this step, then check the data again",
        )
    return Answers(tuple(labels), answers, truths)


def rows_at(blobs: Blobs, folder: str, bundle: str, positions: set[int]) -> dict[int, Row]:
    """Where a few samples lie, by their row in what `load_answers` gives."""
    columns = ("sample_id", "path", "segment", "offset", "length", "bundle", "failure")
    found: dict[int, Row] = {}
    start = 0
    for batch in batches(blobs, folder, columns):
        own = batch.filter(
            pc.and_(pc.equal(batch["bundle"], bundle), pc.is_null(batch["failure"]))
        ).drop_columns(["bundle", "failure"])
        for position in positions:
            if start <= position < start + own.num_rows:
                found[position] = own.slice(position - start, 1).to_pylist()[0]
        start += own.num_rows
    return found


def mistakes(blobs: Blobs, folder: str, bundle: str, most: int) -> list[Row]:
    """The worst wrong answers, the worst first, as rows.

    Only `most` rows are held at once.
    """
    columns = (
        "sample_id", "path", "segment", "offset", "length", "annotation", "right", "truth", "label",
        "confidence", "answer", "bundle",
    )  # fmt: skip
    worst: list[tuple[float, str, Row]] = []
    for batch in batches(blobs, folder, columns):
        wrong = pc.and_(pc.equal(batch["bundle"], bundle), pc.invert(batch["right"]))
        for row in batch.filter(wrong).to_pylist():
            # Of equal confidence the lower id counts as more confident; its digits are reversed in
            # order so that the heap's smallest entry is the one to drop.
            entry = (row["confidence"], _reversed(row["sample_id"]), row)
            if len(worst) < most:
                heapq.heappush(worst, entry)
            else:
                heapq.heappushpop(worst, entry)
    return [row for _, _, row in sorted(worst, key=lambda entry: entry[:2], reverse=True)]


def failures(blobs: Blobs, folder: str, bundle: str, most: int = 20) -> Failures:
    """Samples of which a bundle has no answer."""
    count = 0
    examples: list[Row] = []
    for batch in batches(blobs, folder, ("path", "failure", "bundle")):
        own = batch.filter(
            pc.and_(pc.equal(batch["bundle"], bundle), pc.is_valid(batch["failure"]))
        )
        count += own.num_rows
        for row in own.slice(0, most - len(examples)).to_pylist():
            examples.append({"path": row["path"], "reason": row["failure"]})
    return Failures(count, tuple(examples))


def wrong_count(blobs: Blobs, folder: str, bundle: str) -> int:
    """How many samples a bundle answered wrongly."""
    return sum(
        batch.filter(pc.and_(pc.equal(batch["bundle"], bundle), pc.invert(batch["right"]))).num_rows
        for batch in batches(blobs, folder, ("bundle", "right"))
    )


def _reversed(digits: str) -> str:
    return digits.translate(str.maketrans("0123456789abcdef", "fedcba9876543210"))
