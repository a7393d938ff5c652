"""Cached features (Parquet) → a matrix on disk that training reads through memory mapping."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.compute as compute
import pyarrow.parquet as parquet
from numpy.typing import NDArray

from orchard.blobs import Blobs, keys
from orchard.errors import OrchardError
from trainers.samples import parquet_files

logger = logging.getLogger(__name__)

ROWS_A_BATCH = 1024
BYTES_A_BATCH = 32 * 2**20
LARGEST = float(np.finfo(np.float16).max)


@dataclass(frozen=True)
class Features:
    """Features of N samples in V views.

    Attributes:
        matrix: (V, N, D) float16, memory-mapped.
        views: names of the V views, "plain" first.
        rows: (N,) int64, which of the samples that were asked for each row is; a sample without
            features has none.
        failures: sample id → why it has no features.
    """

    matrix: NDArray[np.float16]
    views: tuple[str, ...]
    rows: NDArray[np.int64]
    failures: dict[str, str]

    @property
    def count(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def width(self) -> int:
        return int(self.matrix.shape[2])


def no_features(count: int, views: Sequence[str]) -> Features:
    """What a branch that learns from the samples themselves gets: vectors of length 0."""
    empty = np.empty((len(views), count, 0), np.float16)
    return Features(empty, tuple(views), np.arange(count), {})


def read_features(
    blobs: Blobs,
    owner: str,
    feature_key: str,
    sample_ids: Sequence[str],
    views: Sequence[str],
    width: int,
    folder: Path,
) -> Features:
    """Write the features of the samples, in the samples' order, to a file below `folder`.

    Memory holds one batch of rows at a time, whatever the number of samples.

    Args:
        width: D, length of a feature vector.

    Raises:
        OrchardError: a sample has no row in the cache, or a row of another length.
    """
    wanted = {sample_id: row for row, sample_id in enumerate(sample_ids)}
    view_index = {view: index for index, view in enumerate(views)}
    shape = (len(views), len(sample_ids), width)
    path = folder / "features.f16"
    matrix = np.memmap(path, np.float16, "w+", shape=shape)
    at_once = max(1, min(ROWS_A_BATCH, BYTES_A_BATCH // (2 * width)))
    seen = np.zeros(shape[:2], bool)
    failures: dict[str, str] = {}
    for key in parquet_files(blobs, keys.features(owner, feature_key)):
        with blobs.open(key) as file:
            for batch in parquet.ParquetFile(file).iter_batches(at_once):
                ids = batch.column("sample_id").to_pylist()
                kinds = batch.column("view").to_pylist()
                failed = compute.is_null(batch.column("features")).to_pylist()
                reasons = batch.column("failure").to_pylist()
                vectors = batch.column("features")
                for i, (sample_id, kind) in enumerate(zip(ids, kinds, strict=True)):
                    row, view = wanted.get(sample_id), view_index.get(kind)
                    if row is None or view is None:
                        continue
                    if failed[i]:
                        failures[sample_id] = reasons[i] or "no features"
                        continue
                    vector = np.frombuffer(vectors[i].as_py(), "<f2")
                    if len(vector) != width:
                        raise OrchardError(
                            f"A cached feature vector should hold {width} numbers",
                            value=len(vector),
                            way_out=f"Remove the folder {keys.features(owner, feature_key)}",
                        )
                    matrix[view, row] = np.nan_to_num(
                        vector, nan=0.0, posinf=LARGEST, neginf=-LARGEST
                    )
                    seen[view, row] = True
    failed_rows = np.array([sample_id in failures for sample_id in sample_ids], bool)
    missing = np.flatnonzero(~seen.all(axis=0) & ~failed_rows)
    if len(missing):
        raise OrchardError(
            f"{len(missing)} of {len(sample_ids)} samples have no features in the cache",
            value=sample_ids[int(missing[0])],
            way_out="Clear the task `prepare` of this run",
        )
    rows = np.flatnonzero(~failed_rows)
    if failures:
        logger.info("%d samples are left out: they have no features", len(failures))
        kept = np.memmap(
            folder / "kept.f16", np.float16, "w+", shape=(len(views), len(rows), width)
        )
        for start in range(0, len(rows), at_once):
            part = rows[start : start + at_once]
            kept[:, start : start + len(part)] = matrix[:, part]
        matrix = kept
        path.unlink()
    return Features(matrix, tuple(views), rows, failures)
