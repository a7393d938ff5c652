"""The judge of recordings: bytes → an accepted sample or the reason why not."""

from __future__ import annotations

import io
from pathlib import PureWindowsPath

import numpy as np
import soundfile
from numpy.typing import NDArray

from orchard.decode.resample import resample
from orchard.decode.sound import (
    CLIPPED_SHARE,
    SOUND_RATE,
    SoundFacts,
    decode_sound_with_facts,
)
from orchard.decode.sound_kinds import extension_fits
from orchard.decode.sound_refusal import SoundRefused
from orchard.tasks.base import Accepted, Limits, Refused
from orchard.tasks.sound_classification.fingerprint import fingerprint

SILENCE = 1e-4
"""Half of the distance between the largest and the smallest value, below which nothing is heard
(80 decibels below full scale)."""


def judge_sound(payload: bytes, path: str, limits: Limits) -> Accepted | Refused:
    """Decide over one recording by decoding it whole. Pure; never raises for bad bytes.

    Args:
        payload: the whole file.
        path: the file's name or path; only its extension is looked at, and only to say that it
            does not fit the content.
        limits: `maximum_seconds` and `maximum_bytes` count here.

    Returns:
        `Accepted` with the given bytes, its `width` being the length in milliseconds and its
        `height` 1. A file above `maximum_bytes` is stored as 16-bit FLAC of one channel and
        `SOUND_RATE` samples a second instead. `Refused` has a code of
        `orchard.decode.sound_refusal.SOUND_CODES`, or `silent`, or `too_many_bytes`.
    """
    try:
        samples, facts = decode_sound_with_facts(payload, limits.maximum_seconds)
    except SoundRefused as refusal:
        return Refused(refusal.code, str(refusal))
    if float(samples.max() - samples.min()) < 2 * SILENCE:
        other = " Its channels cancel each other." if facts.channels > 1 else ""
        return Refused(
            "silent",
            f"Nothing is heard in the recording's {facts.seconds:.2f} seconds: no value is more "
            f"than {SILENCE:g} of full scale from the middle.{other} Check the microphone and "
            "record it again.",
        )
    decoded = resample(samples, facts.rate, SOUND_RATE)
    notices = _extension_notices(path, facts) + facts.notices + _clipping_notices(facts)
    stored, changed = payload, False
    if len(payload) > limits.maximum_bytes:
        stored, changed = _as_flac(decoded), True
        if len(stored) > limits.maximum_bytes:
            return Refused(
                "too_many_bytes",
                f"The recording has {_bytes(len(payload))}, and {_bytes(len(stored))} even as FLAC "
                f"of one channel; {_bytes(limits.maximum_bytes)} are accepted. Cut it into shorter "
                "ones, or ask for a higher limit.",
            )
        notices += (
            f"The file has {_bytes(len(payload))}, more than {_bytes(limits.maximum_bytes)}: it was "
            f"stored as FLAC of one channel with {SOUND_RATE:,} samples a second and "
            f"{_bytes(len(stored))}.",
        )
    milliseconds = max(1, round(1000 * facts.seconds))
    return Accepted(stored, changed, milliseconds, 1, fingerprint(decoded), notices)


def _as_flac(samples: NDArray[np.float32]) -> bytes:
    buffer = io.BytesIO()
    values = np.clip(np.rint(samples.astype(np.float64) * 32768), -32768, 32767).astype(np.int16)
    soundfile.write(buffer, values, SOUND_RATE, format="FLAC", subtype="PCM_16")
    return buffer.getvalue()


def _extension_notices(path: str, facts: SoundFacts) -> tuple[str, ...]:
    # The Windows form takes both kinds of slashes.
    extension = PureWindowsPath(path).suffix.lstrip(".")
    if not extension or extension_fits(extension, facts.format):
        return ()
    return (f"Named .{extension}, but the content is {facts.format}; the content counts.",)


def _clipping_notices(facts: SoundFacts) -> tuple[str, ...]:
    if facts.clipped < CLIPPED_SHARE:
        return ()
    return (
        f"{100 * facts.clipped:.1f} % of the values are at full scale, so the recording is "
        "clipped: it was too loud for the microphone.",
    )


def _bytes(count: int) -> str:
    if count < 1024:
        return f"{count} bytes"
    if count < 1024 * 1024:
        return f"{count / 1024:.1f} kB"
    return f"{count / (1024 * 1024):.1f} MB"
