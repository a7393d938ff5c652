"""Bytes of a recording → one channel of float32 samples.

The decoders are those of libsndfile (WAV, FLAC, Ogg Vorbis and Opus, MP3, AIFF), by `soundfile`.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
import soundfile
from numpy.typing import NDArray

from orchard.decode.resample import resample
from orchard.decode.sound_header import check_ogg, check_wave
from orchard.decode.sound_kinds import refusal_of, sound_format
from orchard.decode.sound_refusal import SoundRefused

SOUND_RATE = 16_000
"""Samples a second of every decoded recording."""

MAXIMUM_SECONDS = 60.0
MINIMUM_SECONDS = 0.01
LOWEST_RATE, HIGHEST_RATE = 1_000, 384_000
_VALUES_AT_ONCE = 1 << 18
# Decoders of MP3 add and drop up to two frames at the ends.
_LOST_MP3_FRAMES = 2 * 1152
# Values at full scale: the largest ones of 8 to 32-bit integers and what MP3 makes of them.
_FULL_SCALE = 0.9921875
CLIPPED_RUN = 3
CLIPPED_SHARE = 0.001

_AGAIN = "Copy or export it again"


@dataclass(frozen=True)
class SoundFacts:
    """What decoding found out.

    Attributes:
        format: one of `sound_kinds.SOUND_FORMATS`.
        coding: libsndfile's name of how values are stored (PCM_16, VORBIS, …).
        rate: samples a second in the file.
        channels: channels in the file, of which the mean was taken.
        seconds: length.
        peak: largest absolute value after mixing down.
        clipped: share of values that stand in runs of `CLIPPED_RUN` or more at full scale.
        notices: sentences about what was done.
    """

    format: str
    coding: str
    rate: int
    channels: int
    seconds: float
    peak: float
    clipped: float
    notices: tuple[str, ...]


def decode_sound(payload: bytes, maximum_seconds: float = MAXIMUM_SECONDS) -> NDArray[np.float32]:
    """Decode a recording to (n,) float32 at `SOUND_RATE` samples a second, within −1 … 1.

    The channels' mean is taken; a recording whose largest value is above 1 (floating point, MP3) is
    divided by it; then the rate is changed as `orchard.decode.resample` says. Values may overshoot 1
    a little after that.

    Args:
        payload: the whole file.
        maximum_seconds: longest recording accepted, compared with the header before anything is
            decoded, and again while decoding.

    Raises:
        SoundRefused: the bytes are no recording, cut off, corrupt, too long or short, or of a kind
            that is not read. Nothing else is raised for bad bytes.
    """
    samples, facts = decode_sound_with_facts(payload, maximum_seconds)
    return resample(samples, facts.rate, SOUND_RATE)


def decode_sound_with_facts(
    payload: bytes, maximum_seconds: float = MAXIMUM_SECONDS
) -> tuple[NDArray[np.float32], SoundFacts]:
    """As `decode_sound`, at the file's own rate, together with the facts."""
    kind = sound_format(payload)
    if kind is None:
        if payload[:4] in (b"RIFF", b"RF64") and len(payload) < 64:
            raise SoundRefused(
                "corrupt", "The file breaks off in its header", value=len(payload), way_out=_AGAIN
            )
        raise refusal_of(payload)
    notices: tuple[str, ...] = ()
    if kind == "WAV" and check_wave(payload).open_ended:
        notices = ("The header does not say how long the recording is; all that is there counts.",)
    if kind == "OGG":
        check_ogg(payload)
    try:
        with soundfile.SoundFile(io.BytesIO(payload)) as file:
            _check_length(file.frames, file.samplerate, maximum_seconds)
            samples, clipped = _read(file, maximum_seconds)
            promised, rate = int(file.frames), int(file.samplerate)
            channels, coding = int(file.channels), str(file.subtype)
    except soundfile.SoundFileError as error:
        raise _unreadable(kind, payload, error) from None
    _check_length(len(samples), rate, maximum_seconds)
    allowed = _LOST_MP3_FRAMES if kind == "MP3" else 0
    if kind in ("FLAC", "MP3") and len(samples) < promised - allowed:
        raise SoundRefused(
            "truncated",
            f"The file ends early: {len(samples) / rate:.2f} of {promised / rate:.2f} seconds "
            "are there",
            way_out=_AGAIN,
        )
    if not np.isfinite(samples).all():
        raise SoundRefused(
            "not_finite", "The recording holds values that are no numbers", way_out=_AGAIN
        )
    peak = float(np.abs(samples).max())
    if peak > 1:
        samples /= np.float32(peak)
        if peak > 2:
            notices += (f"Values go up to {peak:.4g} instead of 1; all were divided by that.",)
    facts = SoundFacts(
        kind, coding, rate, channels, len(samples) / rate, min(peak, 1.0), clipped, notices
    )
    return samples, facts


def _read(file: soundfile.SoundFile, maximum_seconds: float) -> tuple[NDArray[np.float32], float]:
    """All samples mixed down, block by block, and the share of clipped values."""
    block = max(1, _VALUES_AT_ONCE // file.channels)
    most = min(maximum_seconds * file.samplerate, 2**40) + 1
    parts: list[NDArray[np.float32]] = []
    count = clipped = 0
    while count <= most:
        values = file.read(block, dtype="float32", always_2d=True)  # (frames, channels)
        if not len(values):
            break
        count += len(values)
        clipped += _clipped(values)
        parts.append(values.mean(axis=1, dtype=np.float64).astype(np.float32))
    if not parts:
        return np.empty(0, np.float32), 0.0
    return np.concatenate(parts), clipped / (count * file.channels)


def _clipped(values: NDArray[np.float32]) -> int:
    """Values at full scale whose neighbours in time are at full scale as well."""
    if len(values) < CLIPPED_RUN:
        return 0
    full = np.abs(values) >= _FULL_SCALE
    return int((full[:-2] & full[1:-1] & full[2:]).sum())


def _check_length(frames: int, rate: int, maximum_seconds: float) -> None:
    if frames == 0:
        raise SoundRefused(
            "empty", "The recording holds no samples", way_out="Record or export it again"
        )
    seconds = frames / max(1, rate)
    if seconds < MINIMUM_SECONDS:
        raise SoundRefused(
            "too_short",
            f"The recording has {frames:,} samples, {1000 * seconds:.1f} milliseconds; at least "
            f"{1000 * MINIMUM_SECONDS:.0f} are needed",
            way_out="Use a longer recording",
        )
    if seconds > maximum_seconds:
        raise SoundRefused(
            "too_long",
            f"The recording is {seconds:,.1f} seconds long; {maximum_seconds:g} are accepted",
            way_out="Cut it into shorter ones, or ask for a higher limit",
        )
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise SoundRefused(
            "unsupported_rate",
            f"The recording has {rate:,} samples a second; {LOWEST_RATE:,} to {HIGHEST_RATE:,} "
            "are read",
            way_out="Export it with 16,000 samples a second",
        )


def _unreadable(kind: str, payload: bytes, error: Exception) -> SoundRefused:
    if kind == "OGG" and payload[28:33] == b"\x7fFLAC":
        return SoundRefused(
            "unsupported_format",
            "This Ogg file holds FLAC in a form that cannot be decoded here",
            way_out="Convert it to WAV or FLAC first, for example with `ffmpeg -i FILE FILE.flac`",
        )
    if kind == "OGG" and payload[28:35] not in (b"\x01vorbis", b"OpusHea"):
        return SoundRefused(
            "unsupported_format",
            "This Ogg file holds no sound, or a coding that is not read here",
            value=payload[28:36],
            way_out="Convert it to WAV, FLAC or MP3 first",
        )
    if kind == "FLAC" and "lost sync" in str(error):
        return SoundRefused(
            "truncated",
            "The FLAC file ends early, or a part in its middle is broken",
            way_out=_AGAIN,
        )
    reason = str(error).rpartition(": ")[2].strip().rstrip(".")
    return SoundRefused(
        "corrupt",
        f"The {kind} file cannot be decoded ({reason or type(error).__name__})",
        way_out=_AGAIN,
    )
