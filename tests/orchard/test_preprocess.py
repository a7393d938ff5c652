from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from orchard import preprocess
from orchard.decode import PictureRefused, decode_picture
from orchard.errors import BadInput
from orchard.preprocess import PAD_VALUE, apply, batch, normalised, standard, validate
from tests.orchard import odd_pictures as odd

Pixels = NDArray[np.uint8]


# What the module's docstring says, followed literally and with nothing of Pillow.
def axis_weights(n: int, r: int) -> NDArray[np.int64]:
    s, weights = n / r, np.zeros((r, n), np.int64)
    f = max(s, 1.0)
    for i in range(r):
        c = (i + 0.5) * s
        first, last = max(0, math.trunc(c - f + 0.5)), min(n, math.trunc(c + f + 0.5))
        raw = [max(0.0, 1 - abs(k + 0.5 - c) / f) for k in range(first, last)]
        for k, value in zip(range(first, last), raw, strict=True):
            weights[i, k] = math.floor(value / sum(raw) * 2**22 + 0.5)
    return weights


def scaled_axis(pixels: Pixels, r: int, axis: int) -> Pixels:
    n = pixels.shape[axis]
    if n == r:
        return pixels
    summed = np.tensordot(axis_weights(n, r), pixels.astype(np.int64), axes=(1, axis))
    return np.moveaxis(np.clip((summed + 2**21) >> 22, 0, 255).astype(np.uint8), 0, axis)


def by_the_book(pixels: Pixels, fit: str, W: int, H: int) -> Pixels:
    h, w = pixels.shape[:2]
    width, height = W, H
    if fit == "crop" and w * H > h * W:
        c = max(1, (2 * h * W + H) // (2 * H))
        pixels = pixels[:, (w - c) // 2 : (w - c) // 2 + c]
    elif fit == "crop":
        c = max(1, (2 * w * H + W) // (2 * W))
        pixels = pixels[(h - c) // 2 : (h - c) // 2 + c]
    elif fit == "pad" and w * H > h * W:
        height = max(1, (2 * h * W + w) // (2 * w))
    elif fit == "pad":
        width = max(1, (2 * w * H + h) // (2 * h))
    padded = np.full((H, W, 3), PAD_VALUE, np.uint8)
    top, left = (H - height) // 2, (W - width) // 2
    if pixels.shape[1] * height >= pixels.shape[0] * width:
        scaled = scaled_axis(scaled_axis(pixels, width, 1), height, 0)
    else:
        scaled = scaled_axis(scaled_axis(pixels, height, 0), width, 1)
    padded[top : top + height, left : left + width] = scaled
    return padded


def resize_only(fit: str, width: int, height: int) -> list[dict[str, Any]]:
    operations = standard(8, fit)
    operations[0] |= {"width": width, "height": height}
    operations[1] |= {"mean": 0, "scale": 1}
    return operations


def as_pixels(tensor: NDArray[np.float32]) -> Pixels:
    return tensor.transpose(1, 2, 0).astype(np.uint8)


sides = st.integers(1, 60)


@settings(max_examples=150, deadline=None)
@given(
    fit=st.sampled_from(preprocess.FITS),
    source=st.tuples(sides, sides),
    target=st.tuples(sides, sides),
    seed=st.integers(0, 99),
)
def test_the_docstring_is_the_definition(
    fit: str, source: tuple[int, int], target: tuple[int, int], seed: int
) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, (*source, 3), dtype=np.uint8)
    found = as_pixels(apply(resize_only(fit, *target), pixels))
    assert np.array_equal(found, by_the_book(pixels, fit, *target))


@pytest.mark.parametrize("fit", preprocess.FITS)
def test_a_picture_of_the_right_size_is_not_resampled(fit: str) -> None:
    pixels = np.asarray(odd.noise(32, 48))
    assert np.array_equal(as_pixels(apply(resize_only(fit, 48, 32), pixels)), pixels)


def test_pad_centres_and_fills_with_127() -> None:
    pixels = np.full((10, 20, 3), 255, np.uint8)
    found = as_pixels(apply(resize_only("pad", 20, 21), pixels))
    assert (found[:5] == PAD_VALUE).all()
    assert (found[5:15] == 255).all()
    assert (found[15:] == PAD_VALUE).all()


def test_crop_shows_the_middle() -> None:
    pixels = np.zeros((10, 30, 3), np.uint8)
    pixels[:, 10:20] = 255
    assert (as_pixels(apply(resize_only("crop", 10, 10), pixels)) == 255).all()


@pytest.mark.parametrize("fit", preprocess.FITS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 5_000_000), (5_000_000, 1), (3, 2)])
def test_extreme_shapes_come_out_in_the_right_size(fit: str, shape: tuple[int, int]) -> None:
    found = apply(standard(224, fit), np.full((*shape, 3), 255, np.uint8))
    assert found.shape == (3, 224, 224)
    assert found.max() == 1.0


def test_standard_is_value_minus_127_by_128_in_rgb_planes() -> None:
    pixels = np.asarray(odd.noise(16, 16))
    found = apply(standard(16, "squash"), pixels)
    assert found.dtype == np.float32
    assert found.flags.c_contiguous
    assert np.array_equal(found, ((pixels.astype(np.float32) - 127) / 128).transpose(2, 0, 1))


def test_mirror_exchanges_left_and_right() -> None:
    plain = standard(24, "squash")
    mirrored = [plain[0], {"operation": "mirror"}, plain[1]]
    pixels = np.asarray(odd.noise(30, 40))
    assert np.array_equal(apply(mirrored, pixels), apply(plain, pixels)[:, :, ::-1])


def test_bgr_and_a_mean_for_each_channel() -> None:
    operations = resize_only("squash", 1, 1)
    operations[1] |= {"mean": [1, 2, 3], "scale": [1.0, 0.5, 2.0], "channels": "BGR"}
    found = apply(operations, np.array([[[11, 22, 33]]], np.uint8))
    assert found.ravel().tolist() == [60.0, 10.0, 10.0]


def test_batch_equals_one_by_one() -> None:
    operations = standard(32, "crop")
    pictures = [np.asarray(odd.noise(20 + 9 * k, 70 - 9 * k, k)) for k in range(5)]
    found = batch(operations, pictures)
    assert found.shape == (5, 3, 32, 32)
    assert all(
        np.array_equal(a, apply(operations, b)) for a, b in zip(found, pictures, strict=True)
    )
    assert batch(operations, []).shape == (0, 3, 32, 32)


def test_the_pixels_given_are_left_as_they_are() -> None:
    pixels = np.asarray(odd.noise(24, 24)).copy()
    before = pixels.copy()
    apply(standard(24, "pad"), pixels)
    assert np.array_equal(pixels, before)


def test_views_and_read_only_pixels_are_taken() -> None:
    pixels = np.asarray(odd.noise(40, 40))
    turned = pixels.transpose(1, 0, 2)[::-1, ::2]
    operations = standard(16, "squash")
    assert np.array_equal(apply(operations, turned), apply(operations, turned.copy()))


@pytest.mark.parametrize("size", [0, -1, 4097, 2.0, True, "224"])
def test_a_size_out_of_range_is_refused(size: Any) -> None:
    with pytest.raises(BadInput, match="width must be a whole number from 1 to 4096"):
        standard(size, "crop")


def change(index: int, **fields: Any) -> list[dict[str, Any]]:
    operations = standard(8, "crop")
    operations[index] |= fields
    return operations


SQUASH = standard(8, "squash")


@pytest.mark.parametrize(
    ("operations", "words"),
    [
        (change(0, fit="stretch"), "fit must be one of squash, crop, pad"),
        (change(0, fit=["crop"]), "fit must be one of"),
        (change(0, kernel="bicubic"), "kernel must be one of bilinear"),
        (change(0, antialias=True), "exactly the fields"),
        (change(1, mean=float("nan")), "mean must be a number or a list of three"),
        (change(1, mean=True), "mean must be a number"),
        (change(1, scale=[1, 2]), "scale must be a number or a list of three"),
        (change(1, scale=10**400), "scale must be a number"),
        (change(1, layout="HWC"), "layout must be one of CHW"),
        (change(1, channels="GRAY"), "channels must be one of RGB, BGR"),
        (change(1, operation="sharpen"), "one of resize, mirror, normalise"),
        (change(1, operation=["resize"]), "one of resize, mirror, normalise"),
        ([], "resize, then mirror or not, then normalise"),
        (SQUASH[:1], "resize, then mirror or not, then normalise"),
        (SQUASH[::-1], "resize, then mirror or not, then normalise"),
        ([*SQUASH, SQUASH[1]], "resize, then mirror or not, then normalise"),
        ([SQUASH[0], None, SQUASH[1]], "one of resize, mirror, normalise"),
        ({"operation": "resize"}, "list of operations"),
        ("resize", "list of operations"),
        (None, "list of operations"),
        ([{k: v for k, v in SQUASH[0].items() if k != "width"}, SQUASH[1]], "exactly the fields"),
    ],
)
def test_a_list_of_another_form_is_refused_with_the_field(operations: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        validate(operations)
    with pytest.raises(BadInput):
        apply(operations, np.zeros((4, 4, 3), np.uint8))


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
        np.zeros((4, 4, 3), np.float32),
        [[[1, 2, 3]]],
    ],
)
def test_pixels_of_another_form_are_refused(pixels: Any) -> None:
    with pytest.raises(BadInput, match=r"\(height, width, 3\) uint8"):
        apply(standard(8, "pad"), pixels)


def test_the_list_survives_json() -> None:
    operations = json.loads(json.dumps(standard(20, "pad")))
    pixels = np.asarray(odd.noise(9, 30))
    assert np.array_equal(apply(operations, pixels), apply(standard(20, "pad"), pixels))


@pytest.mark.parametrize("fit", preprocess.FITS)
def test_a_golden_vector_finds_what_is_done_differently(fit: str) -> None:
    payload = odd.plain("JPEG", (120, 80))
    operations = standard(64, fit)
    vector = json.loads(json.dumps(preprocess.golden_vector(operations, payload)))
    tensor = apply(vector["operations"], decode_picture(payload))

    assert preprocess.golden_difference(vector, tensor) == 0.0
    assert preprocess.golden_difference(vector, tensor + np.float32(0.01)) < vector["tolerance"]
    assert preprocess.golden_difference(vector, tensor[::-1]) > vector["tolerance"]
    assert preprocess.golden_difference(vector, tensor[:, :, ::-1]) > vector["tolerance"]
    other = apply(standard(64, "squash" if fit != "squash" else "crop"), decode_picture(payload))
    assert preprocess.golden_difference(vector, other) > vector["tolerance"]
    with pytest.raises(BadInput, match="shape"):
        preprocess.golden_difference(vector, tensor[:, :10])


def test_a_golden_vector_needs_a_picture() -> None:
    with pytest.raises(PictureRefused):
        preprocess.golden_vector(standard(8, "pad"), b"no picture")


def test_a_backbone_says_how_pixels_are_normalised() -> None:
    plain = standard(32, "pad")
    assert normalised(plain, {"mean": [127.0] * 3, "scale": [128.0] * 3}) == plain
    operations = normalised(plain, {"mean": [1.0, 2.0, 3.0], "scale": [2.0, 4.0, 8.0]})
    planes = apply(operations, np.full((9, 9, 3), 9, np.uint8))[:, 16, 16]
    assert planes.tolist() == [4.0, 1.75, 0.75]
