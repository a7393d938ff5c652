"""Perceptual hash of a picture, its distance, and its bands for the search of near-duplicates.

The hash follows PDQ (Facebook ThreatExchange, "The TMK+PDQF Video-Hashing Algorithm and the PDQ
Image-Hashing Algorithm", 2019): a 64 × 64 grey thumbnail, its two-dimensional cosine transform
without the constant terms (frequencies 1 to 16 of both axes), and one bit for each of the 256
coefficients that says whether it is above their median. It differs from PDQ in the thumbnail,
which is made with Pillow's antialiased triangle filter, so the two are not interchangeable.

Light and exposure hardly move the bits. Two shots of like things from one fixed camera, in front
of one background, may therefore be near; a shot from another place or of another scene is far.
Copies of pictures without fine structure (blurred, nearly plain, tiny and enlarged) may be missed
after strong compression, which then changes up to a quarter of the bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

BYTES = 32
NEAR_BITS = 10
# One band more than a near pair has differing bits: at least one band is then untouched.
BANDS = NEAR_BITS + 1

_THUMBNAIL, _FREQUENCIES = 64, 16


def _cosines() -> NDArray[np.float64]:
    """(16, 64): row u − 1 is the cosine of frequency u at the thumbnail's 64 places."""
    places = 2 * np.arange(_THUMBNAIL) + 1
    frequencies = np.arange(1, _FREQUENCIES + 1)[:, np.newaxis]
    wave: NDArray[np.float64] = np.cos(np.pi * frequencies * places / (2 * _THUMBNAIL))
    return wave


_COSINES = _cosines()


def fingerprint(picture: Image.Image | NDArray[np.uint8]) -> bytes:
    """The 256-bit hash of an RGB picture, a Pillow image or (H, W, 3) uint8, as 32 bytes.

    A picture of one colour has the hash of zero bits.
    """
    image = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
    size = (_THUMBNAIL, _THUMBNAIL)
    thumbnail = image.convert("L").resize(size, Image.Resampling.BILINEAR, reducing_gap=3.0)
    grey = np.asarray(thumbnail, np.float64)  # (64, 64)
    # Rounded, so that the last places of a sum do not decide a bit.
    coefficients = (_COSINES @ grey @ _COSINES.T).round(6)  # (16, 16)
    return np.packbits(coefficients > np.median(coefficients)).tobytes()


def distance(first: bytes, second: bytes) -> int:
    """The number of bits, 0 to 256, in which two fingerprints differ."""
    return (int.from_bytes(first, "big") ^ int.from_bytes(second, "big")).bit_count()


def bands(value: bytes) -> tuple[int, ...]:
    """A fingerprint's 11 bands of 23 or 24 bits, each from all over the frequencies.

    Two fingerprints within `NEAR_BITS` of each other have at least one equal band at the same
    place, so comparing only pictures that share a (place, band) finds every near pair.
    """
    bits = f"{int.from_bytes(value, 'big'):0{8 * BYTES}b}"
    return tuple(int(bits[place::BANDS], 2) for place in range(BANDS))
