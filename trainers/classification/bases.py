"""Bases: standardised features of some blocks, turned onto their leading principal directions.

A feature vector has thousands of numbers and a data set often fewer samples. All that a head can
learn lies in the span of the samples, so heads train on coordinates in that span: the same function
class, at a tenth of the work. Every map here is linear, so a head on coordinates is folded back
exactly into one on the features.

The directions are the principal ones of at most `LANDMARKS` rows (Nyström's method, Williams and
Seeger 2001). They are found without labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trainers.engine import paddle
from trainers.features import ROWS_A_BATCH, Features

Array = NDArray[np.float32]
Layout = Sequence[tuple[str, str, int, int]]

LANDMARKS = 1024
LEAST_SHARE = 1e-7
LEAST_DEVIATION = 1e-4


@dataclass(frozen=True, order=True)
class Recipe:
    """What a basis is made of.

    Attributes:
        blocks: "all", "late" (the last three), "inner" (all but the last) or "last".
        pooling: "both", "mean" or "max".
        standardisation: "feature" (each feature has variance 1) or "block" (each pooled block has
            the same total variance, its features keep their proportions).
    """

    blocks: str = "all"
    pooling: str = "both"
    standardisation: str = "feature"

    @property
    def key(self) -> str:
        return f"{self.blocks}-{self.pooling}-{self.standardisation}"


@dataclass(frozen=True)
class Basis:
    """Coordinates of all samples and how to get them.

    `coordinates = ((features - mean) / scale) @ projection`; their mean squared length is 1.

    Attributes:
        mean, scale: (D,).
        projection: (D, R); rows of features that are not used are zero.
        coordinates: (V, N, R) float32, memory-mapped.
        deviations: (R,) standard deviation of each coordinate, in falling order.
    """

    recipe: Recipe
    mean: Array
    scale: Array
    projection: Array
    coordinates: Array
    deviations: Array

    @property
    def rank(self) -> int:
        return int(self.projection.shape[1])


def columns_of(recipe: Recipe, layout: Layout) -> NDArray[np.int64]:
    """Which features a recipe uses."""
    blocks = list(dict.fromkeys(block for block, *_ in layout))
    kept = {
        "all": blocks,
        "late": blocks[-3:],
        "inner": blocks[:-1],
        "last": blocks[-1:],
    }[recipe.blocks]
    return np.concatenate(
        [
            np.arange(start, stop)
            for block, pooling, start, stop in layout
            if block in kept and recipe.pooling in ("both", pooling)
        ]
    )


@dataclass(frozen=True)
class Moments:
    """Mean and standard deviation of each feature over the plain view, (D,) float64 each."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]


def moments(features: Features) -> Moments:
    """One pass over the plain view."""
    total = np.zeros(features.width)
    squares = np.zeros(features.width)
    for start in range(0, features.count, ROWS_A_BATCH):
        rows = features.matrix[0, start : start + ROWS_A_BATCH].astype(np.float64)
        total += rows.sum(axis=0)
        squares += np.square(rows).sum(axis=0)
    mean = total / features.count
    variance = np.maximum(squares / features.count - np.square(mean), 0.0)
    return Moments(mean, np.sqrt(variance))


def make_basis(
    features: Features,
    known: Moments,
    layout: Layout,
    recipe: Recipe,
    *,
    rank: int,
    seed: int,
    folder: Path,
) -> Basis:
    """The basis of a recipe with at most `rank` directions; its coordinates go below `folder`."""
    columns = columns_of(recipe, layout)
    scale = _scale(known, layout, recipe)
    generator = np.random.default_rng(seed)
    directions = _directions(_landmarks(features, known, scale, columns, generator), rank)
    rank = directions.shape[1]
    path = folder / f"{recipe.key}.f32"
    shape = (len(features.views), features.count, rank)
    coordinates = np.memmap(path, np.float32, "w+", shape=shape)
    squares = np.zeros(rank)
    turned = paddle.to_tensor(directions)
    for view in range(len(features.views)):
        for start in range(0, features.count, ROWS_A_BATCH):
            rows = features.matrix[view, start : start + ROWS_A_BATCH]
            part = paddle.matmul(
                paddle.to_tensor(_standardised(rows, known, scale, columns)), turned
            ).numpy()
            coordinates[view, start : start + len(part)] = part
            if view == 0:
                squares += np.square(part, dtype=np.float64).sum(axis=0)
    length = float(np.sqrt(max(squares.sum() / features.count, 1e-12)))
    coordinates /= length
    projection = np.zeros((features.width, rank), np.float32)
    projection[columns] = directions / length
    deviations = np.sqrt(squares / features.count) / length
    return Basis(
        recipe,
        known.mean.astype(np.float32),
        scale.astype(np.float32),
        projection,
        coordinates,
        np.maximum(deviations, 1e-8).astype(np.float32),
    )


def _scale(known: Moments, layout: Layout, recipe: Recipe) -> NDArray[np.float64]:
    """What each feature is divided by; features that never change are left as they are."""
    scale = known.deviation.copy()
    if recipe.standardisation == "block":
        for _, _, start, stop in layout:
            scale[start:stop] = np.sqrt(np.square(known.deviation[start:stop]).sum())
    scale[scale < LEAST_DEVIATION] = 1.0
    return scale


def _standardised(
    rows: NDArray[np.float16],
    known: Moments,
    scale: NDArray[np.float64],
    columns: NDArray[np.int64],
) -> Array:
    mean, factor = known.mean[columns], 1.0 / scale[columns]
    return np.asarray(
        (rows[:, columns].astype(np.float32) - mean.astype(np.float32)) * factor.astype(np.float32)
    )


def _landmarks(
    features: Features,
    known: Moments,
    scale: NDArray[np.float64],
    columns: NDArray[np.int64],
    generator: np.random.Generator,
) -> Array:
    views, count = len(features.views), features.count
    chosen = np.arange(views * count)
    if len(chosen) > LANDMARKS:
        chosen = np.sort(generator.choice(len(chosen), LANDMARKS, replace=False))
    parts = []
    for view in range(views):
        rows = chosen[(chosen >= view * count) & (chosen < (view + 1) * count)] - view * count
        parts.append(_standardised(features.matrix[view][rows], known, scale, columns))
    return np.concatenate(parts)


def _directions(rows: Array, rank: int) -> Array:
    """Leading right singular vectors of the rows, (columns, at most rank)."""
    matrix = paddle.to_tensor(rows)
    products = paddle.matmul(matrix, matrix, transpose_y=True).numpy().astype(np.float64)
    values, vectors = np.linalg.eigh(products)
    values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    kept = max(1, int((values > LEAST_SHARE * max(values[0], 1e-12)).sum()))
    turn = (vectors[:, :kept] / np.sqrt(np.maximum(values[:kept], 1e-12))).astype(np.float32)
    return np.asarray(paddle.matmul(matrix, paddle.to_tensor(turn), transpose_x=True).numpy())
