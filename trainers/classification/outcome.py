"""What the trials of all classifiers have in common around their search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orchard.errors import BadInput
from trainers.classification.branch import Found
from trainers.classification.heads import Problem
from trainers.result import Curve
from trainers.samples import Samples


def problem_of(samples: Samples, labels: Sequence[str]) -> Problem:
    """What a head has to learn: the samples' classes and folds.

    Raises:
        BadInput: fewer than two classes have samples, or none is left to validate on.
    """
    index = {label: number for number, label in enumerate(labels)}
    truth = np.array([index[str(annotation)] for annotation in samples.annotations], np.int64)
    if len(np.unique(truth)) < 2:
        raise BadInput(
            "Training needs samples of at least two classes",
            value=len(np.unique(truth)),
            way_out="Add samples of another class",
        )
    if not (samples.folds >= 0).any():
        raise BadInput("No sample is left to validate on", way_out="Add samples of each class")
    return Problem(truth, samples.folds, samples.fold_count, len(labels))


def curves_of(found: Found) -> list[Curve]:
    """All candidates of a search for the leaderboard, best first."""
    result = []
    for rank, record in enumerate(found.outcome.records, 1):
        candidate = found.candidates[record.index]
        result.append(
            Curve(
                candidate=record.index,
                rank=rank,
                parameters=candidate.to_json(),
                points=record.curve,
                best=dict(record.best.figures) if record.best else {},
                score=record.score,
                best_epoch=record.best_epoch,
                epochs=record.epochs,
                rung=record.rung,
                stopped_early=record.stopped,
                reason=record.reason,
                member=record.index in found.members,
            )
        )
    return result
