from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainers.search import Measure, Rung, halve


class Scripted:
    """A population whose scores are known beforehand: score of candidate i at epoch e."""

    def __init__(self, scores: Sequence[Sequence[float]]) -> None:
        self.scores = scores
        self.epoch = 0
        self.training = list(range(len(scores)))
        self.trained = [0] * len(scores)
        self.remembered: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.scores)

    def train_epoch(self) -> None:
        self.epoch += 1
        for index in self.training:
            self.trained[index] += 1

    def measure(self) -> dict[int, Measure]:
        return {
            i: Measure(self.scores[i][self.epoch - 1], {"accuracy": self.scores[i][self.epoch - 1]})
            for i in self.training
        }

    def remember(self, index: int) -> None:
        self.remembered[index] = self.epoch

    def retain(self, indices: Sequence[int]) -> None:
        self.training = list(indices)


def rising(top: float, epochs: int = 20) -> list[float]:
    return [top * (epoch + 1) / epochs for epoch in range(epochs)]


def test_worse_half_is_halved_and_told_its_rank() -> None:
    population = Scripted([rising(0.2), rising(0.9), rising(0.5), rising(0.4)])
    outcome = halve(population, [Rung(4, 5), Rung(2, 15)], patience=99)
    assert [record.index for record in outcome.records] == [1, 2, 3, 0]
    assert population.trained == [5, 20, 20, 5]
    assert outcome.records[-1].reason == "halved: rank 4 of 4 at rung 1"
    assert outcome.records[0].reason == "trained to the end, epoch 20"
    assert not outcome.stopped_by_clock


def test_a_candidate_that_gets_no_better_is_stopped_early_with_curve_and_reason() -> None:
    flat = [0.5] * 20
    population = Scripted([rising(0.9), flat])
    outcome = halve(population, [Rung(2, 20)], patience=5)
    record = next(each for each in outcome.records if each.index == 1)
    assert record.stopped
    assert record.reason == "stopped at epoch 6: no better than 0.5000 for 5 epochs"
    assert [point["epoch"] for point in record.curve] == [1, 2, 3, 4, 5, 6]
    assert record.curve[0]["accuracy"] == 0.5
    assert population.trained == [20, 6]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_candidate_that_runs_away_is_stopped_and_leaves_numbers_only(number: float) -> None:
    population = Scripted([rising(0.9), [0.3, 0.4, *[number] * 18], [number] * 20])
    outcome = halve(population, [Rung(3, 5), Rung(2, 15)], patience=99)
    by_index = {record.index: record for record in outcome.records}
    assert [record.index for record in outcome.records] == [0, 1, 2]
    assert by_index[1].stopped and by_index[2].stopped
    assert by_index[1].best_epoch == 2 and "ran away by epoch 3" in by_index[1].reason
    assert "ran away by epoch 1" in by_index[2].reason
    assert population.trained == [20, 3, 1]
    json.dumps([record.curve for record in outcome.records], allow_nan=False)


def test_a_stopped_candidate_still_competes_with_its_best_score() -> None:
    falling = [0.95] + [0.1] * 19
    population = Scripted([rising(0.9), falling, rising(0.3)])
    outcome = halve(population, [Rung(3, 8), Rung(2, 12)], patience=4)
    assert outcome.records[0].index == 1
    assert outcome.records[0].best_epoch == 1
    assert population.remembered[1] == 1


def test_the_clock_stops_what_takes_far_too_long() -> None:
    now = iter(range(1000))
    population = Scripted([rising(0.9), rising(0.5)])
    outcome = halve(
        population, [Rung(2, 20)], patience=99, safety_seconds=6, clock=lambda: float(next(now))
    )
    assert outcome.stopped_by_clock
    assert outcome.epochs < 20
    assert "the clock" in outcome.records[0].reason


@given(
    scores=st.lists(st.lists(st.floats(0, 1), min_size=12, max_size=12), min_size=1, max_size=12),
    keep=st.integers(1, 12),
    patience=st.integers(1, 12),
    every=st.integers(1, 4),
)
def test_halving_ranks_all_and_never_exceeds_the_fixed_work(
    scores: list[list[float]], keep: int, patience: int, every: int
) -> None:
    population = Scripted(scores)
    outcome = halve(
        population, [Rung(len(scores), 5), Rung(keep, 7)], patience=patience, every=every
    )
    assert sorted(record.index for record in outcome.records) == list(range(len(scores)))
    assert sum(population.trained) <= 5 * len(scores) + 7 * min(keep, len(scores))
    for record in outcome.records:
        assert record.reason
        assert record.best is not None
        assert record.score <= max(point["score"] for point in record.curve)
        assert population.remembered[record.index] == record.best_epoch


@pytest.mark.parametrize("count", [1, 5])
def test_more_places_than_candidates_keeps_all(count: int) -> None:
    outcome = halve(Scripted([rising(0.5)] * count), [Rung(64, 2), Rung(32, 2)], patience=9)
    assert len(outcome.records) == count
