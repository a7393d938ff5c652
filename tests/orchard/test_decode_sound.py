"""Decoding of recordings: what is read, how it sounds then, and what is refused."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchard.decode.resample import resample
from orchard.decode.sound import (
    SOUND_RATE,
    decode_sound,
    decode_sound_with_facts,
)
from orchard.decode.sound_kinds import sound_format
from orchard.decode.sound_refusal import SOUND_CODES, SoundRefused
from tests.orchard.odd_sounds import RATE, encoded, tone, wave

EXACT = [
    ("WAV", "PCM_U8", 1 / 100),
    ("WAV", "PCM_16", 1e-4),
    ("WAV", "PCM_24", 1e-6),
    ("WAV", "PCM_32", 1e-6),
    ("WAV", "FLOAT", 0),
    ("WAV", "DOUBLE", 0),
    ("WAV", "ULAW", 0.02),
    ("WAVEX", "PCM_24", 1e-6),
    ("RF64", "PCM_16", 1e-4),
    ("AIFF", "PCM_16", 1e-4),
    ("FLAC", "PCM_16", 1e-4),
]


@pytest.mark.parametrize(("form", "coding", "tolerance"), EXACT)
def test_each_coding_gives_the_samples_that_were_written(
    form: str, coding: str, tolerance: float
) -> None:
    samples = tone()
    found = decode_sound(encoded(samples, form=form, coding=coding))
    assert found.dtype == np.float32
    assert len(found) == len(samples)
    assert np.abs(found - samples).max() <= tolerance


@pytest.mark.parametrize(("form", "coding"), [("OGG", "VORBIS"), ("OGG", "OPUS"), ("MP3", None)])
def test_lossy_codings_give_nearly_the_same_sound(form: str, coding: str | None) -> None:
    samples = tone(1.0)
    found = decode_sound(encoded(samples, form=form, coding=coding))
    assert abs(len(found) - len(samples)) <= 1200
    spectrum = np.abs(np.fft.rfft(found))
    assert spectrum.argmax() * SOUND_RATE / len(found) == pytest.approx(440, abs=3)


def test_channels_are_mixed_down_to_their_mean() -> None:
    channels = np.stack([tone(frequency=f) for f in (300, 500, 700)], axis=1)
    assert np.allclose(decode_sound(encoded(channels, coding="FLOAT")), channels.mean(1), atol=1e-6)


def test_a_float_recording_above_full_scale_is_divided_by_its_peak() -> None:
    samples = tone() * np.float32(20_000)
    found, facts = decode_sound_with_facts(encoded(samples, coding="FLOAT"))
    assert np.abs(found).max() == pytest.approx(1.0)
    assert facts.peak == 1.0
    assert "all were divided" in facts.notices[0]


def test_content_counts_and_not_the_beginning_of_a_name() -> None:
    assert sound_format(encoded(tone(), form="MP3")) == "MP3"
    assert sound_format(encoded(tone(), form="OGG")) == "OGG"
    assert sound_format(b"ID3 and so on") == "MP3"
    assert sound_format(b"just some text") is None


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (b"", "empty"),
        (bytes(500), "zero_bytes"),
        (b"<!DOCTYPE html><html>404</html>", "html"),
        (b"a note about the recordings", "text"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "text"),
        (b"\x00\x00\x00\x1cftypM4A \x00\x00\x00\x00", "unsupported_format"),
        (b"\xff\xf1\x50\x80\x02\x1f\xfc" + bytes(40), "unsupported_format"),
        (b"#!AMR\n" + bytes(40), "unsupported_format"),
        (b"\xff\xd8\xff\xe0" + bytes(40), "not_audio"),
        (b"PK\x03\x04" + bytes(40), "not_audio"),
        (b"\x01\x02\x81\x03\xfe" * 30, "not_audio"),
        (b"RIFF\x00\x00", "corrupt"),
        (b"RIFF\x10\x00\x00\x00WAVEjunk", "corrupt"),
        (wave(b""), "empty"),
        (wave(bytes(100), promised=4000), "truncated"),
        (wave(bytes(8000), bits=64), "unsupported_depth"),
        (wave(bytes(8000), bits=45), "unsupported_depth"),
        (wave(bytes(20)), "too_short"),
        (wave(bytes(800), rate=900), "unsupported_rate"),
        (encoded(tone(), form="FLAC")[:1500], "truncated"),
        (encoded(tone(), form="OGG")[:-40], "truncated"),
        (encoded(tone(3.0), form="MP3")[:2000], "truncated"),
    ],
)
def test_what_is_refused_has_a_code_and_a_way_out(payload: bytes, code: str) -> None:
    with pytest.raises(SoundRefused) as caught:
        decode_sound(payload)
    assert caught.value.code == code
    assert caught.value.way_out


def test_values_that_are_no_numbers_are_refused() -> None:
    samples = tone()
    samples[7] = np.nan
    with pytest.raises(SoundRefused) as caught:
        decode_sound(encoded(samples, coding="FLOAT"))
    assert caught.value.code == "not_finite"


def test_a_recorder_that_wrote_no_length_is_read_to_the_end() -> None:
    data = (tone() * 32767).astype("<i2").tobytes()
    found, facts = decode_sound_with_facts(wave(data, promised=0xFFFFFFFF))
    assert len(found) == len(tone())
    assert "how long" in facts.notices[0]


def test_length_is_checked_before_anything_is_decoded() -> None:
    payload = encoded(np.zeros(RATE * 120, np.float32), form="FLAC")
    assert len(payload) < 100_000
    tracemalloc.start()
    with pytest.raises(SoundRefused) as caught:
        decode_sound(payload, maximum_seconds=60)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.code == "too_long"
    assert "120.0 seconds" in str(caught.value)
    assert peak < 2_000_000


def test_clipping_is_measured() -> None:
    clipped = np.clip(tone(peak=2.0), -1, 1)
    assert decode_sound_with_facts(encoded(clipped))[1].clipped > 0.3
    assert decode_sound_with_facts(encoded(tone(peak=0.9)))[1].clipped == 0


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["WAV", "FLAC", "OGG", "MP3", "AIFF"]), st.data())
def test_bad_bytes_raise_nothing_else(noise: bytes, form: str, data: st.DataObject) -> None:
    payload = bytearray(encoded(tone(0.1), form=form))
    place = data.draw(st.integers(0, len(payload)))
    payload[place : place + len(noise)] = noise
    try:
        found = decode_sound(bytes(payload[: data.draw(st.integers(0, len(payload)))]))
    except SoundRefused as refusal:
        assert refusal.code in SOUND_CODES
    else:
        assert np.isfinite(found).all()


@pytest.mark.parametrize("rate", [8000, 11025, 22050, 32000, 44100, 48000, 96000, 192000, 44101])
def test_any_rate_keeps_pitch_loudness_and_length(rate: int) -> None:
    samples = tone(0.3, frequency=1000, rate=rate)
    found = resample(samples, rate, SOUND_RATE)
    assert len(found) == -(-len(samples) * SOUND_RATE // rate)
    wanted = tone(0.3, frequency=1000)[: len(found)]
    assert np.abs(found[200 : len(wanted) - 200] - wanted[200:-200]).max() < 2e-3


def test_what_the_lower_rate_cannot_hold_is_filtered_out() -> None:
    high = tone(0.3, frequency=11_000, rate=44_100)
    assert np.abs(resample(high, 44_100, SOUND_RATE)[200:-200]).max() < 2e-3


def test_resampling_is_the_documented_sum() -> None:
    samples = np.random.default_rng(0).normal(size=200).astype(np.float32)
    found = resample(samples, 12_000, 16_000)
    cut_off, number = 0.95, 101
    reach, time = 24 / cut_off, number * 12 / 16
    places = np.arange(int(np.ceil(time - reach)), int(np.floor(time + reach)) + 1)
    distance = time - places
    weights = np.sinc(cut_off * distance) * np.cos(np.pi * distance / (2 * reach)) ** 2
    padded = np.array([samples[k] if 0 <= k < 200 else 0.0 for k in places])
    assert found[number] == pytest.approx(float(padded @ weights / weights.sum()), abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 400), st.integers(1000, 50_000))
def test_a_constant_stays_what_it_is(count: int, rate: int) -> None:
    found = resample(np.full(count + 600, 0.25, np.float32), rate, SOUND_RATE)
    middle = found[len(found) // 2]
    reach = 24 / 0.95 * max(1.0, rate / SOUND_RATE)
    if (count + 600) / 2 > reach + 1:
        assert middle == pytest.approx(0.25, abs=1e-6)
