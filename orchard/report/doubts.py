"""Samples whose label is suspicious: of the test split, and of training out of fold."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchard.blobs import keys
from orchard.evaluation import predictions, suspicious
from orchard.evaluation.suspicious import Suspicious
from orchard.program import Step
from orchard.tasks.base import Answers, Scores, Task

logger = logging.getLogger(__name__)

MOST_SHOWN = 24

Row = dict[str, Any]


@dataclass(frozen=True)
class Doubts:
    """Suspicious labels: how many, over how many samples, and the least believable ones as rows.

    A row has sample_id, path, segment, offset, length, truth, label (the model's guess),
    own_score, confidence and split ("train" or "test").
    """

    count: int
    examined: int
    rows: tuple[Row, ...] = ()


def collect(step: Step, plan: Mapping[str, Any], task: Task, test: Answers, bundle: str) -> Doubts:
    """Doubts over the test split and, where the winner's trial left them, out-of-fold answers.

    None for a task whose answers are no scores of classes.
    """
    tested = task.class_scores(test)
    if tested is None:
        return Doubts(0, 0)
    branch = str(step.result_of("select")["branch"])
    trial = keys.trial(step.owner, step.build_id, branch)
    left = suspicious.out_of_fold(step.blobs, f"{trial}/out_of_fold.parquet", task, test.labels)
    training = None if left is None else task.class_scores(left)
    if training is None:
        logger.info("The trial left no out-of-fold answers: labels of training are not examined")
        empty = np.empty((0, len(test.labels)), np.float32)
        training = Scores(test.labels, empty, np.empty(0, np.int64))
    # Each source on its own: how sure a model usually is differs between them.
    found = [
        (split, one)
        for split, scores in (("train", training), ("test", tested))
        for one in suspicious.find(scores)
    ]
    found.sort(key=lambda pair: (pair[1].own_score, pair[0], pair[1].position))
    examined = len(training.truth) + len(tested.truth)
    logger.info("%d of %d labels are suspicious", len(found), examined)
    shown = found[:MOST_SHOWN]
    in_test = _test_rows(step, bundle, {one.position for split, one in shown if split == "test"})
    manifest = keys.version(step.owner, plan["dataset"], plan["version"]) + "/manifest"
    wanted = {training.sample_ids[one.position] for split, one in shown if split == "train"}
    in_training = suspicious.places(step.blobs, manifest, wanted)
    rows = []
    for split, one in shown:
        if split == "test":
            rows.append(_row(one, in_test[one.position], split))
        elif training.sample_ids[one.position] in in_training:
            rows.append(_row(one, in_training[training.sample_ids[one.position]], split))
    return Doubts(len(found), examined, tuple(rows))


def _row(one: Suspicious, place: Row, split: str) -> Row:
    return {
        **place,
        "truth": one.given,
        "label": one.guess,
        "own_score": one.own_score,
        "confidence": one.confidence,
        "split": split,
    }


def _test_rows(step: Step, bundle: str, positions: set[int]) -> dict[int, Row]:
    folder = f"{keys.evaluation(step.owner, step.build_id)}/predictions"
    return predictions.rows_at(step.blobs, folder, bundle, positions) if positions else {}
