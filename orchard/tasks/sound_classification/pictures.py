"""Made-up recordings for golden vectors, and recordings as small pictures for a report."""

from __future__ import annotations

import io
from functools import lru_cache

import numpy as np
import soundfile
from numpy.typing import NDArray
from PIL import Image

from orchard.decode.sound import SOUND_RATE, decode_sound
from orchard.preprocess.sound import log_mel
from orchard.tasks.base import JUDGED

_QUALITY = 80
_BANDS, _FFT = 64, 512
_RANGE = 80.0
# From quiet to loud; between them the colours go in a straight line.
_COLOURS = ((12, 8, 38), (84, 20, 110), (186, 54, 85), (249, 142, 9), (252, 255, 210))

_GOLDEN = ((8000, 0.4), (16000, 1.1), (22050, 3.3), (44100, 0.15))


def thumbnail(payload: bytes, side: int) -> bytes:
    """The spectrogram of an accepted recording as a JPEG, `side` wide and at most half as high.

    Time runs to the right, frequency upwards on the mel scale; brighter is louder.
    """
    samples = decode_sound(payload, JUDGED.maximum_seconds)
    columns = max(1, side)
    hop = max(1, len(samples) // columns)
    size = max(_FFT, 2 ** int(np.ceil(np.log2(hop))))
    operation = {"fft": size, "hop": hop, "bands": _BANDS, "low": 50.0, "high": 7800.0}
    levels = log_mel(operation, samples, SOUND_RATE)[::-1, :columns]
    shown = np.clip((levels - levels.max()) / _RANGE + 1, 0, 1)
    stops = np.linspace(0, 1, len(_COLOURS))
    planes = [np.interp(shown, stops, [colour[i] for colour in _COLOURS]) for i in range(3)]
    image = Image.fromarray(np.stack(planes, axis=-1).round().astype(np.uint8))
    image = image.resize((columns, max(1, side // 2)), Image.Resampling.BILINEAR)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=_QUALITY, optimize=True)
    return buffer.getvalue()


@lru_cache(maxsize=1)
def golden_payloads() -> tuple[bytes, ...]:
    """Seeded WAV recordings of several rates and lengths: chirps and noise; always the same bytes."""
    return tuple(_golden(seed, rate, seconds) for seed, (rate, seconds) in enumerate(_GOLDEN))


def _golden(seed: int, rate: int, seconds: float) -> bytes:
    count = int(rate * seconds)
    # Only integers and one table decide the samples, so that no other library's sine differs.
    raw = np.random.PCG64(seed).random_raw(count)
    noise = (raw >> np.uint64(52)).astype(np.int64) - 2048
    phase = np.arange(count, dtype=np.int64) * (np.arange(count, dtype=np.int64) // 64 + 40)
    saw = phase % 4096 - 2048
    gate = (np.arange(count) * 5 // count % 2) + 1
    values: NDArray[np.int16] = ((3 * saw * gate + noise) * 2).astype(np.int16)
    buffer = io.BytesIO()
    soundfile.write(buffer, values, rate, format="WAV", subtype="PCM_16")
    return buffer.getvalue()
