"""The training samples of a data set version, as a plan needs them: who, what, which fold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
from numpy.typing import NDArray

from orchard.blobs import Blobs, SegmentReader, keys

TRAINING_SPLITS = ("train", "validation")


@dataclass(frozen=True)
class Samples:
    """Samples in the order of their ids.

    Attributes:
        sample_ids: N ids.
        annotations: N annotations.
        folds: (N,) int64, which fold validates the sample; -1 where it is always trained on.
        fold_count: F, number of folds that are used.
        locations: N tuples (segment, offset, length).
        sizes: (N, 2) int64, width and height in pixels; 0 where the task has none.
    """

    sample_ids: list[str]
    annotations: list[Any]
    folds: NDArray[np.int64]
    fold_count: int
    locations: list[tuple[str, int, int]]
    sizes: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64]) -> Samples:
        """The samples of these rows."""
        return Samples(
            [self.sample_ids[row] for row in rows],
            [self.annotations[row] for row in rows],
            self.folds[rows],
            self.fold_count,
            [self.locations[row] for row in rows],
            self.sizes[rows],
        )


def read_samples(blobs: Blobs, owner: str, dataset: str, version: str, folds: int) -> Samples:
    """Read what may be trained on.

    Args:
        folds: number of folds for cross-validation; 0 validates on the validation split, or on the
            first fold where there is no such split.

    Returns:
        With folds > 0 every sample has the fold that the manifest gives it (samples of the
        validation split are dealt to the folds by their position); otherwise the fold is 0 for
        what validates and -1 for the rest.
    """
    sample_ids, annotations, splits, fold_list, locations, sizes = [], [], [], [], [], []
    folder = f"{keys.version(owner, dataset, version)}/manifest"
    columns = ["sample_id", "annotation", "split", "fold", "segment", "offset", "length"]
    for row in parquet_rows(blobs, folder, [*columns, "width", "height"]):
        if row["split"] in TRAINING_SPLITS:
            sample_ids.append(row["sample_id"])
            annotations.append(json.loads(row["annotation"]))
            splits.append(row["split"])
            fold_list.append(row["fold"])
            locations.append((row["segment"], row["offset"], row["length"]))
            sizes.append((row["width"] or 0, row["height"] or 0))
    order = sorted(range(len(sample_ids)), key=sample_ids.__getitem__)
    fold = np.array([fold_list[i] for i in order], np.int64)
    validates = np.array([splits[i] == "validation" for i in order], bool)
    if folds > 0:
        undealt = np.flatnonzero(fold < 0)
        fold[undealt] = np.arange(len(undealt)) % folds
        fold %= folds
    else:
        chosen = validates if validates.any() else fold == 0
        fold = np.where(chosen, 0, -1)
    return Samples(
        [sample_ids[i] for i in order],
        [annotations[i] for i in order],
        fold,
        max(1, folds),
        [locations[i] for i in order],
        np.array([sizes[i] for i in order], np.int64).reshape(-1, 2),
    )


def payloads_of(samples: Samples, blobs: Blobs, count: int) -> list[bytes]:
    """Bytes of samples spread evenly over all."""
    reader = SegmentReader(blobs)
    rows = np.unique(np.linspace(0, len(samples.sample_ids) - 1, count).astype(int))
    payloads = [reader.read(*samples.locations[row]) for row in rows]
    reader.close()
    return payloads


def parquet_files(blobs: Blobs, folder: str) -> Iterator[str]:
    """Keys of the Parquet files of a folder and of the folders below it, sorted."""
    for key in blobs.list(folder):
        leaf = key.rsplit("/", 1)[1]
        if leaf.startswith(("_", ".")):
            continue
        if leaf.endswith(".parquet"):
            yield key
        elif "." not in leaf:
            yield from parquet_files(blobs, key)


def parquet_rows(blobs: Blobs, folder: str, columns: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet folder, a batch of them in memory at a time."""
    for key in parquet_files(blobs, folder):
        with blobs.open(key) as file:
            for batch in parquet.ParquetFile(file).iter_batches(4096, columns=columns):
                yield from batch.to_pylist()
