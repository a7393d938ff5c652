"""The candidates of a branch as one population: groups of heads, measured out of fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainers.classification.bases import Basis, Recipe
from trainers.classification.candidates import Candidate
from trainers.classification.heads import HeadGroup, Problem
from trainers.search import Measure

Array = NDArray[np.float32]

LARGEST = float(np.finfo(np.float16).max)
LOG_LOSS_SHARE = 0.1
"""How much a log-loss of 1 takes off the score: accuracy on a few hundred samples is a coarse
figure, and of two heads with the same one the better calibrated is the better."""


TEMPERATURES = (1.0, 0.5, 0.25, 0.125)
"""A head early in its training is right long before it is certain; it is judged as it would be after
calibration, at the best of these temperatures."""


class HeadPopulation:
    """Implements `trainers.search.Population` for heads on cached features.

    Args:
        objective: "accuracy" or "worst_class_recall".
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        bases: Mapping[Recipe, Basis],
        problem: Problem,
        objective: str,
        seed: int,
    ) -> None:
        self.candidates = list(candidates)
        self.problem, self.objective = problem, objective
        self._validated = np.flatnonzero(problem.folds >= 0)
        self._groups = grouped(self.candidates, bases, problem, seed)
        self._latest: dict[int, Array] = {}
        self.best_logits: dict[int, Array] = {}

    def __len__(self) -> int:
        return len(self.candidates)

    def train_epoch(self) -> None:
        for group in self._groups:
            group.heads.train_epoch()

    def measure(self) -> dict[int, Measure]:
        self._latest = {}
        result = {}
        for group in self._groups:
            logits = group.heads.logits()
            for position, local in enumerate(group.heads.ids):
                index = group.indices[local]
                self._latest[index] = logits[position, self._validated]
                result[index] = measure_of(
                    self._latest[index], self.problem.truth[self._validated], self.objective
                )
        return result

    def remember(self, index: int) -> None:
        # A head that runs away has logits beyond what half precision holds.
        self.best_logits[index] = np.clip(self._latest[index], -LARGEST, LARGEST).astype(np.float16)

    def retain(self, indices: Sequence[int]) -> None:
        wanted = set(indices)
        for group in self._groups:
            group.heads.retain([i for i, index in enumerate(group.indices) if index in wanted])
        self._groups = [group for group in self._groups if group.heads.ids]

    def forget_all_but(self, indices: Sequence[int]) -> None:
        """Drop the remembered logits of all other candidates."""
        self.best_logits = {i: v for i, v in self.best_logits.items() if i in set(indices)}


@dataclass(frozen=True)
class Group:
    """Heads that train together and which candidates they are."""

    heads: HeadGroup
    indices: list[int]


def grouped(
    candidates: Sequence[Candidate], bases: Mapping[Recipe, Basis], problem: Problem, seed: int
) -> list[Group]:
    """Candidates with the same basis, hidden size and optimiser, put together."""
    members: dict[tuple[Recipe, int, str], list[int]] = {}
    for index, candidate in enumerate(candidates):
        key = (candidate.recipe, candidate.hidden, candidate.optimiser)
        members.setdefault(key, []).append(index)
    return [
        Group(HeadGroup(bases[key[0]], [candidates[i] for i in indices], problem, seed), indices)
        for key, indices in sorted(members.items())
    ]


def log_softmax(logits: Array) -> Array:
    """(…, K) → (…, K)."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def measure_of(logits: Array, truth: NDArray[np.int64], objective: str) -> Measure:
    """Score and figures of (N, K) logits.

    Classes without a sample are left out. The log-loss is that at the best of `TEMPERATURES`; the
    macro log-loss is the mean of the classes' own at the same temperature.
    """
    rows = np.arange(len(truth))
    losses = min(
        (
            -log_softmax(logits / np.float32(temperature))[rows, truth]
            for temperature in TEMPERATURES
        ),
        key=lambda each: float(each.mean()),
    )
    log_loss = float(losses.mean())
    hits = logits.argmax(axis=1) == truth
    counts = np.bincount(truth, minlength=logits.shape[1])
    right = np.bincount(truth, weights=hits, minlength=logits.shape[1])
    recalls = right[counts > 0] / counts[counts > 0]
    lost = np.bincount(truth, weights=losses, minlength=logits.shape[1])
    figures = {
        "accuracy": float(hits.mean()),
        "macro_recall": float(recalls.mean()),
        "worst_class_recall": float(recalls.min()),
        "log_loss": log_loss,
        "macro_log_loss": float((lost[counts > 0] / counts[counts > 0]).mean()),
        "samples": float(len(truth)),
        "worst_class_support": float(counts[counts > 0][recalls.argmin()]),
    }
    if objective == "worst_class_recall":
        wanted = 0.5 * (figures["worst_class_recall"] + figures["macro_recall"])
    else:
        wanted = figures["accuracy"]
    return Measure(scored(wanted, log_loss), figures)


def scored(wanted: float, log_loss: float) -> float:
    """What a search maximises: the figure that is wanted, a little less for an unsure head."""
    return wanted - LOG_LOSS_SHARE * min(log_loss, 5.0)
