"""The judge of recordings."""

from __future__ import annotations

import numpy as np
import pytest

from orchard.decode.sound import SOUND_RATE, decode_sound
from orchard.tasks.base import Accepted, Limits, Refused
from orchard.tasks.sound_classification.fingerprint import (
    BANDS,
    BYTES,
    NEAR_BITS,
    bands,
    distance,
    fingerprint,
)
from orchard.tasks.sound_classification.judge import judge_sound
from tests.orchard.odd_sounds import encoded, tone


def noise(seconds: float, seed: int, rate: int = SOUND_RATE) -> np.ndarray:
    """Noise whose loudness and colour change: something that a fingerprint can hold on to."""
    generator = np.random.default_rng(seed)
    count = int(seconds * rate)
    white = generator.normal(size=count)
    changes = np.interp(np.arange(count), np.linspace(0, count, 12), generator.random(12))
    pitch = np.interp(np.arange(count), np.linspace(0, count, 9), generator.uniform(150, 3000, 9))
    voice = np.sin(2 * np.pi * np.cumsum(pitch) / rate)
    return (0.3 * changes * voice + 0.05 * white * changes[::-1]).astype(np.float32)


def test_an_accepted_recording_keeps_its_bytes_and_tells_its_length() -> None:
    payload = encoded(tone(0.75))
    judged = judge_sound(payload, "a/b.wav", Limits())
    assert isinstance(judged, Accepted)
    assert (judged.payload, judged.changed) == (payload, False)
    assert (judged.width, judged.height) == (750, 1)
    assert len(judged.fingerprint) == BYTES
    assert judged.notices == ()


def test_silence_is_refused_and_a_whisper_is_not() -> None:
    still = np.full(8000, 0.2, np.float32)
    judged = judge_sound(encoded(still, coding="FLOAT"), "x.wav", Limits())
    assert isinstance(judged, Refused) and judged.code == "silent"
    whisper = judge_sound(encoded(tone(peak=0.001)), "x.wav", Limits())
    assert isinstance(whisper, Accepted)


def test_channels_that_cancel_are_told() -> None:
    channels = np.stack([tone(), -tone()], axis=1)
    judged = judge_sound(encoded(channels), "x.wav", Limits())
    assert isinstance(judged, Refused)
    assert "cancel" in judged.reason


def test_a_clipped_recording_is_taken_with_a_notice() -> None:
    judged = judge_sound(encoded(np.clip(tone(peak=3.0), -1, 1)), "x.wav", Limits())
    assert isinstance(judged, Accepted)
    assert "clipped" in judged.notices[0]


def test_a_wrong_ending_is_told() -> None:
    judged = judge_sound(encoded(tone(), form="FLAC"), r"C:\sounds\one.WAV", Limits())
    assert isinstance(judged, Accepted)
    assert judged.notices == ("Named .WAV, but the content is FLAC; the content counts.",)


def test_the_limit_of_length_is_the_setting() -> None:
    payload = encoded(tone(2.0))
    assert isinstance(judge_sound(payload, "x.wav", Limits(maximum_seconds=2.0)), Accepted)
    judged = judge_sound(payload, "x.wav", Limits(maximum_seconds=1.5))
    assert isinstance(judged, Refused) and judged.code == "too_long"


def test_a_large_file_is_stored_as_one_channel_of_flac() -> None:
    channels = np.stack([noise(1.0, 0, 48_000)] * 2, axis=1)
    payload = encoded(channels, rate=48_000, coding="FLOAT")
    judged = judge_sound(payload, "x.wav", Limits(maximum_bytes=100_000))
    assert isinstance(judged, Accepted)
    assert judged.changed and len(judged.payload) <= 100_000
    assert "stored as FLAC" in judged.notices[0]
    again = decode_sound(judged.payload)
    assert np.abs(again - decode_sound(payload)).max() < 1e-4
    too_small = judge_sound(payload, "x.wav", Limits(maximum_bytes=1000))
    assert isinstance(too_small, Refused) and too_small.code == "too_many_bytes"


@pytest.mark.parametrize(
    ("form", "rate", "gain"), [("FLAC", 16_000, 1.0), ("MP3", 44_100, 0.7), ("OGG", 22_050, 0.3)]
)
def test_a_copy_in_another_coding_is_near(form: str, rate: int, gain: float) -> None:
    from orchard.decode.resample import resample

    for seed in range(4):
        sound = noise(1.5, seed)
        copy = decode_sound(encoded(resample(sound, 16_000, rate) * gain, rate=rate, form=form))
        assert distance(fingerprint(sound), fingerprint(copy)) <= NEAR_BITS


def test_other_recordings_are_far() -> None:
    prints = [fingerprint(noise(1.0, seed)) for seed in range(30)]
    pairs = [distance(a, b) for i, a in enumerate(prints) for b in prints[:i]]
    assert min(pairs) > 2 * NEAR_BITS


def test_near_fingerprints_share_a_band() -> None:
    generator = np.random.default_rng(0)
    value = generator.bytes(BYTES)
    for _ in range(20):
        flipped = int.from_bytes(value, "big")
        for place in generator.choice(256, NEAR_BITS, replace=False):
            flipped ^= 1 << int(place)
        other = flipped.to_bytes(BYTES, "big")
        assert len(bands(value)) == BANDS
        assert any(a == b for a, b in zip(bands(value), bands(other), strict=True))
