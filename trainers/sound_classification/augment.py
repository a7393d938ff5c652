"""Random changes of log-mel spectrograms that leave what is heard: shift, gain, noise, SpecAugment.

A spectrogram is (bands, T) as `trainers.backbones.log_mel` makes it. What sounds do to one another
happens in power, so levels are turned into power where a noise is added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainers.backbones.log_mel import MIDDLE, SMALLEST_POWER, SPREAD

Array = NDArray[np.float32]

_NATURAL = np.float32(np.log(10) / 10)
_FLOOR = (10 * np.log10(SMALLEST_POWER) - MIDDLE) / SPREAD


@dataclass(frozen=True)
class Augmentation:
    """How far spectrograms are changed.

    Attributes:
        shift: largest move along time as a part of the window, 0–1; what leaves at one end comes
            in at the other.
        gain: largest change of the level, in decibels.
        noise: share of the spectrograms that get a noise, 0–1.
        ratio: how many decibels it lies below the window's mean power, from and to.
        tilt: largest difference in decibels between the noise's highest and lowest band.
        masks: blocks of bands and blocks of columns that are blotted out, so many of each
            (SpecAugment, Park et al. 2019, arXiv:1904.08779, without its warping of time).
        band_share, time_share: largest part of the bands, and of the columns, in one block.
    """

    shift: float = 0.2
    gain: float = 6.0
    noise: float = 0.5
    ratio: tuple[float, float] = (10.0, 40.0)
    tilt: float = 15.0
    masks: int = 2
    band_share: float = 0.1
    time_share: float = 0.1


def augmented(values: Array, how: Augmentation, random: np.random.Generator) -> Array:
    """Changed copies of (N, bands, T) spectrograms, each changed on its own."""
    count, bands, columns = values.shape
    furthest = int(how.shift * columns)
    moves = random.integers(-furthest, furthest + 1, count)
    places = (np.arange(columns)[None] - moves[:, None]) % columns
    changed = np.take_along_axis(values, places[:, None], axis=2)
    changed = _noisy(changed, how, random)
    gains = random.uniform(-how.gain, how.gain, (count, 1, 1)) / SPREAD
    changed = np.maximum(changed + gains.astype(np.float32), np.float32(_FLOOR))
    means = changed.mean(axis=(1, 2), keepdims=True)
    for _ in range(how.masks):
        hidden = _block(count, bands, how.band_share, random)[:, :, None]
        hidden = hidden | _block(count, columns, how.time_share, random)[:, None]
        changed = np.where(hidden, means, changed)
    return np.ascontiguousarray(changed, np.float32)


def _noisy(values: Array, how: Augmentation, random: np.random.Generator) -> Array:
    """With a noise whose power in each cell is drawn around a line over the bands."""
    count, bands, columns = values.shape
    chosen = np.flatnonzero(random.random(count) < how.noise)
    power = np.exp((values[chosen] * np.float32(SPREAD) + np.float32(MIDDLE)) * _NATURAL)
    below = random.uniform(*how.ratio, (len(chosen), 1, 1))
    tilts = random.uniform(-how.tilt, how.tilt, (len(chosen), 1, 1))
    line = tilts * np.linspace(-0.5, 0.5, bands)[None, :, None] - below
    level = power.mean(axis=(1, 2), keepdims=True) * np.exp(line * _NATURAL)
    # Of a band's power over two bins, about: an Erlang distribution of two exponential ones.
    drawn = random.standard_exponential((2, len(chosen), bands, columns), np.float32).mean(axis=0)
    noisy = power + level.astype(np.float32) * drawn
    result = values.copy()
    result[chosen] = (np.log(noisy) / _NATURAL - np.float32(MIDDLE)) / np.float32(SPREAD)
    return result


def _block(count: int, length: int, share: float, random: np.random.Generator) -> NDArray[np.bool_]:
    """(count, length): one run of places in each row, of 0 to `share` of the length."""
    widths = random.integers(0, int(share * length) + 1, (count, 1))
    starts = (random.random((count, 1)) * (length - widths + 1)).astype(np.int64)
    places = np.arange(length)[None]
    return np.asarray((places >= starts) & (places < starts + widths))
