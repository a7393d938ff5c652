"""The recordings of the shared folder of odd files that people really upload."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from orchard.decode.sound import SOUND_RATE, decode_sound
from orchard.tasks.base import Accepted, Limits, Refused
from orchard.tasks.sound_classification.judge import judge_sound

MESSY = Path(__file__).parents[3] / "shared" / "data" / "messy"

pytestmark = pytest.mark.skipif(not MESSY.is_dir(), reason="the shared odd files are not here")

ACCEPTED = {
    "audio/scipy_test-44100Hz-le-1ch-4bytes-rf64.wav": 0.1,
    "audio/scipy_test-48000Hz-2ch-64bit-float-le-wavex.wav": 0.01,
    "audio/scipy_test-8000Hz-le-2ch-1byteu.wav": 0.1,
    "audio/pydub_test1-24bit.wav": 10.0,
    "audio/pydub_test1-8bit.wav": 10.0,
    "audio/pydub_test1.mp3": 10.0,
    "derived/mp3_named.wav": 10.0,
    "derived/wav_named.mp3": 10.0,
}
REFUSED = {
    "audio/scipy_test-1234Hz-le-1ch-10S-20bit-extra.wav": "too_short",
    "audio/scipy_test-44100Hz-le-1ch-4bytes-early-eof-no-data.wav": "empty",
    "audio/scipy_test-44100Hz-le-1ch-4bytes-early-eof.wav": "truncated",
    "audio/scipy_test-44100Hz-le-1ch-4bytes-incomplete-chunk.wav": "corrupt",
    "audio/scipy_test-8000Hz-be-3ch-5S-24bit.wav": "too_short",
    "audio/scipy_test-8000Hz-le-1ch-1byte-ulaw.wav": "too_short",
    "audio/scipy_test-8000Hz-le-3ch-5S-24bit-rf64.wav": "too_short",
    "audio/scipy_test-8000Hz-le-3ch-5S-45bit.wav": "unsupported_depth",
    "audio/scipy_test-8000Hz-le-3ch-5S-53bit.wav": "unsupported_depth",
    "audio/scipy_test-8000Hz-le-3ch-5S-64bit.wav": "unsupported_depth",
    "audio/scipy_test-8000Hz-le-4ch-9S-12bit.wav": "too_short",
    "audio/scipy_test-8000Hz-le-5ch-9S-5bit.wav": "too_short",
    "audio/pydub_test1_empty.wav": "empty",
    "audio/pydub_format_test.m4a": "unsupported_format",
    "audio/pydub_bach.ogg": "unsupported_format",
    "audio/hound_waveformatextensible-24bit-4byte-48kHz-stereo.wav": "too_short",
    "audio/hound_nonstandard-02.wav": "too_short",
    "audio/hound_oom.wav": "corrupt",
    "audio/Karissa_Hobbs_-_Let's_Go_Fishin'.ogg": "text",
}


def test_every_recording_of_the_manifest_is_expected_here() -> None:
    rows = re.findall(
        r"^\| ((?:audio|derived)/\S.*?) \|", (MESSY / "MANIFEST.md").read_text(), re.M
    )
    sounds = {row for row in rows if row.startswith("audio/") or row.endswith((".wav", ".mp3"))}
    assert sounds == ACCEPTED.keys() | REFUSED.keys()


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    payload = (MESSY / name).read_bytes()
    judged = judge_sound(payload, name, Limits())
    assert isinstance(judged, Accepted)
    assert judged.width == pytest.approx(1000 * ACCEPTED[name], abs=15)
    samples = decode_sound(payload)
    assert len(samples) == pytest.approx(ACCEPTED[name] * SOUND_RATE, rel=0.01)
    assert np.abs(samples).max() > 0.2
    assert abs(float(samples.mean(dtype=np.float64))) < 0.06
    misnamed = name.startswith("derived/")
    assert misnamed == any("content counts" in notice for notice in judged.notices)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    judged = judge_sound((MESSY / name).read_bytes(), name, Limits())
    assert isinstance(judged, Refused)
    assert judged.code == REFUSED[name], judged.reason


def test_one_song_in_four_files_is_one_song() -> None:
    names = [name for name in ACCEPTED if "test1" in name or "named" in name]
    prints = [judge_sound((MESSY / name).read_bytes(), name, Limits()) for name in names]
    bits = [int.from_bytes(one.fingerprint, "big") for one in prints if isinstance(one, Accepted)]
    assert max((a ^ b).bit_count() for a in bits for b in bits) <= 16
