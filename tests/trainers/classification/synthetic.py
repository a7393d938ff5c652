"""Synthetic features for the search's tests: noisy clusters in a vector of six pooled blocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trainers.classification.heads import Problem
from trainers.features import Features

CLASSES = 3
LAYOUT = [
    (block, pooling, 16 * (2 * number + second), 16 * (2 * number + second) + 16)
    for number, block in enumerate(("a", "b", "c", "d", "e", "f"))
    for second, pooling in enumerate(("mean", "max"))
]
WIDTH = LAYOUT[-1][3]


def clusters(
    count: int, seed: int = 0, noise: float = 3.0, folds: int = 5
) -> tuple[Features, Problem]:
    """`count` samples of three classes; a class moves a few features of each block."""
    generator = np.random.default_rng(seed)
    truth: NDArray[np.int64] = np.arange(count) % CLASSES
    centres = np.random.default_rng(99).normal(0, 1, (CLASSES, WIDTH))
    plain = centres[truth] + noise * generator.standard_normal((count, WIDTH))
    mirrored = plain + 0.3 * generator.standard_normal((count, WIDTH))
    matrix = np.stack([plain, mirrored]).astype(np.float16)
    fold = generator.permutation(count) % folds if folds else np.where(truth < 0, 0, -1)
    features = Features(matrix, ("plain", "mirror"), np.arange(count), {})
    return features, Problem(truth, fold.astype(np.int64), max(1, folds), CLASSES)


def work(candidates: int = 9) -> dict[str, object]:
    """A small fixed work of three rungs."""
    return {
        "candidates": candidates,
        "rungs": [
            {"keep": candidates, "epochs": 6},
            {"keep": max(3, candidates // 2), "epochs": 8},
            {"keep": 3, "epochs": 30},
        ],
        "members": 3,
    }


def folder(path: Path, name: str) -> Path:
    """A folder of its own for a search's arrays."""
    made = path / name
    made.mkdir()
    return made
