"""Sampling rates: one exactly defined way from any rate to another.

Output sample j lies at the time t = j·from/to, counted in input samples. It is the weighted sum of
the input samples k with |t − k| < H, where c = 0.95·min(1, to/from) is the cut-off relative to half
of the input's rate, H = 24/c, and the weight is sinc(c·(t − k))·cos²(π·(t − k)/(2H)) with
sinc(x) = sin(πx)/(πx), divided by the sum of all weights of the output sample. Samples before the
first and after the last are zero (their weights count in the sum). n input samples give
ceil(n·to/from) output samples. Computed in doubles, rounded to float32 once.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

CUT_OFF = 0.95
ZERO_CROSSINGS = 24
_VALUES_AT_ONCE = 1 << 17

Doubles = NDArray[np.float64]


def resample(samples: NDArray[np.float32], rate: int, wanted: int) -> NDArray[np.float32]:
    """(n,) at `rate` → (ceil(n·wanted/rate),) at `wanted` samples a second, float32."""
    if rate == wanted or not len(samples):
        return np.ascontiguousarray(samples, np.float32)
    common = math.gcd(rate, wanted)
    up, down = wanted // common, rate // common
    half = _half(up, down)
    padded = np.zeros(len(samples) + 2 * half + 1, np.float64)
    padded[half : half + len(samples)] = samples
    views = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
    result = np.empty(-(-len(samples) * up // down), np.float32)
    # Outputs whose numbers are equal modulo `up` share their weights: each is one product.
    phases = min(up, len(result))
    block = max(1, _VALUES_AT_ONCE // views.shape[1])
    for start in range(0, phases, block):
        stop = min(start + block, phases)
        for phase, weights in enumerate(_table(up, down, start, stop), start):
            rows = len(range(phase, len(result), up))
            first = phase * down // up
            chosen = views[first : first + (rows - 1) * down + 1 : down]
            result[phase::up] = np.einsum("ij,j->i", chosen, weights)
    return result


@lru_cache(maxsize=16)
def _table(up: int, down: int, start: int, stop: int) -> Doubles:
    """(stop − start, taps): the weights of the output samples `start` … `stop`."""
    return _weights(np.arange(start, stop, dtype=np.int64) * down % up, up, down)


def _weights(remainders: NDArray[np.int64], up: int, down: int) -> Doubles:
    """(rows,) numerators of t's fraction of `up` → (rows, 2·ceil(H) + 1) weights.

    Column i belongs to the input sample floor(t) − ceil(H) + i.
    """
    cut_off = _cut_off(up, down)
    reach = ZERO_CROSSINGS / cut_off
    half = _half(up, down)
    distance = (remainders / up)[:, None] - np.arange(-half, half + 1)
    inside = np.abs(distance) < reach
    window = np.where(inside, np.cos(np.pi * distance / (2 * reach)) ** 2, 0.0)
    weights = np.sinc(cut_off * distance) * window
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _half(up: int, down: int) -> int:
    return math.ceil(ZERO_CROSSINGS / _cut_off(up, down))


def _cut_off(up: int, down: int) -> float:
    return CUT_OFF * min(1.0, up / down)
