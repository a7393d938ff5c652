"""What a task's trainer hands to the trial program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.tasks import Answers


@dataclass(frozen=True)
class Curve:
    """One candidate's way through the search, as it goes to the leaderboard and to MLflow.

    Attributes:
        candidate: its number; `rank` its place, from 1.
        parameters: hyper-parameters, plain values.
        points: one entry a measurement: {"epoch", "score", figures…}.
        best: figures at `best_epoch`.
        reason: why its training ended, as a sentence.
        member: whether its head is part of the branch's winner.
    """

    candidate: int
    rank: int
    parameters: dict[str, Any]
    points: list[dict[str, float]]
    best: dict[str, float]
    score: float
    best_epoch: int
    epochs: int
    rung: int
    stopped_early: bool
    reason: str
    member: bool

    def to_json(self) -> dict[str, Any]:
        """Everything but the points."""
        return {name: value for name, value in vars(self).items() if name != "points"}


@dataclass(frozen=True)
class TrialResult:
    """A branch's winner, exported and proven.

    Attributes:
        model: ONNX graph; `parameters`, `network`: the same for Paddle.
        parameter_count: numbers in the model.
        preprocess: bytes of a sample → the graph's input of one sample, (R, …).
        predict: inputs (R, …) → outputs (R, …) by the exported graph.
        golden_payloads: bytes of a few samples for the bundle's golden vectors.
        preprocessing: operations, as the bundle carries them.
        answers: calibrated answers to the validated samples, out of fold.
        validation: figures on them; `thresholds` and `temperature` were chosen on them.
        winner: hyper-parameters.
        curves: all candidates, best first.
        proof: largest difference between Paddle's and ONNX Runtime's outputs.
    """

    model: Path
    parameters: Path
    network: Path
    parameter_count: int
    preprocess: Callable[[bytes], NDArray[np.float32]]
    predict: Callable[[NDArray[np.float32]], NDArray[np.float32]]
    golden_payloads: Sequence[bytes]
    preprocessing: list[dict[str, Any]]
    answers: Answers
    validation: dict[str, Any]
    thresholds: dict[str, Any]
    temperature: float
    winner: dict[str, Any]
    curves: list[Curve]
    stopped_by_clock: bool
    proof: float
