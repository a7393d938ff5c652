"""Wrong labels are found among right ones."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from orchard.blobs import Blobs
from orchard.evaluation import suspicious
from orchard.tasks import task
from orchard.tasks.base import Scores

TASK = task("image_classification")


def scores_with_swapped_labels(swapped: list[int]) -> Scores:
    random = np.random.default_rng(3)
    shown = np.arange(240) % 4
    scores = random.uniform(0, 0.05, (240, 5))
    scores[np.arange(240), shown] += random.uniform(0.7, 1, 240)
    truth = shown.copy()
    truth[swapped] = (truth[swapped] + 1) % 4
    labels = ("a", "b", "c", "d", "never")
    scores /= scores.sum(axis=1, keepdims=True)
    return Scores(labels, scores.astype(np.float32), truth.astype(np.int64))


def test_swapped_labels_are_found_with_the_right_guess() -> None:
    swapped = [3, 50, 77, 101, 160, 230]
    scores = scores_with_swapped_labels(swapped)
    found = suspicious.find(scores)
    # Confident learning may pass one of which the model is less sure than usual.
    assert {one.position for one in found} <= set(swapped)
    assert len(found) >= len(swapped) - 1
    assert [one.own_score for one in found] == sorted(one.own_score for one in found)
    for one in found:
        assert one.guess == scores.labels[one.position % 4]
        assert one.given == scores.labels[(one.position + 1) % 4]


def test_right_labels_are_not_doubted() -> None:
    assert suspicious.find(scores_with_swapped_labels([])) == []


def test_unknown_truth_takes_no_part_and_one_class_is_nothing_to_doubt() -> None:
    scores = scores_with_swapped_labels([8])
    truth = np.where(np.arange(240) % 4 == 1, -1, scores.truth)
    found = suspicious.find(Scores(scores.labels, scores.scores, truth))
    assert all(truth[one.position] >= 0 for one in found)
    assert suspicious.find(Scores(scores.labels, scores.scores, np.zeros(240, np.int64))) == []


def test_out_of_fold_scores_come_back_and_may_be_absent(tmp_path: Path) -> None:
    blobs = Blobs(f"file://{tmp_path}")
    assert suspicious.out_of_fold(blobs, "a/b.parquet", TASK, ("a", "b")) is None
    table = pa.table(
        {
            "sample_id": ["x", "y", "z", "w"],
            "annotation": ['"b"', '"a"', "null", '"other"'],
            "answer": pa.array([[0.2, 0.8], [0.9, 0.1], [0.5, 0.5], None], pa.list_(pa.float32())),
        }
    )
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    blobs.write("a/b.parquet", buffer.getvalue())
    found = suspicious.out_of_fold(blobs, "a/b.parquet", TASK, ("a", "b"))
    assert found is not None
    assert found.sample_ids == ("x", "y", "z")
    scores = TASK.class_scores(found)
    assert scores is not None
    assert scores.truth.tolist() == [1, 0, -1]
    assert scores.scores.shape == (3, 2)
