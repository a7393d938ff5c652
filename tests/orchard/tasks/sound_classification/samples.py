"""Samples for the suite that every task passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.orchard.odd_sounds import encoded, tone

LENGTHS = ((0.4, 8_000), (1.1, 16_000), (0.2, 44_100), (4.0, 22_050))


def samples() -> list[tuple[str, bytes, Any]]:
    """(path, bytes, annotation) of a few samples of two classes."""
    made = []
    for number, (seconds, rate) in enumerate(LENGTHS):
        sound = tone(seconds, frequency=300 * (number + 1), rate=rate)
        label = ("hum", "rattle")[number % 2]
        made.append((f"{label}/{number}.wav", encoded(sound, rate=rate), label))
    return made


def perfect(annotation: Any, labels: Sequence[str]) -> NDArray[np.float32]:
    """The answer of a model that is right: two windows with their times and scores."""
    scores = np.full((2, len(labels)), 0.1 / max(1, len(labels) - 1), np.float32)
    scores[:, labels.index(annotation)] = 0.9
    times = np.array([[0, 1.5], [0.75, 2.25]], np.float32)
    return np.concatenate([times, scores], axis=1)


def outputs(rows: int, labels: Sequence[str], seed: int) -> NDArray[np.float32]:
    """What a graph may give for so many rows of input."""
    values = np.random.default_rng(seed).random((rows, len(labels))).astype(np.float32)
    return values / values.sum(axis=1, keepdims=True)
