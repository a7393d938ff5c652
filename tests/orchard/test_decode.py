from __future__ import annotations

import io
import struct
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from orchard.decode import (
    CODES,
    PICTURE_FORMATS,
    PictureRefused,
    decode_picture,
    decode_picture_with_facts,
    extension_fits,
    picture_format,
)
from orchard.errors import BadInput
from tests.orchard import odd_pictures as odd

EXTENSIONS = {"JPEG": "jpg", "JPEG2000": "jp2", "HEIF": "heic"}


def refused(payload: bytes, **limits: int) -> PictureRefused:
    with pytest.raises(PictureRefused) as caught:
        decode_picture(payload, **limits)
    assert isinstance(caught.value, BadInput)
    assert caught.value.exit_code == 64
    assert caught.value.code in CODES
    return caught.value


def largest_difference(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> int:
    assert found.shape == expected.shape
    return int(np.abs(found.astype(int) - expected.astype(int)).max())


@pytest.mark.parametrize("form", odd.FORMATS)
def test_every_format_gives_the_pixels_that_were_stored(form: str) -> None:
    photo = np.asarray(odd.photo(64, 96))
    payload = odd.plain(form)
    assert picture_format(payload) == form
    pixels, facts = decode_picture_with_facts(payload)
    assert pixels.dtype == np.uint8
    assert (facts.format, facts.width, facts.height, facts.frames) == (form, 96, 64, 1)
    assert np.abs(pixels.astype(int) - photo).mean() < (14 if form == "GIF" else 6)
    assert extension_fits(EXTENSIONS.get(form, form).upper(), form)


def test_the_formats_under_test_are_all_there_are() -> None:
    assert set(odd.FORMATS) == set(PICTURE_FORMATS)


@pytest.mark.parametrize("orientation", sorted(odd.STORED))
@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("JPEG", {"quality": 95, "subsampling": 0}),
        ("PNG", {}),
        ("WEBP", {"lossless": True}),
        ("TIFF", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
        ("AVIF", {"quality": 95, "subsampling": "4:4:4", "speed": 10}),
        ("HEIF", {"quality": 95, "chroma": 444}),
    ],
)
def test_rotation_is_applied(form: str, options: dict[str, Any], orientation: int) -> None:
    stored = odd.picture().transpose(odd.STORED[orientation])
    payload = odd.encoded(stored, form, exif=odd.exif(orientation), **options)
    assert largest_difference(decode_picture(payload), odd.quadrants()) <= 12


@pytest.mark.parametrize("orientation", [0, 1, 9, 300])
def test_an_orientation_without_meaning_leaves_the_picture_as_it_is(orientation: int) -> None:
    payload = odd.encoded(odd.picture(), "PNG", exif=odd.exif(orientation))
    assert largest_difference(decode_picture(payload), odd.quadrants()) == 0


@pytest.mark.parametrize(
    "block",
    [b"Exif\x00\x00", b"Exif\x00\x00II*\x00\xff\xff\xff\xff", b"Exif\x00\x00" + b"\xff" * 40],
)
def test_a_broken_exif_block_does_not_matter(block: bytes) -> None:
    payload = odd.encoded(odd.picture(), "JPEG", quality=95, exif=block)
    assert decode_picture(payload).shape == (odd.HEIGHT, odd.WIDTH, 3)


def test_cmyk_jpeg_is_not_a_negative() -> None:
    payload = odd.encoded(odd.picture().convert("CMYK"), "JPEG", quality=95, subsampling=0)
    assert b"Adobe" in payload
    assert largest_difference(decode_picture(payload), odd.quadrants()) <= 12


@pytest.mark.parametrize("mode", ["L", "1", "LA"])
def test_grey_gets_three_equal_channels(mode: str) -> None:
    pixels = decode_picture(odd.encoded(odd.picture().convert(mode), "PNG"))
    assert pixels.shape == (odd.HEIGHT, odd.WIDTH, 3)
    assert np.array_equal(pixels[..., 0], pixels[..., 1])
    assert np.array_equal(pixels[..., 0], pixels[..., 2])
    assert pixels[18, 30, 0] > pixels[18, 10, 0]


@pytest.mark.parametrize(
    ("form", "lossless"), [("PNG", {}), ("WEBP", {"lossless": True, "exact": True})]
)
def test_transparency_is_laid_over_white(form: str, lossless: dict[str, Any]) -> None:
    image = odd.picture().convert("RGBA")
    image.putalpha(
        Image.fromarray(np.repeat(np.array([[0, 128, 255, 255]], np.uint8), 10, 1).repeat(24, 0))
    )
    pixels = decode_picture(odd.encoded(image, form, **lossless))
    assert tuple(pixels[2, 2]) == (255, 255, 255)
    assert np.abs(pixels[2, 15].astype(int) - (252, 132, 132)).max() <= 1
    assert tuple(pixels[2, 30]) == odd.GREEN


def test_a_transparent_palette_entry_is_white() -> None:
    image = Image.new("P", (8, 8), 3)
    image.putpalette([0, 0, 0] * 3 + [200, 30, 30, 0, 0, 0])
    image.paste(1, (0, 0, 4, 8))
    for form in ("PNG", "GIF"):
        pixels = decode_picture(odd.encoded(image, form, transparency=1))
        assert tuple(pixels[4, 1]) == (255, 255, 255), form
        assert tuple(pixels[4, 6]) == (200, 30, 30), form


def test_a_colour_key_is_white() -> None:
    pixels = decode_picture(odd.encoded(odd.picture(), "PNG", transparency=odd.BLUE))
    assert tuple(pixels[18, 4]) == (255, 255, 255)
    assert tuple(pixels[4, 4]) == odd.RED


def test_16_bit_grey_png_is_scaled_and_not_clipped() -> None:
    values = np.arange(0, 65536, 16, dtype=np.uint16).reshape(64, 64)
    pixels = decode_picture(odd.encoded(Image.fromarray(values), "PNG"))
    assert np.array_equal(pixels[..., 0], np.floor(values / 257 + 128 / 257).astype(np.uint8))
    assert tuple(pixels[-1, -1]) == (255, 255, 255)


def test_16_bit_colour_key_is_white() -> None:
    values = np.full((4, 4), 30000, np.uint16)
    values[0, 0] = 77
    pixels = decode_picture(odd.encoded(Image.fromarray(values), "PNG", transparency=77))
    assert (pixels[0, 0, 0], pixels[1, 1, 0]) == (255, 117)


def test_16_bit_pgm_is_scaled() -> None:
    payload = b"P5 4 1 65535\n" + struct.pack(">4H", 0, 257, 32768, 65535)
    assert decode_picture(payload)[0, :, 0].tolist() == [0, 1, 128, 255]


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize(("most", "bits"), [(65535, 16), (4096, 16), (4095, 12), (600, 10), (1, 1)])
def test_16_bit_tiff_is_scaled_by_the_bits_it_uses(most: int, bits: int, big_endian: bool) -> None:
    values = np.linspace(0, most, 64).round().astype(np.uint16).reshape(8, 8)
    pixels, facts = decode_picture_with_facts(odd.grey_tiff(values, big_endian=big_endian))
    assert largest_difference(pixels[..., 0], (values * (255 / (2**bits - 1))).round()) <= 1
    assert bool(facts.notices) == (bits < 16)
    assert all(f" {bits} of its bits" in notice for notice in facts.notices)


def test_white_is_zero_is_inverted() -> None:
    values = np.array([[0, 65535, 32768]], np.uint16)
    pixels = decode_picture(odd.grey_tiff(values, photometric=0))
    assert pixels[0, :, 0].tolist() == [255, 0, 127]


def test_a_black_16_bit_tiff_is_black() -> None:
    assert decode_picture(odd.grey_tiff(np.zeros((4, 4)))).max() == 0


@pytest.mark.parametrize("mode", ["I", "F"])
def test_values_without_a_defined_white_are_refused(mode: str) -> None:
    error = refused(odd.encoded(odd.picture().convert("L").convert(mode), "TIFF"))
    assert error.code == "unsupported_pixels"
    assert "32-bit" in str(error)
    assert "8-bit" in error.way_out


def test_lab_is_refused_by_name() -> None:
    error = refused(odd.encoded(Image.new("LAB", (8, 8)), "TIFF"))
    assert (error.code, "LAB" in str(error)) == ("unsupported_pixels", True)


@pytest.mark.parametrize(
    ("form", "options"), [("GIF", {}), ("WEBP", {"lossless": True}), ("TIFF", {})]
)
def test_of_an_animation_the_first_frame_counts(form: str, options: dict[str, Any]) -> None:
    frames = [odd.picture(), Image.new("RGB", (odd.WIDTH, odd.HEIGHT), "white")]
    payload = odd.encoded(frames[0], form, save_all=True, append_images=frames[1:], **options)
    pixels, facts = decode_picture_with_facts(payload)
    assert largest_difference(pixels, odd.quadrants()) <= 60
    assert facts.frames == 2
    assert any("2 pictures" in notice for notice in facts.notices)


def test_of_a_stereo_pair_the_first_picture_counts() -> None:
    payload = odd.encoded(
        odd.picture(), "MPO", save_all=True, append_images=[odd.noise(24, 40)], quality=95
    )
    pixels, facts = decode_picture_with_facts(payload)
    assert (facts.format, facts.frames) == ("JPEG", 2)
    assert tuple(pixels[4, 4] // 100) == (2, 0, 0)


def test_bytes_behind_the_end_do_not_matter() -> None:
    payload = odd.plain("JPEG")
    assert np.array_equal(decode_picture(payload), decode_picture(payload + bytes(4096)))


@pytest.mark.parametrize(
    ("payload", "code", "word"),
    [
        (b"", "empty", "0 bytes"),
        (bytes(5000), "zero_bytes", "5,000 zero bytes"),
        (b"<!DOCTYPE html><title>404</title>", "html", "web page"),
        (b"\xef\xbb\xbf  \n<HTML><body>", "html", "web page"),
        (b"<?xml version='1.0'?><svg xmlns='x'/>", "unsupported_format", "SVG"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "text", "git lfs pull"),
        ("Übersicht der Bilder".encode(), "text", "text file"),
        ("Übersicht".encode("cp1252"), "text", "text file"),
        ("Tabelle".encode("utf-16"), "text", "text file"),
        (("ä" * 3000).encode()[1:], "text", "text file"),
        (b"BMW is no bitmap", "text", "text file"),
        (b"P5rhaps a text", "text", "text file"),
        (b"%PDF-1.7\n...", "not_a_picture", "PDF"),
        (b"PK\x03\x04" + bytes(30), "not_a_picture", "zip"),
        (b"8BPS\x00\x01" + bytes(30), "unsupported_format", "Photoshop"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", "not_a_picture", "PostScript"),
        (b"II*\x00\x10\x00\x00\x00CR\x02\x00" + bytes(9), "unsupported_format", "camera raw"),
        (b"\x00\x00\x00\x20ftypisom" + bytes(20), "not_a_picture", "video"),
        (b"RIFF\x24\x00\x00\x00WAVEfmt ", "not_a_picture", "WAV"),
        (b"\x00\x05\x16\x07" + bytes(30), "not_a_picture", "macOS"),
        (bytes(range(1, 200)), "not_a_picture", "any kind"),
    ],
)  # fmt: skip
def test_what_is_not_a_picture_is_named(payload: bytes, code: str, word: str) -> None:
    error = refused(payload)
    assert error.code == code
    assert word in str(error)
    assert error.way_out


@pytest.mark.parametrize(
    "payload",
    [
        odd.png_of_size(50_000, 50_000),
        odd.icon_bomb(32_767, 32_767),
        b"P6 100000 100000 255\n" + bytes(64),
        b"BM" + struct.pack("<IHHIIiiHHIIiiII", 90, 0, 0, 54, 40, 60000, 60000, 1, 24, *[0] * 6),
        b"GIF89a" + struct.pack("<HHBBB", 65535, 65535, 0, 0, 0) + b",\x00\x00\x00\x00"
        + struct.pack("<HHB", 65535, 65535, 0) + b"\x02\x02\x4c\x01\x00;",
    ],
    ids=["png", "ico", "ppm", "bmp", "gif"],
)  # fmt: skip
def test_a_pixel_bomb_is_refused_before_it_is_decoded(payload: bytes) -> None:
    error = refused(payload)
    assert error.code == "too_many_pixels"
    assert "100,000,000" in str(error)


def test_the_limit_is_the_callers_and_not_that_of_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    payload = odd.plain("PNG", (100, 100))
    assert refused(payload, maximum_pixels=9_999).code == "too_many_pixels"
    assert decode_picture(payload, maximum_pixels=10_000).shape == (100, 100, 3)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    assert decode_picture(payload, maximum_pixels=10_000).shape == (100, 100, 3)


@pytest.mark.parametrize("form", odd.FORMATS)
def test_a_file_cut_in_half_is_refused(form: str) -> None:
    payload = odd.plain(form)
    assert refused(payload[: len(payload) // 2]).code in ("truncated", "corrupt")


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("kept", [0.3, 0.6, 0.9, 0.97])
def test_a_cut_jpeg_is_called_truncated(kept: float, progressive: bool) -> None:
    payload = odd.encoded(odd.noise(96, 96), "JPEG", progressive=progressive)
    assert refused(payload[: int(len(payload) * kept)]).code == "truncated"


PLAIN = {form: odd.plain(form, (48, 32)) for form in odd.FORMATS}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    form=st.sampled_from(odd.FORMATS),
    cut=st.floats(0, 1),
    edits=st.lists(st.tuples(st.floats(0, 0.9999), st.integers(0, 255)), max_size=6),
)
def test_damaged_bytes_give_a_picture_or_a_refusal_and_nothing_else(
    form: str, cut: float, edits: list[tuple[float, int]]
) -> None:
    damaged = bytearray(PLAIN[form])
    for place, value in edits:
        damaged[int(place * len(damaged))] = value
    if cut < 0.9:
        del damaged[int(cut * len(damaged)) :]
    try:
        pixels, facts = decode_picture_with_facts(bytes(damaged), maximum_pixels=1_000_000)
    except PictureRefused as error:
        assert error.code in CODES
        assert str(error).endswith(".")
    else:
        assert pixels.dtype == np.uint8
        assert pixels.shape == (facts.height, facts.width, 3)


@settings(max_examples=200, deadline=None)
@given(payload=st.binary(max_size=200))
def test_any_bytes_at_all_are_refused_by_name(payload: bytes) -> None:
    try:
        decode_picture(payload)
    except PictureRefused as error:
        assert error.headline


def test_threads_do_not_disturb_each_other() -> None:
    payloads = [odd.plain("JPEG", (64 + 8 * k, 48)) for k in range(4)] + [b"no picture"]
    expected = [decode_picture(payload) for payload in payloads[:-1]]
    wrong: list[int] = []

    def work() -> None:
        for _ in range(20):
            for k, pixels in enumerate(expected):
                if not np.array_equal(decode_picture(payloads[k]), pixels):
                    wrong.append(k)
            with pytest.raises(PictureRefused):
                decode_picture(payloads[-1])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_ordinary_jpeg_equals_pillow() -> None:
    payload = odd.plain("JPEG")
    expected = np.asarray(Image.open(io.BytesIO(payload)).convert("RGB"))
    assert np.array_equal(decode_picture(payload), expected)
