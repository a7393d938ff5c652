"""Samples for the suite that every task passes, and a generator of many."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORDS = {
    "weather": ("rain", "cloud", "storm", "sunny", "wind", "frost", "snow", "degrees"),
    "kitchen": ("flour", "oven", "butter", "stir", "pepper", "boil", "spoon", "dough"),
}


def text(label: str, seed: int) -> bytes:
    """A few words of a class between words that say nothing."""
    random = np.random.default_rng([sorted(WORDS).index(label), seed])
    filler = ("and", "the", "then", "some", "more", "again", "very", "little")
    words = [*random.choice(WORDS[label], 3), *random.choice(filler, 5)]
    random.shuffle(words)
    return f"{' '.join(words)} {seed}".encode()


def samples() -> list[tuple[str, bytes, Any]]:
    """(path, bytes, annotation) of a few samples of two classes."""
    return [(f"{label}/{n}.txt", text(label, n), label) for n in range(2) for label in WORDS]


def write(folder: Path, count: int) -> None:
    """A folder a class with `count` texts."""
    for label in WORDS:
        (folder / label).mkdir(parents=True)
        for number in range(count):
            (folder / label / f"{number:03d}.txt").write_bytes(text(label, number))


def perfect(annotation: Any, labels: Sequence[str]) -> NDArray[np.float32]:
    """The answer of a model that is right."""
    scores = np.full((1, len(labels)), 0.1 / max(1, len(labels) - 1), np.float32)
    scores[0, labels.index(annotation)] = 0.9
    return scores


def outputs(rows: int, labels: Sequence[str], seed: int) -> NDArray[np.float32]:
    """What a graph may give for so many rows of input."""
    values = np.random.default_rng(seed).random((rows, len(labels))).astype(np.float32)
    return values / values.sum(axis=1, keepdims=True)
