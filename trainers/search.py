"""Successive halving with early stopping, for any population of candidates trained side by side.

Hyperband's inner loop (Jamieson and Talwalkar 2016, arXiv:1502.07943): every candidate gets a little
training, the better share of them goes on to the next rung, and so forth. A candidate that stops
getting better leaves earlier; its best measure still competes when a rung is halved.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 3.0


@dataclass(frozen=True)
class Rung:
    """A stage of the halving: `keep` candidates begin it, each trains `epochs` more epochs."""

    keep: int
    epochs: int


@dataclass(frozen=True)
class Measure:
    """What validation says of a candidate after an epoch.

    Attributes:
        score: what the search maximises.
        figures: named figures for people (accuracy, log_loss, …).
    """

    score: float
    figures: Mapping[str, float]


@dataclass
class Record:
    """One candidate's way through the search.

    Attributes:
        index: position in the population.
        curve: one entry a measurement: {"epoch", "score", figures…}.
        best: the measure at `best_epoch`.
        stopped: whether early stopping or the clock ended it before its rung was over.
        reason: why it ended, as a sentence.
    """

    index: int
    curve: list[dict[str, float]] = field(default_factory=list)
    best: Measure | None = None
    best_epoch: int = 0
    epochs: int = 0
    rung: int = 0
    stopped: bool = False
    reason: str = ""

    @property
    def score(self) -> float:
        return self.best.score if self.best is not None else float("-inf")


class Population(Protocol):
    """Candidates that train side by side, addressed by their index."""

    def __len__(self) -> int: ...

    def train_epoch(self) -> None:
        """One epoch for every candidate that is still in."""

    def measure(self) -> Mapping[int, Measure]:
        """The measure of every candidate that is still in."""

    def remember(self, index: int) -> None:
        """The candidate's state of this moment is its best so far."""

    def retain(self, indices: Sequence[int]) -> None:
        """Only these go on training."""


@dataclass(frozen=True)
class Outcome:
    """Records best first, and whether the clock had to stop the search."""

    records: list[Record]
    stopped_by_clock: bool
    epochs: int


def halve(
    population: Population,
    rungs: Sequence[Rung],
    *,
    patience: int,
    every: int = 1,
    least_gain: float = 1e-4,
    safety_seconds: float = float("inf"),
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Run the rungs over a population.

    The work is fixed by `rungs`, `patience` and `every`; the clock only stops a search that takes
    far longer than it should, and then the outcome says so.

    Args:
        patience: epochs without a gain after which a candidate is stopped.
        every: epochs between two measurements.
        least_gain: smallest rise of the score that counts as a gain.
        safety_seconds: when to end whatever is done.
    """
    started = clock()
    records = [Record(index) for index in range(len(population))]
    training = list(range(len(population)))
    in_race = list(training)
    epoch, said = 0, started
    for number, rung in enumerate(rungs, 1):
        in_race = _pass_rung(records, in_race, rung.keep, number)
        training = [index for index in training if index in set(in_race)]
        population.retain(training)
        goal = epoch + rung.epochs
        while epoch < goal and training:
            population.train_epoch()
            epoch += 1
            if epoch % every and epoch != goal:
                continue
            stopped = _take_measures(population, records, epoch, number, patience, least_gain)
            if stopped:
                training = [index for index in training if index not in stopped]
                population.retain(training)
            now = clock()
            if now - said >= SECONDS_BETWEEN_LINES or epoch == goal:
                said = now
                best = max(record.score for record in records)
                logger.info(
                    "rung %d of %d: %d candidates, epoch %d of %d, best %.3f",
                    number,
                    len(rungs),
                    len(training),
                    epoch,
                    sum(each.epochs for each in rungs),
                    best,
                )
            if now - started > safety_seconds:
                _end(records, training, f"the clock stopped the search at epoch {epoch}", True)
                return Outcome(_ranked(records), True, epoch)
    _end(records, training, f"trained to the end, epoch {epoch}", False)
    return Outcome(_ranked(records), False, epoch)


def _pass_rung(records: list[Record], in_race: list[int], keep: int, rung: int) -> list[int]:
    ranked = sorted(in_race, key=lambda index: (-records[index].score, index))
    for rank, index in enumerate(ranked[keep:], keep + 1):
        if not records[index].stopped:
            records[index].reason = f"halved: rank {rank} of {len(ranked)} at rung {rung - 1}"
    for index in ranked[:keep]:
        records[index].rung = rung
    return sorted(ranked[:keep])


def _take_measures(
    population: Population,
    records: list[Record],
    epoch: int,
    rung: int,
    patience: int,
    least_gain: float,
) -> set[int]:
    """Write the measures into the records; the candidates that early stopping ends, and those whose
    weights ran away."""
    ended = set()
    for index, measure in population.measure().items():
        record = records[index]
        record.epochs = epoch
        if not _is_finite(measure):
            record.stopped = True
            record.reason = f"ran away by epoch {epoch}: its figures are no numbers any more"
            ended.add(index)
            continue
        record.curve.append({"epoch": epoch, "score": measure.score, **measure.figures})
        if measure.score > record.score + least_gain:
            record.best, record.best_epoch = measure, epoch
            population.remember(index)
        elif epoch - record.best_epoch >= patience:
            record.stopped = True
            record.reason = (
                f"stopped at epoch {epoch}: no better than {record.score:.4f} for "
                f"{epoch - record.best_epoch} epochs"
            )
            ended.add(index)
    return ended


def _is_finite(measure: Measure) -> bool:
    values = (measure.score, *measure.figures.values())
    return all(value is None or math.isfinite(value) for value in values)


def _end(records: list[Record], indices: Sequence[int], reason: str, stopped: bool) -> None:
    for index in indices:
        records[index].reason = reason
        records[index].stopped = stopped


def _ranked(records: list[Record]) -> list[Record]:
    return sorted(records, key=lambda record: (-record.rung, -record.score, record.index))


def rungs_of(plan: Sequence[Mapping[str, Any]]) -> list[Rung]:
    """The rungs as a plan writes them: [{"keep": n, "epochs": n}, …]."""
    return [Rung(int(rung["keep"]), int(rung["epochs"])) for rung in plan]
