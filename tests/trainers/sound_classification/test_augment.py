"""Random changes of spectrograms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trainers.backbones.log_mel import MIDDLE, SPREAD
from trainers.sound_classification.augment import Augmentation, augmented

NOTHING = Augmentation(shift=0, gain=0, noise=0, masks=0)


def spectrograms(count: int = 40) -> np.ndarray:
    generator = np.random.default_rng(5)
    decibels = generator.uniform(-60, -20, (count, 64, 96))
    return ((decibels - MIDDLE) / SPREAD).astype(np.float32)


def changed(seed: int = 1, **how: object) -> np.ndarray:
    return augmented(spectrograms(), replace(NOTHING, **how), np.random.default_rng(seed))  # type: ignore[arg-type]


def test_equal_seeds_give_equal_spectrograms_and_others_differ() -> None:
    values = spectrograms()
    one, same, other = (
        augmented(values, Augmentation(), np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert (one == same).all()
    assert (one != other).mean() > 0.9
    assert one.shape == values.shape and one.dtype == np.float32
    assert np.isfinite(one).all()
    assert (values == spectrograms()).all()


def test_without_changes_nothing_changes() -> None:
    assert (changed() == spectrograms()).all()


def test_a_shift_moves_all_bands_alike_and_keeps_every_column() -> None:
    found = changed(shift=0.25)
    moves = []
    for before, after in zip(spectrograms(), found, strict=True):
        (move,) = [each for each in range(-24, 25) if (np.roll(before, each, 1) == after).all()]
        moves.append(move)
    assert len(set(moves)) > 15


def test_a_gain_is_one_number_a_recording() -> None:
    decibels = (changed(gain=10.0) - spectrograms()) * SPREAD
    assert np.ptp(decibels, axis=(1, 2)).max() < 1e-3
    gains = decibels.mean(axis=(1, 2))
    assert np.abs(gains).max() <= 10 and np.ptp(gains) > 12


def test_nothing_falls_below_the_floor() -> None:
    assert (changed(gain=200.0) * SPREAD + MIDDLE).min() >= -100 - 1e-3


@pytest.mark.parametrize("ratio", [10.0, 30.0])
def test_noise_lies_as_far_below_the_mean_power_as_it_should(ratio: float) -> None:
    power = [
        10 ** ((values * SPREAD + MIDDLE).astype(float) / 10)
        for values in (spectrograms(), changed(noise=1.0, ratio=(ratio, ratio), tilt=0.0))
    ]
    added = (power[1] - power[0]).mean(axis=(1, 2)) / power[0].mean(axis=(1, 2))
    assert 10 * np.log10(added) == pytest.approx(-ratio, abs=0.6)


def test_only_a_share_gets_noise() -> None:
    touched = (changed(noise=0.5) != spectrograms()).any(axis=(1, 2))
    assert 8 < touched.sum() < 32


def test_masks_blot_out_whole_bands_and_columns_up_to_their_share() -> None:
    values = spectrograms()
    means = values.mean(axis=(1, 2), keepdims=True)
    hidden = changed(masks=1, band_share=0.125, time_share=0.25) == means
    bands, columns = hidden.all(axis=2), hidden.all(axis=1)
    assert (hidden == (bands[:, :, None] | columns[:, None])).all()
    assert 4 < bands.sum(axis=1).max() <= 8 and columns.sum(axis=1).max() <= 24
    assert columns.sum(axis=1).max() > 12
    for row in columns:
        places = np.flatnonzero(row)
        assert not len(places) or len(places) == np.ptp(places) + 1
