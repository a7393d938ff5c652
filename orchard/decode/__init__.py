"""Bytes of a picture → pixels. Pure: numpy, Pillow and pillow_heif only."""

from __future__ import annotations

from orchard.decode.kinds import PICTURE_FORMATS, extension_fits, picture_format
from orchard.decode.picture import (
    MAXIMUM_PIXELS,
    PictureFacts,
    decode_image,
    decode_picture,
    decode_picture_with_facts,
)
from orchard.decode.refusal import CODES, PictureRefused

__all__ = [
    "CODES",
    "MAXIMUM_PIXELS",
    "PICTURE_FORMATS",
    "PictureFacts",
    "PictureRefused",
    "decode_image",
    "decode_picture",
    "decode_picture_with_facts",
    "extension_fits",
    "picture_format",
]
