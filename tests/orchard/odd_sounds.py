"""Small recordings in many forms for tests."""

from __future__ import annotations

import io
import struct

import numpy as np
import soundfile
from numpy.typing import NDArray

RATE = 16_000


def tone(
    seconds: float = 0.5, frequency: float = 440.0, rate: int = RATE, peak: float = 0.5
) -> NDArray[np.float32]:
    """A sine, (n,) float32."""
    time = np.arange(int(seconds * rate)) / rate
    return (peak * np.sin(2 * np.pi * frequency * time)).astype(np.float32)


def encoded(
    samples: NDArray[np.floating], rate: int = RATE, form: str = "WAV", coding: str | None = None
) -> bytes:
    """Samples (n,) or (n, channels) as a file."""
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format=form, subtype=coding)
    return buffer.getvalue()


def wave(
    data: bytes, *, bits: int = 16, channels: int = 1, rate: int = RATE, promised: int | None = None
) -> bytes:
    """A WAV file of integers, written by hand; `promised` is the length in its header."""
    block = channels * ((bits + 7) // 8)
    body = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, channels, rate, rate * block, block, bits)
    length = len(data) if promised is None else promised
    body += b"data" + struct.pack("<I", length) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body
