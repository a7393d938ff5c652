from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchard.decode import CODES, decode_picture
from orchard.pictures.fingerprint import distance, fingerprint
from orchard.pictures.judge import JPEG_QUALITY, judge_picture
from orchard.tasks.base import Accepted, Limits, Refused
from tests.orchard import odd_pictures as odd


def accepted(payload: bytes, path: str = "a.jpg", limits: Limits | None = None) -> Accepted:
    verdict = judge_picture(payload, path, limits or Limits())
    assert isinstance(verdict, Accepted), verdict
    return verdict


def refused(payload: bytes, limits: Limits | None = None) -> Refused:
    verdict = judge_picture(payload, "folder/a.jpg", limits or Limits())
    assert isinstance(verdict, Refused), verdict
    return verdict


@pytest.mark.parametrize("form", odd.FORMATS)
def test_a_good_picture_is_taken_with_its_own_bytes(form: str) -> None:
    payload = odd.plain(form)
    verdict = accepted(payload, "picture")
    assert verdict.payload is payload
    assert (verdict.changed, verdict.width, verdict.height) == (False, 96, 64)
    assert verdict.fingerprint == fingerprint(decode_picture(payload))
    assert verdict.notices == ()


def test_width_and_height_are_those_of_the_upright_picture() -> None:
    stored = odd.picture().transpose(odd.STORED[6])
    verdict = accepted(odd.encoded(stored, "JPEG", exif=odd.exif(6)))
    assert (verdict.width, verdict.height) == (odd.WIDTH, odd.HEIGHT)


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("a/b.png", True),
        ("C:\\photos\\b.PNG", True),
        ("b.txt", True),
        ("b.JPEG", False),
        ("b.jfif", False),
        ("v1.2/b", False),
        ("b", False),
    ],
)
def test_an_extension_that_does_not_fit_is_only_a_notice(path: str, named: bool) -> None:
    notices = accepted(odd.plain("JPEG"), path).notices
    assert len(notices) == named
    assert all("the content is JPEG" in notice for notice in notices)


@pytest.mark.parametrize(
    ("payload", "code", "fact"),
    [
        (b"", "empty", "0 bytes"),
        (bytes(777), "zero_bytes", "777 zero bytes"),
        (b"<html><body>Not found</body></html>", "html", "35 bytes"),
        (b"just a note", "text", "11 bytes"),
        (odd.plain("JPEG")[:900], "truncated", "900 bytes"),
        (odd.png_of_size(30_000, 20_000), "too_many_pixels", "30,000 × 20,000 = 600,000,000"),
        (odd.icon_bomb(40_000, 40_000), "too_many_pixels", "40,000 × 40,000"),
        (odd.png_of_size(20, 20), "corrupt|truncated", "bytes"),
    ],
)
def test_a_refusal_has_a_code_and_the_files_facts(payload: bytes, code: str, fact: str) -> None:
    verdict = refused(payload)
    assert re.fullmatch(code, verdict.code)
    assert fact in verdict.reason
    assert verdict.reason.endswith(".")


def test_a_picture_that_is_too_small_is_refused() -> None:
    payload = odd.plain("PNG", (40, 9))
    assert accepted(payload, limits=Limits(minimum_side=9)).height == 9
    verdict = refused(payload, Limits(minimum_side=10))
    assert verdict.code == "too_small"
    assert "40 × 9" in verdict.reason


def test_the_pixel_limit_is_a_setting() -> None:
    payload = odd.plain("PNG", (100, 50))
    assert accepted(payload, "a.png", Limits(maximum_pixels=5000)).notices == ()
    assert refused(payload, Limits(maximum_pixels=4999)).code == "too_many_pixels"


@pytest.mark.parametrize("form", ["PNG", "JPEG", "TIFF"])
def test_a_picture_above_the_byte_limit_is_scaled_to_fit_and_says_so(form: str) -> None:
    image = odd.noise(300, 400)
    payload = odd.encoded(image, form, quality=100)
    limits = Limits(maximum_bytes=40_000)
    verdict = accepted(payload, f"a.{form.lower()}", limits)

    assert verdict.changed
    assert 20_000 < len(verdict.payload) <= 40_000
    assert decode_picture(verdict.payload).shape == (verdict.height, verdict.width, 3)
    assert verdict.width < 400
    assert verdict.width / verdict.height == pytest.approx(400 / 300, rel=0.02)
    (notice,) = verdict.notices
    assert f"from 400 × 300 to {verdict.width} × {verdict.height} pixels" in notice
    assert f"quality {JPEG_QUALITY}" in notice
    assert "39.1 kB" in notice


def test_a_lossless_picture_that_fits_as_jpeg_keeps_its_pixels() -> None:
    image = odd.photo(200, 300)
    payload = odd.encoded(image, "BMP")
    verdict = accepted(payload, "a.bmp", Limits(maximum_bytes=100_000))
    assert (verdict.changed, verdict.width, verdict.height) == (True, 300, 200)
    error = np.abs(decode_picture(verdict.payload).astype(int) - np.asarray(image)).mean()
    assert error < 5


def test_scaling_keeps_the_rotation_and_the_fingerprint() -> None:
    upright = odd.photo(200, 300)
    stored = upright.transpose(odd.STORED[8])
    payload = odd.encoded(stored, "JPEG", quality=100, subsampling=0, exif=odd.exif(8))
    verdict = accepted(payload, limits=Limits(maximum_bytes=9_000))
    assert verdict.changed
    assert verdict.width > verdict.height
    assert distance(verdict.fingerprint, fingerprint(np.asarray(upright))) <= 10
    assert distance(fingerprint(decode_picture(verdict.payload)), verdict.fingerprint) <= 10


def test_a_picture_that_cannot_be_made_to_fit_is_refused() -> None:
    payload = odd.encoded(odd.noise(64, 64), "PNG")
    verdict = refused(payload, Limits(maximum_bytes=100))
    assert verdict.code == "too_many_bytes"
    assert "64 × 64" in verdict.reason
    verdict = refused(payload, Limits(maximum_bytes=1500, minimum_side=60))
    assert verdict.code == "too_many_bytes"


def test_a_side_longer_than_jpeg_allows_is_scaled() -> None:
    payload = odd.encoded(odd.noise(1, 70_000), "BMP")
    verdict = accepted(payload, "a.bmp", Limits(maximum_bytes=200_000))
    assert verdict.width <= 65_500
    assert verdict.height == 1


@settings(max_examples=100, deadline=None)
@given(payload=st.binary(max_size=100), prefix=st.sampled_from([b"", *(
    odd.plain(form, (16, 16))[:64] for form in odd.FORMATS
)]))  # fmt: skip
def test_the_judge_never_raises(payload: bytes, prefix: bytes) -> None:
    verdict = judge_picture(prefix + payload, "a.jpg", Limits())
    if isinstance(verdict, Refused):
        assert verdict.code in (*CODES, "too_small", "too_many_bytes")
