"""Small pictures for a report."""

from __future__ import annotations

import io

from PIL import Image

from orchard.decode import decode_picture

QUALITY = 80


def thumbnail(payload: bytes, side: int) -> bytes:
    """A JPEG of an accepted picture, at most `side` pixels wide and high, never enlarged."""
    return encoded(shrunk(Image.fromarray(decode_picture(payload)), side))


def shrunk(image: Image.Image, side: int) -> Image.Image:
    """The picture, at most `side` pixels wide and high; in place where it is larger."""
    image.thumbnail((side, side), Image.Resampling.LANCZOS, reducing_gap=2.0)
    return image


def encoded(image: Image.Image) -> bytes:
    """A picture as JPEG of quality `QUALITY`."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=QUALITY, optimize=True)
    return buffer.getvalue()
