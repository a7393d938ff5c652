"""Reads predictions back: figures need truth and scores only, bad cases the rest of few rows."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from orchard.blobs import Blobs
from orchard.errors import BadInput
from orchard.tasks.base import Scores

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


def load_scores(blobs: Blobs, folder: str, bundle: str, labels: Sequence[str]) -> Scores:
    """Scores of one bundle over all samples it answered, in the order of the folder.

    Memory: 4·(K + 2) bytes a sample.

    Raises:
        BadInput: the bundle answered no sample.
    """
    index = {label: number for number, label in enumerate(labels)}
    scores: list[Any] = []
    truth: list[Any] = []
    for batch in batches(blobs, folder, ("bundle", "truth", "scores")):
        own = batch.filter(pc.and_(pc.equal(batch["bundle"], bundle), pc.is_valid(batch["scores"])))
        if own.num_rows:
            flat = own["scores"].flatten().to_numpy(zero_copy_only=False)
            scores.append(flat.astype(np.float32).reshape(own.num_rows, len(labels)))
            truth.append(_indices(own["truth"], index))
    if not scores:
        raise BadInput(
            "No test sample could be read",
            value=bundle,
            way_out="Look at the reasons in the log of this step, then check the data again",
        )
    return Scores(tuple(labels), np.concatenate(scores), np.concatenate(truth))


def rows_at(blobs: Blobs, folder: str, bundle: str, positions: set[int]) -> dict[int, Row]:
    """Where a few samples lie, by their row in what `load_scores` gives."""
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
    """The most confident wrong answers, most confident first: rows without `scores`.

    Only `most` rows are held at once.
    """
    columns = (
        "sample_id", "path", "segment", "offset", "length", "truth", "label", "confidence", "bundle"
    )  # fmt: skip
    worst: list[tuple[float, str, Row]] = []
    for batch in batches(blobs, folder, columns):
        wrong = pc.and_(
            pc.equal(batch["bundle"], bundle), pc.not_equal(batch["truth"], batch["label"])
        )
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


def _indices(truth: pa.Array, index: dict[str, int]) -> Any:
    known = pa.array(list(index), pa.string())
    found = pc.index_in(truth, value_set=known)
    return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)


def _reversed(digits: str) -> str:
    return digits.translate(str.maketrans("0123456789abcdef", "fedcba9876543210"))
