"""Rows of a manifest → predictions, and back from Parquet to scores, mistakes and failures."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchard.blobs import Blobs, SegmentWriter, keys
from orchard.errors import BadInput
from orchard.evaluation import predictions, rows
from orchard.evaluation.rows import Evaluated
from orchard.tasks import task
from tests.small_build import COLOURS, OWNER, picture, write_bundle
from tests.small_build import TASK as TASK_NAME

PARTS = "local/predictions"
TASK = task(TASK_NAME)


@pytest.fixture
def predicted(tmp_path: Path) -> tuple[Blobs, Evaluated, list[dict[str, Any]], int]:
    """20 samples, of them one broken and three with a wrong label, answered by two bundles."""
    blobs = Blobs(f"file://{tmp_path / 'blobs'}")
    two = write_bundle(tmp_path / "two", {k: COLOURS[k] for k in ("blue", "red")})
    one = write_bundle(tmp_path / "one", COLOURS)
    for bundle in (one, two):
        blobs.upload_folder(bundle.folder, keys.bundle(OWNER, bundle.hash))
    manifest = []
    with SegmentWriter(blobs, OWNER, "colours", 4096) as writer:
        done = []
        for number in range(20):
            shows = sorted(COLOURS)[number % 4]
            label = "red" if number in (0, 1, 5) else shows
            payload = b"\xff\xd8\xff broken" if number == 7 else picture(COLOURS[shows], number)
            done += writer.add(payload, (number, label))
        for tag, place in [*done, *writer.close()]:
            number, label = tag  # type: ignore[misc]
            manifest.append(
                {
                    "sample_id": f"{number:064x}",
                    "path": f"{number}.jpg",
                    "segment": place.segment,
                    "offset": place.offset,
                    "length": place.length,
                    "annotation": json.dumps(label),
                }
            )
    evaluated = Evaluated(
        blobs.root, OWNER, TASK_NAME, str(tmp_path / "work"), (one.hash, two.hash)
    )
    counted: list[int] = []
    batches = pa.Table.from_pylist(manifest).to_batches(max_chunksize=11)
    found = pa.Table.from_batches(list(rows.predict(iter(batches), evaluated, counted.append)))
    for part in range(2):
        buffer = io.BytesIO()
        pq.write_table(found.slice(part * 17, 17 if part == 0 else None), buffer)
        blobs.write(f"{PARTS}/part-{part}.parquet", buffer.getvalue())
    return blobs, evaluated, found.to_pylist(), sum(counted)


Predicted = tuple[Blobs, Evaluated, list[dict[str, Any]], int]


def test_every_sample_has_a_row_for_each_bundle(predicted: Predicted) -> None:
    _, evaluated, found, counted = predicted
    assert counted == 20
    assert len(found) == 40
    assert {(row["sample_id"], row["bundle"]) for row in found} == {
        (f"{number:064x}", bundle) for number in range(20) for bundle in evaluated.bundles
    }
    assert all(
        len(row["answer"]) == 4
        for row in found
        if row["answer"] and row["bundle"] == evaluated.bundles[0]
    )


def test_a_broken_sample_is_a_row_with_a_reason(predicted: Predicted) -> None:
    blobs, evaluated, found, _ = predicted
    broken = [row for row in found if row["failure"]]
    assert {row["path"] for row in broken} == {"7.jpg"}
    assert all(row["answer"] is None and row["label"] is None for row in broken)
    told = predictions.failures(blobs, PARTS, evaluated.bundles[0])
    assert told.count == 1
    assert told.examples[0]["path"] == "7.jpg"


def test_scores_come_back_in_order_without_the_broken(predicted: Predicted) -> None:
    blobs, evaluated, found, _ = predicted
    name = evaluated.bundles[0]
    own = [row for row in found if row["bundle"] == name and not row["failure"]]
    answers = predictions.load_answers(blobs, PARTS, name, TASK, sorted(COLOURS))
    assert [answer.shape for answer in answers.answers] == [(1, 4)] * 19
    assert [answer[0].tolist() for answer in answers.answers] == [row["answer"] for row in own]
    assert answers.truths == [row["truth"] for row in own]
    picked = predictions.rows_at(blobs, PARTS, name, {0, 8, 18})
    assert {at: row["path"] for at, row in picked.items()} == {
        at: own[at]["path"] for at in (0, 8, 18)
    }


def test_labels_a_bundle_does_not_know_are_outside(predicted: Predicted) -> None:
    blobs, evaluated, _, _ = predicted
    name, labels = evaluated.bundles[1], ("blue", "red")
    answers = predictions.load_answers(blobs, PARTS, name, TASK, labels)
    assert set(TASK.class_scores(answers).truth.tolist()) == {-1, 0, 1}


def test_mistakes_come_most_confident_first(predicted: Predicted) -> None:
    blobs, evaluated, found, _ = predicted
    name = evaluated.bundles[0]
    wrong = [
        row for row in found
        if row["bundle"] == name and row["label"] and row["label"] != row["truth"]
    ]  # fmt: skip
    expected = sorted(wrong, key=lambda row: (-row["confidence"], row["sample_id"]))
    assert len(expected) == 3
    told = predictions.mistakes(blobs, PARTS, name, 40)
    assert [row["path"] for row in told] == [row["path"] for row in expected]
    assert [row["path"] for row in predictions.mistakes(blobs, PARTS, name, 2)] == [
        row["path"] for row in expected[:2]
    ]


def test_no_answer_at_all_is_refused(predicted: Predicted) -> None:
    with pytest.raises(BadInput, match="No test sample"):
        predictions.load_answers(predicted[0], PARTS, "f" * 16, TASK, ("a", "b"))


def test_equal_confidences_come_in_the_order_of_ids(tmp_path: Path) -> None:
    blobs = Blobs(f"file://{tmp_path}")
    made = [
        dict.fromkeys(rows.SCHEMA.names, None)
        | {"sample_id": f"{n:064x}", "truth": "a", "label": "b", "confidence": 0.5, "bundle": "x"}
        | {"right": False}
        for n in np.random.default_rng(0).permutation(30).tolist()
    ]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(made, schema=rows.SCHEMA), buffer)
    blobs.write(f"{PARTS}/part-0.parquet", buffer.getvalue())
    told = predictions.mistakes(blobs, PARTS, "x", 5)
    assert [int(row["sample_id"], 16) for row in told] == [0, 1, 2, 3, 4]
