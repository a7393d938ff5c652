"""The pictures of the shared folder of odd files that people really upload."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from orchard.decode import decode_picture
from orchard.pictures.judge import judge_picture
from orchard.tasks.base import Accepted, Limits, Refused

MESSY = Path(__file__).parents[3] / "shared" / "data" / "messy"

pytestmark = pytest.mark.skipif(not MESSY.is_dir(), reason="the shared odd files are not here")

ACCEPTED = {
    "images/cmyk.jpg": (100, 100),
    "images/exif_orient8_small.jpg": (128, 128),
    "images/exif_orient_in_png.png": (512, 512),
    "images/exif_broken.jpg": (500, 500),
    "images/png16_gray_trns.png": (64, 64),
    "images/tiff16_gray.tif": (64, 64),
    "images/tiff12in16.tif": (100, 100),
    "images/tiff16_rgb.tiff": (100, 40),
    "images/tiff_cmyk_jpeg.tif": (100, 100),
    "images/tiff_1bit_orient5.tif": (590, 88),
    "images/png_palette_alpha.png": (162, 150),
    "images/png_rgba.png": (162, 150),
    "images/png_rgb_trns.png": (64, 64),
    "images/jpg_gray.jpg": (128, 128),
    "images/gif_anim.gif": (245, 245),
    "images/webp_anim.webp": (245, 245),
    "images/webp_plain.webp": (128, 128),
    "images/avif_plain.avif": (128, 128),
    "images/mpo_named_jpg.jpg": (640, 480),
    "images/mpo_stereo.mpo": (640, 480),
    "images/bmp_rle8.bmp": (128, 128),
    "images/ico.ico": (16, 16),
    "images/jpg_ff00_header.jpg": (300, 225),
    "images/exif_orient1_reference.jpg": (1800, 1200),
    "images/jpeg_named_png.png": (15, 10),
    "images/png_named_bmp.bmp": (5, 2),
    "annotations/voc_uppercase_ext/IMG_2383.JPG": None,
    "derived/wrong_ext_png_as.jpg": (162, 150),
    "derived/trailing_garbage.jpg": (128, 128),
    "derived/voc/raccoon-1.jpg": (650, 417),
}
REFUSED = {
    "images/tiff_float32.tiff": "unsupported_pixels",
    "images/truncated_small.jpg": "truncated",
    "images/truncated_80k.png": "truncated",
    "images/broken_stream.png": "corrupt",
    "images/bomb.ico": "too_many_pixels",
    "images/bomb_text_chunk.png": "corrupt",
    "images/tiff_seek_too_large.tif": "corrupt",
    "derived/html_error_page.jpg": "html",
    "derived/truncated_half.jpg": "truncated",
}
# What else a shop owner might drop into the folder; none of it is a picture.
NO_PICTURES = {
    "annotations/createml.json": "text",
    "annotations/voc_uppercase_ext/IMG_2383.xml": "text",
    "derived/yolo/bom_crlf.txt": "text",
    "audio/pydub_test1.mp3": "not_a_picture",
    "audio/pydub_bach.ogg": "not_a_picture",
    "audio/pydub_format_test.m4a": "not_a_picture",
    "audio/scipy_test-8000Hz-le-2ch-1byteu.wav": "not_a_picture",
}
NAMED_WRONGLY = {
    "images/jpeg_named_png.png": "JPEG",
    "images/png_named_bmp.bmp": "PNG",
    "derived/wrong_ext_png_as.jpg": "PNG",
}


def judge(name: str) -> Accepted | Refused:
    return judge_picture((MESSY / name).read_bytes(), name, Limits())


def pixels(name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return decode_picture((MESSY / name).read_bytes()).astype(np.int64)


def test_every_picture_of_the_manifest_is_looked_at() -> None:
    rows = re.findall(r"^\| (\S+) \|", (MESSY / "MANIFEST.md").read_text("utf-8"), re.MULTILINE)
    pictures = {
        name for name in rows if name.startswith("images/") or Path(name).suffix.lower() == ".jpg"
    }
    assert pictures == ACCEPTED.keys() | REFUSED.keys()


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    verdict = judge(name)
    assert isinstance(verdict, Accepted), verdict
    assert ACCEPTED[name] in (None, (verdict.width, verdict.height))
    assert len(verdict.fingerprint) == 32
    assert not verdict.changed
    assert pixels(name).shape == (verdict.height, verdict.width, 3)
    kinds = [notice for notice in verdict.notices if notice.startswith("Named ")]
    assert len(kinds) == (name in NAMED_WRONGLY)
    assert all(NAMED_WRONGLY[name] in notice for notice in kinds)


@pytest.mark.parametrize("name", REFUSED | NO_PICTURES)
def test_refused_by_name(name: str) -> None:
    verdict = judge(name)
    assert isinstance(verdict, Refused), verdict
    assert verdict.code == (REFUSED | NO_PICTURES)[name]
    assert verdict.reason.endswith(".")


@pytest.mark.parametrize("name", ["images/gif_anim.gif", "images/webp_anim.webp"])
def test_an_animation_says_that_its_first_frame_was_taken(name: str) -> None:
    verdict = judge(name)
    assert isinstance(verdict, Accepted)
    assert any("42 pictures" in notice for notice in verdict.notices)


def test_rotated_twins_are_upright() -> None:
    same_size = pixels("images/webp_plain.webp")
    turned = pixels("images/exif_orient8_small.jpg")
    errors = [np.abs(np.rot90(turned, k) - same_size).mean() for k in range(4)]
    assert int(np.argmin(errors)) == 0


def test_adobe_cmyk_is_not_a_negative() -> None:
    jpeg, tiff = pixels("images/cmyk.jpg"), pixels("images/tiff_cmyk_jpeg.tif")
    assert np.abs(jpeg - tiff).mean() < 1 < np.abs(255 - jpeg - tiff).mean()


def test_no_accepted_tiff_is_nearly_black() -> None:
    for name in ACCEPTED:
        if Path(name).suffix.startswith(".tif"):
            assert pixels(name).max() > 100, name


def test_16_bit_grey_png_is_scaled_by_257() -> None:
    # Its values end at 255 of 65,535: black, but for the transparent ones, which lie on white.
    assert {0, 255} <= set(np.unique(pixels("images/png16_gray_trns.png"))) <= {0, 1, 255}
