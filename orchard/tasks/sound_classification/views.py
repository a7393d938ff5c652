"""The same windows heard otherwise, for training: exact, so that equal inputs give equal views.

Raw windows are (R, n) samples; pictures are (R, 3, bands, T) as `log_mel` makes them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from orchard.decode.resample import resample
from orchard.errors import BadInput

Array = NDArray[np.float32]

VIEWS = ("plain", "shift", "quiet", "noise", "slow", "fast", "mask")
"""`shift` turns the window by a third of its length; `quiet` takes 15 decibels off; `noise` adds
white noise, 20 decibels below the window's mean power; `slow` and `fast` change speed and pitch by a
tenth; `mask` blots out a sixth of the time and, in a picture, an eighth of the bands (SpecAugment,
Park et al. 2019, arXiv:1904.08779).

A picture is relative to its own maximum, so `quiet` leaves it as it is, and noise lies evenly 20
decibels below that maximum; `slow` and `fast` change its tempo only."""

_QUIET = 10 ** (-15 / 20)
_NOISE_DECIBELS = -20.0
_NOISE_SPREAD = 3.0
_PICTURE_DECIBELS = 40.0  # half of the range that −1 … 1 stands for
_SPEED = (9, 10)


def view(inputs: Array, name: str) -> Array:
    """`inputs` in one of `VIEWS`, a new array of the same shape.

    Raises:
        BadInput: there is no such view.
    """
    if name not in VIEWS:
        raise BadInput("There is no such view", value=name, way_out=f"One of {', '.join(VIEWS)}")
    if name == "plain":
        return inputs.copy()
    if name == "shift":
        return np.asarray(np.roll(inputs, inputs.shape[-1] // 3, axis=-1))
    return _of_samples(inputs, name) if inputs.ndim == 2 else _of_picture(inputs, name)


def _of_samples(inputs: Array, name: str) -> Array:
    length = inputs.shape[1]
    if name == "quiet":
        return np.asarray(inputs * np.float32(_QUIET))
    if name == "noise":
        power = np.sqrt(np.mean(np.square(inputs, dtype=np.float64), axis=1, keepdims=True))
        # White noise between −1 and 1 has a power of a third.
        strength = power * np.sqrt(3.0) * 10 ** (_NOISE_DECIBELS / 20)
        return np.asarray(inputs + strength * _noise(length), np.float32)
    if name == "mask":
        masked = inputs.copy()
        masked[:, length // 4 : length // 4 + length // 6] = 0
        return masked
    few, many = _SPEED
    rates = (few, many) if name == "slow" else (many, few)
    rows = [resample(row, *rates) for row in inputs]
    return np.stack([np.resize(row, length) for row in rows])


def _of_picture(inputs: Array, name: str) -> Array:
    _, _, bands, columns = inputs.shape
    if name == "mask":
        masked = inputs.copy()
        means = inputs.mean(axis=(1, 2, 3), dtype=np.float64).astype(np.float32)
        fill = means[:, None, None, None]
        masked[..., columns // 4 : columns // 4 + columns // 6] = fill
        masked[:, :, bands // 2 : bands // 2 + bands // 8] = fill
        return masked
    if name == "quiet":
        return inputs.copy()
    if name in ("slow", "fast"):
        few, many = _SPEED if name == "slow" else _SPEED[::-1]
        return np.asarray(inputs[..., np.arange(columns) * few // many % columns])
    decibels = (inputs.astype(np.float64) - 1) * _PICTURE_DECIBELS
    noise = _NOISE_DECIBELS + _NOISE_SPREAD * _noise(bands * columns).reshape(bands, columns)
    mixed = 10 * np.log10(10 ** (decibels / 10) + 10 ** (noise / 10))
    return np.asarray(np.minimum(mixed / _PICTURE_DECIBELS + 1, 1), np.float32)


@lru_cache(maxsize=4)
def _noise(count: int) -> NDArray[np.float64]:
    """Always the same numbers, even from −1 to 1: the generator's raw output, which does not change
    with the version of numpy."""
    raw = np.random.PCG64(20).random_raw(count)
    return np.asarray((raw >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0)
