"""Labels that are probably wrong, by confident learning (cleanlab; Northcutt et al. 2021)."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from orchard.blobs import Blobs
from orchard.errors import NotFound
from orchard.evaluation import predictions
from orchard.tasks.base import Answers, Scores, Task

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Suspicious:
    """A sample whose label the model doubts.

    Attributes:
        position: row in the scores that were given.
        given: its label; guess: the label the model would give.
        own_score: what the model gives to the label it has, 0 to 1.
    """

    position: int
    given: str
    guess: str
    own_score: float
    confidence: float


def find(scores: Scores) -> list[Suspicious]:
    """Suspicious labels, the least believable first.

    Args:
        scores: of samples the model was not trained on: out of fold, or of the test split. Rows
            whose truth is -1 take no part.
    """
    rows = np.flatnonzero(scores.truth >= 0)
    if len(np.unique(scores.truth[rows])) < 2:
        return []
    # Imported late: it takes seconds, and nothing else needs it.
    from cleanlab.filter import find_label_issues

    # Columns of classes that do not occur would only confuse the library's per-class thresholds.
    present = np.unique(scores.truth[rows])
    own = scores.scores[np.ix_(rows, present)].astype(np.float64)
    own = np.clip(own, 1e-9, None)
    own /= own.sum(axis=1, keepdims=True)
    truth = np.searchsorted(present, scores.truth[rows])
    found = find_label_issues(
        truth,
        own,
        filter_by="confident_learning",  # the default rounds counts down and misses single ones
        return_indices_ranked_by="self_confidence",
        n_jobs=1,
    )
    result = []
    for position in rows[np.asarray(found, dtype=np.int64)].tolist():
        guess = int(scores.scores[position].argmax())
        given = int(scores.truth[position])
        if guess != given:
            result.append(
                Suspicious(
                    position,
                    scores.labels[given],
                    scores.labels[guess],
                    float(scores.scores[position, given]),
                    float(scores.scores[position, guess]),
                )
            )
    return result


def out_of_fold(blobs: Blobs, key: str, task: Task, labels: Sequence[str]) -> Answers | None:
    """Answers to training samples by models that had not seen them; None where the trial left none.

    The file has the columns sample_id, annotation (JSON) and answer (list, in the order of `labels`).
    """
    import pyarrow.parquet as pq

    try:
        with blobs.open(key) as file, pq.ParquetFile(file) as parquet:
            table = parquet.read(columns=["sample_id", "annotation", "answer"])
    except NotFound:
        return None
    table = table.filter(pc.is_valid(table["answer"]))
    if table.num_rows == 0:
        return None
    answers = [
        task.unflattened(np.asarray(flat, np.float32), labels)
        for flat in table["answer"].to_pylist()
    ]
    truths = [json.loads(text) for text in table["annotation"].to_pylist()]
    return Answers(tuple(labels), answers, truths, tuple(table["sample_id"].to_pylist()))


def places(blobs: Blobs, manifest: str, sample_ids: set[str]) -> dict[str, dict[str, Any]]:
    """Where a few samples lie: {sample_id: {path, segment, offset, length}}, from a manifest."""
    columns = ("sample_id", "path", "segment", "offset", "length")
    found: dict[str, dict[str, Any]] = {}
    if not sample_ids:
        return found
    import pyarrow as pa

    wanted = pa.array(sorted(sample_ids), pa.string())
    for batch in predictions.batches(blobs, manifest, columns):
        for row in batch.filter(pc.is_in(batch["sample_id"], value_set=wanted)).to_pylist():
            found[row["sample_id"]] = row
    return found
