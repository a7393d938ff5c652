"""The sound operations against their documentation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchard.errors import BadInput
from orchard.preprocess import sound
from tests.orchard.odd_sounds import tone


def ramp(count: int) -> np.ndarray:
    return np.arange(1, count + 1, dtype=np.float32) / 1000


def operations(samples: int, **fields: object) -> list[dict[str, object]]:
    made = sound.standard(samples)
    made[1].update(fields)
    return made


def test_a_short_recording_is_repeated_or_put_into_the_middle() -> None:
    looped = sound.apply(operations(10, fill="loop"), ramp(4))
    assert looped.tolist() == [ramp(4)[np.arange(10) % 4].tolist()]
    padded = sound.apply(operations(10, fill="zeros"), ramp(5))
    assert padded.tolist() == [[0.0, 0.0, *ramp(5).tolist(), 0.0, 0.0, 0.0]]


def test_windows_cover_a_long_recording_to_its_end() -> None:
    made = operations(10, hop=5)
    found = sound.apply(made, ramp(23))
    assert [row[0] for row in found] == ramp(23)[[0, 5, 10, 13]].tolist()
    assert found[-1, -1] == ramp(23)[-1]
    seconds = np.array(sound.spans(made, 23)) * 16_000
    assert seconds.round().astype(int).tolist() == [[0, 10], [5, 15], [10, 20], [13, 23]]


def test_a_counted_window_list_is_spread_evenly() -> None:
    found = sound.apply(operations(10, count=3), ramp(31))
    assert [row[0] for row in found] == ramp(31)[[0, 10, 21]].tolist()
    middle = sound.apply(operations(10, count=1), ramp(31))
    assert middle[0, 0] == ramp(31)[10]
    assert len(sound.apply(operations(10, count=3), ramp(4))) == 3


@given(st.integers(1, 200), st.integers(1, 60), st.integers(1, 60))
def test_every_sample_is_in_a_window_where_hops_leave_no_gap(
    length: int, samples: int, hop: int
) -> None:
    found = sound.apply(operations(samples, hop=min(hop, samples), fill="zeros"), ramp(length))
    spans = sound.spans(operations(samples, hop=min(hop, samples), fill="zeros"), length)
    assert found.shape == (len(spans), samples)
    assert set(ramp(length).tolist()) <= set(found.ravel().tolist())
    assert spans[-1][1] * 16_000 == pytest.approx(length)


def test_another_rate_is_changed_first() -> None:
    found = sound.apply(operations(16_000), tone(1.0, rate=8_000), rate=8_000)
    assert np.abs(found[0, 500:-500] - tone(1.0)[500:-500]).max() < 2e-3


def test_log_mel_is_the_documented_picture() -> None:
    made = [*operations(4000), sound.mel_operation(hop=100, bands=20, fft=256)]
    window = np.random.default_rng(1).normal(size=4000).astype(np.float32) * 0.1
    found = sound.apply(made, window)
    assert found.shape == (1, 3, 20, 40)
    assert (found[0, 0] == found[0, 1]).all() and (found[0, 0] == found[0, 2]).all()

    def mel(f: np.ndarray) -> np.ndarray:
        return 2595 * np.log10(1 + f / 700)

    low, high = mel(np.array(50.0)), mel(np.array(7800.0))
    corners = 700 * (10 ** ((low + (high - low) * np.arange(22) / 21) / 2595) - 1)
    frequencies = np.arange(129) * 16_000 / 256
    levels = np.empty((20, 40))
    for frame in range(40):
        start = frame * 100 + (100 - 256) // 2
        places = np.arange(start, start + 256)
        inside = (places >= 0) & (places < 4000)
        values = np.where(inside, window[np.clip(places, 0, 3999)], 0)
        hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(256) / 256)
        power = np.abs(np.fft.fft(values * hann)[:129]) ** 2
        for band in range(20):
            a, b, c = corners[band : band + 3]
            weights = np.clip(
                np.minimum((frequencies - a) / (b - a), (c - frequencies) / (c - b)), 0, None
            )
            if weights.sum() == 0:
                weights[np.abs(frequencies - b).argmin()] = 1
            levels[band, frame] = 10 * np.log10(max(1e-10, power @ weights / weights.sum()))
    expected = np.maximum(levels - levels.max(), -80) / 40 + 1
    assert np.abs(found[0, 0] - expected).max() < 1e-6


def test_a_picture_does_not_depend_on_loudness_nor_on_the_other_windows() -> None:
    made = [*operations(4000, hop=4000), sound.mel_operation(hop=100, bands=20, fft=256)]
    window = tone(0.25, frequency=700)
    loud = sound.apply(made, window)
    assert np.abs(loud - sound.apply(made, window * np.float32(0.25))).max() < 1e-5
    both = sound.apply(made, np.concatenate([window, tone(0.25, peak=0.01)]))
    assert (both[0] == loud[0]).all()


def test_silence_is_a_plain_picture() -> None:
    made = [*operations(4000), sound.mel_operation(hop=100, bands=20, fft=256)]
    assert (sound.apply(made, np.zeros(4000, np.float32)) == 1).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made.pop(),
        lambda made: made.reverse(),
        lambda made: made[1].update(samples=0),
        lambda made: made[1].update(samples=True),
        lambda made: made[1].update(fill="mirror"),
        lambda made: made[1].update(more=1),
        lambda made: made[0].update(kernel="linear"),
        lambda made: made.append({"operation": "stretch"}),
        lambda made: made.append({**sound.mel_operation(100), "high": 9000.0}),
        lambda made: made.append({**sound.mel_operation(100), "fft": 255}),
        lambda made: made.append({**sound.mel_operation(100), "hop": 5000}),
    ],
)
def test_a_list_of_another_form_is_refused(change: object) -> None:
    made = operations(4000)
    change(made)  # type: ignore[operator]
    with pytest.raises(BadInput):
        sound.apply(made, tone())


@pytest.mark.parametrize(
    "samples", [np.zeros((2, 2), np.float32), np.zeros(5), np.zeros(0, np.float32)]
)
def test_samples_of_another_shape_are_refused(samples: np.ndarray) -> None:
    with pytest.raises(BadInput, match="float32"):
        sound.apply(operations(100), samples)
