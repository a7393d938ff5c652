from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter

from orchard.pictures.fingerprint import (
    BANDS,
    BYTES,
    NEAR_BITS,
    bands,
    distance,
    fingerprint,
)
from tests.orchard import odd_pictures as odd

DATA = Path(__file__).parents[4] / "shared" / "data" / "image_classification"

fingerprints = st.binary(min_size=BYTES, max_size=BYTES)


def jpeg(image: Image.Image, quality: int) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return Image.open(buffer).convert("RGB")


def resized(image: Image.Image, factor: float) -> Image.Image:
    size = (round(image.width * factor), round(image.height * factor))
    return image.resize(size, Image.Resampling.LANCZOS)


CHANGES: dict[str, Callable[[Image.Image], Image.Image]] = {
    "re-encoded": lambda image: jpeg(image, 50),
    "half the size": lambda image: resized(image, 0.5),
    "larger": lambda image: resized(image, 1.7),
    "brighter": lambda image: ImageEnhance.Brightness(image).enhance(1.06),
    "darker": lambda image: ImageEnhance.Brightness(image).enhance(0.9),
    "more contrast": lambda image: ImageEnhance.Contrast(image).enhance(1.1),
    "resized and re-encoded": lambda image: jpeg(resized(image, 0.7), 70),
}


def scene(seed: int) -> Image.Image:
    """Noise whose strength falls with its frequency as in natural pictures, (240, 320)."""
    random = np.random.default_rng(seed)
    total = np.full((240, 320, 3), 128.0)
    for octave in range(1, 8):
        coarse = random.normal(0, 60 / 2**octave, (3 * 2**octave, 4 * 2**octave, 3))
        for channel in range(3):
            layer = Image.fromarray(coarse[..., channel].astype(np.float32))
            total[..., channel] += np.asarray(layer.resize((320, 240), Image.Resampling.BICUBIC))
    return Image.fromarray(np.clip(total, 0, 255).astype(np.uint8))


def keyboard(seed: int, missing: tuple[int, int] | None = None) -> Image.Image:
    """A drawn keyboard under its own light, angle, blur and JPEG quality."""
    random = np.random.default_rng(seed)
    ground = tuple(int(v) for v in random.integers(90, 160, 3))
    image = Image.new("RGB", (480, 240), ground)
    draw = ImageDraw.Draw(image)
    draw.rectangle((30, 34, 452, 206), fill=(40, 42, 46))
    for row in range(5):
        for column in range(13):
            if (row, column) == missing:
                continue
            left, top = 38 + 32 * column, 40 + 33 * row
            draw.rounded_rectangle((left, top, left + 26, top + 27), 4, fill=(205, 205, 200))
            draw.line((left + 8, top + 7, left + 15, top + 16), fill=(30, 30, 30), width=2)
    image = image.rotate(
        float(random.uniform(-2, 2)),
        Image.Resampling.BICUBIC,
        translate=(int(random.integers(-4, 5)), int(random.integers(-4, 5))),
        fillcolor=ground,
    )
    across, down = random.uniform(-0.2, 0.2, 2)
    light = 1 + across * np.linspace(-1, 1, 480) + down * np.linspace(-1, 1, 240)[:, np.newaxis]
    lit = np.asarray(image) * light[..., np.newaxis] + random.normal(0, 3, (240, 480, 3))
    image = Image.fromarray(np.clip(lit, 0, 255).astype(np.uint8))
    image = image.filter(ImageFilter.GaussianBlur(float(random.uniform(0, 1))))
    return jpeg(image, int(random.integers(60, 95)))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_the_same_picture_is_near_after_a_change_of_form(
    change: Callable[[Image.Image], Image.Image],
) -> None:
    for seed in range(8):
        image = scene(seed)
        assert distance(fingerprint(image), fingerprint(change(image))) <= NEAR_BITS


def test_different_pictures_are_far() -> None:
    prints = [fingerprint(scene(seed)) for seed in range(24)]
    between = [distance(a, b) for k, a in enumerate(prints) for b in prints[:k]]
    assert min(between) > 7 * NEAR_BITS
    assert 110 < np.median(between) < 146


def test_a_missing_key_is_not_near_any_other_shot() -> None:
    normal = [fingerprint(keyboard(seed)) for seed in range(12)]
    places = [(k % 5, k) for k in range(12)]
    lacking = [fingerprint(keyboard(100 + k, place)) for k, place in enumerate(places)]
    assert min(distance(a, b) for a in normal for b in lacking) > 2 * NEAR_BITS


def test_pixels_and_image_have_the_same_fingerprint() -> None:
    image = odd.photo(70, 90)
    assert fingerprint(image) == fingerprint(np.asarray(image))
    assert len(fingerprint(image)) == BYTES


@pytest.mark.parametrize("size", [(1, 1), (1, 900), (900, 1), (64, 64), (3000, 2000)])
def test_a_picture_of_one_colour_has_zero_bits(size: tuple[int, int]) -> None:
    for colour in ("black", "white", (12, 200, 90)):
        assert fingerprint(Image.new("RGB", size, colour)) == bytes(BYTES)


@given(fingerprints, fingerprints, fingerprints)
def test_distance_is_a_metric(a: bytes, b: bytes, c: bytes) -> None:
    assert (
        distance(a, b)
        == distance(b, a)
        == sum(bin(x ^ y).count("1") for x, y in zip(a, b, strict=True))
    )
    assert (distance(a, b) == 0) == (a == b)
    assert distance(a, c) <= distance(a, b) + distance(b, c)


@given(fingerprints, st.sets(st.integers(0, 8 * BYTES - 1), max_size=NEAR_BITS))
def test_near_fingerprints_share_a_band(value: bytes, flipped: set[int]) -> None:
    other = int.from_bytes(value, "big")
    for bit in flipped:
        other ^= 1 << bit
    near = other.to_bytes(BYTES, "big")
    assert distance(value, near) == len(flipped)
    assert any(a == b for a, b in zip(bands(value), bands(near), strict=True))


@given(fingerprints, st.integers(0, 8 * BYTES - 1))
def test_every_bit_is_in_exactly_one_band(value: bytes, bit: int) -> None:
    other = (int.from_bytes(value, "big") ^ 1 << bit).to_bytes(BYTES, "big")
    changed = [a ^ b for a, b in zip(bands(value), bands(other), strict=True)]
    assert len(changed) == BANDS
    assert sum(bin(band).count("1") for band in changed) == 1
    assert all(0 <= band < 1 << 24 for band in bands(value))


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared photos are not here")
@pytest.mark.parametrize("name", ["clothing", "extrusion_profile"])
def test_real_photos_are_near_only_to_their_own_copies(name: str) -> None:
    files = sorted((DATA / name).glob("*/*.jpg"))[::5]
    assert len(files) >= 80
    images = {file: Image.open(file).convert("RGB") for file in files}
    contents = {file: file.read_bytes() for file in files}
    prints = {file: fingerprint(image) for file, image in images.items()}
    near = [
        (a, b)
        for k, a in enumerate(files)
        for b in files[:k]
        if distance(prints[a], prints[b]) <= NEAR_BITS
    ]
    assert [(a.name, b.name) for a, b in near if contents[a] != contents[b]] == []
    copies = [fingerprint(jpeg(resized(image, 0.8), 85)) for image in images.values()]
    found = [distance(a, b) <= NEAR_BITS for a, b in zip(prints.values(), copies, strict=True)]
    assert np.mean(found) >= (0.99 if name == "clothing" else 0.8)
