"""What a model said, beside the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Json = Any
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Answers:
    """What a model said about a set of samples, beside the truth.

    Attributes:
        labels: K class names, in the model's order.
        answers: N answers; an answer's shape is the task's own.
        truths: N annotations.
        sample_ids: N sample ids, or none.
    """

    labels: tuple[str, ...]
    answers: Sequence[Floats]
    truths: Sequence[Json]
    sample_ids: tuple[str, ...] = field(default=())

    def take(self, rows: Sequence[int]) -> Answers:
        """The answers of these rows."""
        return Answers(
            self.labels,
            [self.answers[row] for row in rows],
            [self.truths[row] for row in rows],
            tuple(self.sample_ids[row] for row in rows) if self.sample_ids else (),
        )


@dataclass(frozen=True)
class Verdict:
    """Whether one answer is right, for the list of bad cases.

    Attributes:
        truth, said: truth and answer in words.
        confidence: how bad a wrong answer is, 0 to 1; the worst come first in a report.
    """

    right: bool
    truth: str
    said: str
    confidence: float


@dataclass(frozen=True)
class Scores:
    """What a classifier said about a set of samples.

    Attributes:
        labels: K class names, in the model's order.
        scores: (N, K) float32, each row summing to 1.
        truth: (N,) int64 index into `labels`; -1 where the truth is not one of them.
        sample_ids: N sample ids, in the same order.
    """

    labels: tuple[str, ...]
    scores: NDArray[np.float32]
    truth: NDArray[np.int64]
    sample_ids: tuple[str, ...] = field(default=())
