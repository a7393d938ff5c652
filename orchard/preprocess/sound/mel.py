"""Log-mel pictures; `orchard.preprocess.sound` says what they are."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from orchard.preprocess.operations import Operation

Array = NDArray[np.float32]
Doubles = NDArray[np.float64]

_SMALLEST = 1e-10


def mel_picture(operation: Operation, window: Array, rate: int) -> Array:
    """(n,) samples → (3, bands, n // hop) float32 between −1 and 1."""
    levels = log_mel(operation, window, rate)
    span = float(operation["range"])
    values = np.maximum(levels - levels.max(), -span) * (2 / span) + 1
    return np.repeat(values.astype(np.float32)[None], 3, axis=0)


def log_mel(operation: Operation, window: NDArray[np.floating], rate: int) -> Doubles:
    """(n,) samples → (bands, n // hop) decibels."""
    size, hop = int(operation["fft"]), int(operation["hop"])
    frames = len(window) // hop
    first = (hop - size) // 2
    padded = np.zeros(len(window) + 2 * size, np.float64)
    padded[size : size + len(window)] = window
    views = np.lib.stride_tricks.sliding_window_view(padded, size)
    chosen = views[size + first : size + first + (frames - 1) * hop + 1 : hop]  # (frames, size)
    power = np.abs(np.fft.rfft(chosen * hann(size), axis=1)) ** 2
    bands = mel_weights(size, rate, int(operation["bands"]), operation["low"], operation["high"])
    return np.asarray(10 * np.log10(np.maximum(_SMALLEST, bands @ power.T)))


@lru_cache(maxsize=8)
def hann(size: int) -> Doubles:
    """(size,) periodic window."""
    return np.asarray(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size))


@lru_cache(maxsize=8)
def mel_weights(size: int, rate: int, count: int, low: float, high: float) -> Doubles:
    """(count, size / 2 + 1) weights of each band on the bins of a transform of `size` samples;
    every band's sum is 1."""
    ends = 2595 * np.log10(1 + np.array([low, high]) / 700)
    corners = 700 * (10 ** (np.linspace(ends[0], ends[1], count + 2) / 2595) - 1)
    bins = np.arange(size // 2 + 1) * rate / size
    lower, middle, upper = (corners[i : i + count, None] for i in range(3))
    weights = np.maximum(
        0, np.minimum((bins - lower) / (middle - lower), (upper - bins) / (upper - middle))
    )
    sums = weights.sum(axis=1)
    for band in np.flatnonzero(sums == 0):
        weights[band, np.abs(bins - middle[band]).argmin()] = 1
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
