"""One branch's search: candidates halved, the best put together, fitted again on everything."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.classification import thresholds
from trainers.classification import bases
from trainers.classification.bases import Basis, Layout, Recipe
from trainers.classification.candidates import Candidate, draw
from trainers.classification.ensemble import merged
from trainers.classification.heads import Problem
from trainers.classification.population import (
    HeadPopulation,
    grouped,
    measure_of,
)
from trainers.features import Features
from trainers.head_weights import HeadWeights
from trainers.search import Measure, Outcome, Record, halve, rungs_of

logger = logging.getLogger(__name__)

Array = NDArray[np.float32]
LEAST_RANK, MOST_RANK = 256, 1024
PATIENCE = 12
EVERY = 2
DISTANCE = 0.02
"""A finalist joins the final head when its score is within this of the best one's."""


@dataclass(frozen=True)
class Found:
    """What a branch's search found.

    Attributes:
        head: on the backbone's features, temperature set.
        candidates: all candidates, by index.
        outcome: their records, best first.
        members: indices of the candidates whose heads are averaged in `head`.
        measure: figures of the averaged head on validation (out of fold), temperature applied.
        logits: (n, K) its logits there before temperature; `rows` says of which samples.
        rows: (n,) positions of the validated samples.
        temperature: fitted on `logits`.
    """

    head: HeadWeights
    candidates: list[Candidate]
    outcome: Outcome
    members: list[int]
    measure: Measure
    logits: Array
    rows: NDArray[np.int64]
    temperature: float


def search(
    features: Features,
    layout: Layout,
    problem: Problem,
    work: Mapping[str, Any],
    *,
    objective: str,
    seed: int,
    folder: Path,
    safety_seconds: float = float("inf"),
    candidates: Sequence[Candidate] | None = None,
    refit_on_all: bool = True,
) -> Found:
    """Search heads on cached features and fit the winner on all samples.

    Args:
        layout: the backbone's feature vector: (block, pooling, start, stop).
        work: the plan's fixed work: candidates, rungs, members.
        folder: where large arrays are kept while this runs.
        candidates: those to try; by default a seeded draw.
        refit_on_all: whether the winner is fitted on what validates, too.
    """
    started = time.monotonic()
    drawn = list(candidates) if candidates is not None else draw(int(work["candidates"]), seed)
    known = bases.moments(features)
    rank = max(LEAST_RANK, min(MOST_RANK, features.count))
    made: dict[Recipe, Basis] = {}
    for recipe in sorted({candidate.recipe for candidate in drawn}):
        made[recipe] = bases.make_basis(
            features, known, layout, recipe, rank=rank, seed=seed, folder=folder
        )
    logger.info(
        "%d samples in %d views, %d features turned into at most %d coordinates, %.1f s",
        features.count,
        len(features.views),
        features.width,
        max(basis.rank for basis in made.values()),
        time.monotonic() - started,
    )
    population = HeadPopulation(drawn, made, problem, objective, seed)
    outcome = halve(
        population,
        rungs_of(work["rungs"]),
        patience=PATIENCE,
        every=EVERY,
        safety_seconds=safety_seconds,
    )
    members = _members(outcome.records, int(work.get("members", 5)))
    rows = np.flatnonzero(problem.folds >= 0)
    truth = problem.truth[rows]
    temperatures = {
        index: thresholds.temperature(population.best_logits[index], truth) for index in members
    }
    logits = np.mean(
        [population.best_logits[i].astype(np.float32) / temperatures[i] for i in members], axis=0
    )
    temperature = thresholds.temperature(logits, truth)
    epochs = {record.index: record.best_epoch for record in outcome.records}
    head = refit(
        [drawn[index] for index in members],
        [epochs[index] for index in members],
        [temperatures[index] for index in members],
        made,
        _everything(problem) if refit_on_all else _training_only(problem),
        seed,
    )
    return Found(
        HeadWeights(head.mean, head.scale, head.layers, temperature),
        drawn,
        outcome,
        members,
        measure_of((logits / temperature).astype(np.float32), truth, objective),
        logits.astype(np.float32),
        rows,
        temperature,
    )


def refit(
    candidates: Sequence[Candidate],
    epochs: Sequence[int],
    temperatures: Sequence[float],
    made: Mapping[Recipe, Basis],
    problem: Problem,
    seed: int,
) -> HeadWeights:
    """Train each candidate for its own number of epochs; their averaged head.

    Args:
        problem: with one model a candidate.
    """
    heads: dict[int, HeadWeights] = {}
    for group in grouped(candidates, made, problem, seed):
        basis = group.heads.basis
        for epoch in range(1, max(epochs[index] for index in group.indices) + 1):
            group.heads.train_epoch()
            for position, local in enumerate(group.heads.ids):
                index = group.indices[local]
                if epochs[index] == epoch:
                    layers = group.heads.layers(position)
                    heads[index] = HeadWeights(basis.mean, basis.scale, layers, temperatures[index])
            group.heads.retain(
                [i for i, index in enumerate(group.indices) if epochs[index] > epoch]
            )
    chosen = [heads[index] for index in range(len(candidates))]
    return merged(chosen, [1.0 / len(chosen)] * len(chosen))


def _everything(problem: Problem) -> Problem:
    return Problem(problem.truth, np.full_like(problem.folds, -1), 0, problem.classes)


def _training_only(problem: Problem) -> Problem:
    """Validated by the first fold alone, so that the head never saw it."""
    folds = np.where(problem.folds == 0, 0, -1)
    return Problem(problem.truth, folds, 1, problem.classes)


def _members(records: Sequence[Record], most: int) -> list[int]:
    """The best candidates whose scores are near the best one's."""
    ranked = sorted(records, key=lambda record: (-record.score, record.index))
    best = ranked[0].score
    return [record.index for record in ranked[:most] if record.score >= best - DISTANCE]
