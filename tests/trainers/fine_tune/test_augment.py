from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trainers.backbones import get_backbone
from trainers.fine_tune import Augmentation
from trainers.fine_tune.augment import augmented, normalised

BACKBONE = get_backbone("efficientnet-lite0")


def picture(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)


def test_both_forms_of_a_picture_become_the_same() -> None:
    pixels = picture(4, 6)
    values = normalised(pixels, BACKBONE)
    assert values.shape == (3, 4, 6)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values[1, 2, 3], (float(pixels[2, 3, 1]) - 127) / 128)
    np.testing.assert_array_equal(normalised(values, BACKBONE), values)


def test_without_any_change_only_the_mirror_is_left() -> None:
    values = normalised(picture(4, 6), BACKBONE)
    plain = Augmentation(mirror=False, shift=0, light=0, colour=0)
    found = augmented(values, plain, BACKBONE, np.random.default_rng(0))
    np.testing.assert_allclose(found, values, atol=1e-5)
    mirrored = Augmentation(mirror=True, shift=0, light=0, colour=0)
    seen = [augmented(values, mirrored, BACKBONE, np.random.default_rng(s)) for s in range(20)]
    flipped = [np.allclose(s, values[:, :, ::-1], atol=1e-5) for s in seen]
    same = [np.allclose(s, values, atol=1e-5) for s in seen]
    assert any(flipped) and any(same)
    assert all(a or b for a, b in zip(flipped, same, strict=True))


def test_a_shift_repeats_the_edge() -> None:
    values = np.tile(np.arange(10, dtype=np.float32) / 128, (3, 10, 1))
    shift = Augmentation(mirror=False, shift=0.2, light=0, colour=0)
    rows = {
        tuple(np.round(augmented(values, shift, BACKBONE, np.random.default_rng(s))[0, 0] * 128))
        for s in range(40)
    }
    assert (0, 0, 0, 1, 2, 3, 4, 5, 6, 7) in rows
    assert (2, 3, 4, 5, 6, 7, 8, 9, 9, 9) in rows
    assert len(rows) == 5


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    shift=st.floats(0, 0.5),
    light=st.floats(0, 1),
    colour=st.floats(0, 1),
    size=st.tuples(st.integers(1, 12), st.integers(1, 12)),
)
def test_pixels_stay_pixels(
    seed: int, shift: float, light: float, colour: float, size: tuple[int, int]
) -> None:
    values = normalised(picture(*size), BACKBONE)
    change = Augmentation(True, shift, light, colour)
    found = augmented(values, change, BACKBONE, np.random.default_rng(seed))
    again = augmented(values, change, BACKBONE, np.random.default_rng(seed))
    assert found.shape == values.shape and found.dtype == np.float32
    assert found.min() >= -127 / 128 - 1e-6 and found.max() <= 1 + 1e-6
    np.testing.assert_array_equal(found, again)
