"""Acoustic hash of a recording, its distance, and its bands for the search of near-duplicates.

The energies of 17 mel bands in 17 stretches of the whole recording, as logarithms, are a picture
whose two-dimensional cosine transform is taken, without what stays the same over time. One bit for
each of 16 × 16 coefficients says whether it is above their median, as PDQ does with pictures
(Facebook ThreatExchange, 2019).

A copy in another coding, rate or loudness is near; a recording of the same thing made another time,
or a part that was cut out, is far. Of quiet stretches, 20 decibels below the loudest, little is kept,
because lossy codings change them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orchard.decode.sound import SOUND_RATE
from orchard.preprocess.sound import log_mel

BYTES = 32
NEAR_BITS = 16
# One band more than a near pair has differing bits: at least one band is then untouched.
BANDS = NEAR_BITS + 1

_CELLS = 17
_FFT, _HOP = 1024, 160
_FLOOR = 0.01
_LOW, _HIGH = 100.0, 3800.0  # what telephone recordings and strong compression leave, too


def _cosines() -> NDArray[np.float64]:
    """(17, 17): row u is the cosine of frequency u at the 17 places."""
    places = 2 * np.arange(_CELLS) + 1
    wave: NDArray[np.float64] = np.cos(np.pi * np.arange(_CELLS)[:, None] * places / (2 * _CELLS))
    return wave


_COSINES = _cosines()


def fingerprint(samples: NDArray[np.float32]) -> bytes:
    """The 256-bit hash of (n,) float32 samples at `SOUND_RATE`, as 32 bytes."""
    hop = min(_HOP, max(1, len(samples) // _CELLS))
    operation = {"fft": _FFT, "hop": hop, "bands": _CELLS, "low": _LOW, "high": _HIGH}
    power = 10 ** (log_mel(operation, samples, SOUND_RATE) / 10)  # (17, T)
    edges = np.arange(_CELLS + 1) * power.shape[1] // _CELLS
    cells = np.add.reduceat(power, edges[:-1], axis=1) / np.maximum(1, np.diff(edges))
    levels = np.log(cells + _FLOOR * cells.max() + 1e-20)
    # Rounded, so that the last places of a sum do not decide a bit.
    coefficients = (_COSINES @ levels @ _COSINES.T)[:16, 1:].round(6)  # (16, 16)
    return np.packbits(coefficients > np.median(coefficients)).tobytes()


def distance(first: bytes, second: bytes) -> int:
    """The number of bits, 0 to 256, in which two fingerprints differ."""
    return (int.from_bytes(first, "big") ^ int.from_bytes(second, "big")).bit_count()


def bands(value: bytes) -> tuple[int, ...]:
    """A fingerprint's bands of 15 or 16 bits, each from all over frames and bands.

    Two fingerprints within `NEAR_BITS` of each other have at least one equal band at the same
    place.
    """
    bits = f"{int.from_bytes(value, 'big'):0{8 * BYTES}b}"
    return tuple(int(bits[place::BANDS], 2) for place in range(BANDS))
