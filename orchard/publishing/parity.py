"""Parity: the live endpoint gives what ONNX Runtime gives here, on test samples."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as parquet

from orchard.blobs import Blobs, SegmentReader, keys
from orchard.errors import BadInput, OrchardError
from orchard.inference import Model
from orchard.program import Progress
from orchard.publishing.service import ServiceClient

logger = logging.getLogger(__name__)

SAMPLES = 32
BOUND = 1e-4
"""Largest difference of a score, out of 1, that counts as equal: float32 in another order."""


@dataclass(frozen=True)
class Parity:
    """What was compared and the largest difference of a score."""

    samples: int
    difference: float


class ParityFailed(OrchardError):
    """The endpoint's scores are not the model's."""


def test_samples(
    blobs: Blobs, owner: str, dataset: str, version: str, count: int = SAMPLES
) -> list[tuple[str, bytes]]:
    """(path, bytes) of the first test samples of a version, by sample id; fewer where it has fewer.

    Raises BadInput where there is none.
    """
    folder = f"{keys.version(owner, dataset, version)}/manifest"
    reader = SegmentReader(blobs)
    found: list[tuple[str, bytes]] = []
    try:
        for row in _test_rows(blobs, folder):
            found.append(
                (str(row["path"]), reader.read(row["segment"], row["offset"], row["length"]))
            )
            if len(found) == count:
                break
    finally:
        reader.close()
    if not found:
        raise BadInput("The data set version has no test samples", value=f"{dataset} {version}")
    return found


def prove(
    client: ServiceClient,
    endpoint: str,
    token: str,
    model: Model,
    samples: Sequence[tuple[str, bytes]],
) -> Parity:
    """Ask the endpoint's bundle about samples and compare with the model here.

    Raises:
        ParityFailed: a score differs by more than `BOUND`, or what is answered is something else.
    """
    task, card = model.task, model.bundle.card
    parameters = task.parity_request(card)
    worst = 0.0
    progress = Progress(f"{task.sample_word}s compared", len(samples))
    for path, payload in samples:
        here = model.response(model.answers([payload])[0], parameters)
        there = client.predict(endpoint, task.name, payload, token, model.bundle.hash, parameters)
        difference = task.difference(here, there)
        if difference == float("inf"):
            raise ParityFailed(
                "The endpoint answers with other classes or places", value=f"{path}: {there}"[:300]
            )
        if not difference <= BOUND:
            raise ParityFailed(
                "The endpoint's scores differ from the model's",
                value=f"{path}: {difference:.3g}, allowed {BOUND:g}",
                way_out="What was live stays. Compare the versions of ONNX Runtime and Pillow "
                "of the service with those of this machine",
            )
        worst = max(worst, difference)
        progress.advance()
    return Parity(len(samples), worst)


def _test_rows(blobs: Blobs, folder: str) -> Iterator[Mapping[str, Any]]:
    columns = ["split", "path", "segment", "offset", "length"]
    for key in blobs.list(folder):
        if not key.endswith(".parquet"):
            continue
        with blobs.open(key) as file:
            for batch in parquet.ParquetFile(file).iter_batches(1024, columns=columns):
                yield from (row for row in batch.to_pylist() if row["split"] == "test")
