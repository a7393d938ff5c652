"""The machine that is heard: seeded recordings whose classes are not told by loudness."""

from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile

from examples import machine
from orchard.tasks import task
from orchard.tasks.base import Accepted, Limits


def recordings(count: int) -> list[tuple[str, np.ndarray]]:
    return [
        (label, machine.record(np.random.default_rng([3, number, index]), label))
        for number, label in enumerate(machine.LABELS)
        for index in range(count)
    ]


@pytest.fixture(scope="module")
def made() -> list[tuple[str, np.ndarray]]:
    return recordings(25)


def test_the_same_seed_gives_the_same_recording() -> None:
    assert machine.wav(recordings(1)[1][1]) == machine.wav(recordings(1)[1][1])
    one, other = (machine.record(np.random.default_rng(seed), "good") for seed in (1, 2))
    assert one.tobytes() != other.tobytes()


def test_a_recording_is_a_sound_file_that_the_judge_takes(
    made: list[tuple[str, np.ndarray]],
) -> None:
    for label, samples in made[::10]:
        payload = machine.wav(samples)
        found, rate = soundfile.read(io.BytesIO(payload), dtype="int16")
        assert rate == machine.RATE and (found == samples).all()
        assert 2.0 <= len(samples) / rate <= 3.0
        judged = task("sound_classification").judge(payload, f"{label}.wav", Limits())
        assert isinstance(judged, Accepted)
        assert judged.notices == ()


def nearest(values: np.ndarray, truth: np.ndarray) -> float:
    """Accuracy of the five nearest neighbours in one number, each recording left out in turn."""
    distance = np.abs(values[:, None] - values[None])
    np.fill_diagonal(distance, np.inf)
    votes = truth[np.argsort(distance, axis=1)[:, :5]]
    said = [np.bincount(row, minlength=3).argmax() for row in votes]
    return float((np.array(said) == truth).mean())


@pytest.mark.parametrize("figure", ["energy", "peak", "length"])
def test_loudness_alone_does_not_tell_the_class(
    made: list[tuple[str, np.ndarray]], figure: str
) -> None:
    truth = np.array([machine.LABELS.index(label) for label, _ in made])
    values = {
        "energy": [np.log(np.mean(np.square(samples / 32768))) for _, samples in made],
        "peak": [np.log(np.abs(samples.astype(float)).max()) for _, samples in made],
        "length": [float(len(samples)) for _, samples in made],
    }[figure]
    assert nearest(np.array(values), truth) <= 0.6
