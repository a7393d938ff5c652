"""The operations at work on samples; `orchard.preprocess.sound` says what each does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from orchard.decode.resample import resample
from orchard.decode.sound import SOUND_RATE
from orchard.preprocess.operations import bad_preprocessing
from orchard.preprocess.sound.mel import mel_picture
from orchard.preprocess.sound.operations import Operation, rate_of, validate, window_of

Array = NDArray[np.float32]


def apply(operations: Sequence[Operation], samples: Array, rate: int = SOUND_RATE) -> Array:
    """One recording (m,) float32 → the model's input, (R, n) or (R, 3, bands, T) float32.

    Args:
        rate: samples a second of the recording; decoding gives `SOUND_RATE`.

    Raises:
        BadInput: the operations are not valid or the samples have another shape or type.
    """
    validate(operations)
    if samples.dtype != np.float32 or samples.ndim != 1 or not len(samples):
        raise bad_preprocessing(
            "A recording must be (samples,) float32", f"{samples.dtype} {samples.shape}"
        )
    wanted = rate_of(operations)
    windows = _windows(window_of(operations), resample(samples, rate, wanted))
    if len(operations) == 2:
        return windows
    return np.stack([mel_picture(operations[2], window, wanted) for window in windows])


def spans(
    operations: Sequence[Operation], length: int, rate: int = SOUND_RATE
) -> list[tuple[float, float]]:
    """Begin and end in seconds of each window of a recording of `length` samples at `rate`.

    A window that is filled up ends with the recording.
    """
    wanted = rate_of(operations)
    count = -(-length * wanted // rate)
    samples = int(window_of(operations)["samples"])
    return [
        (start / wanted, min(start + samples, count) / wanted)
        for start in _starts(window_of(operations), count)
    ]


def _starts(window: Operation, length: int) -> list[int]:
    samples, hop, count = (int(window[field]) for field in ("samples", "hop", "count"))
    if length < samples:
        return [0] * max(1, count)
    room = length - samples
    if count == 1:
        return [room // 2]
    if count:
        return [index * room // (count - 1) for index in range(count)]
    starts = list(range(0, room + 1, hop))
    return starts if starts[-1] == room else [*starts, room]


def _windows(window: Operation, samples: Array) -> Array:
    wanted, length = int(window["samples"]), len(samples)
    starts = _starts(window, length)
    rows = np.zeros((len(starts), wanted), np.float32)
    if length >= wanted:
        for row, start in zip(rows, starts, strict=True):
            row[:] = samples[start : start + wanted]
    elif window["fill"] == "loop":
        rows[:] = samples[np.arange(wanted) % length]
    else:
        first = (wanted - length) // 2
        rows[:, first : first + length] = samples
    return rows
