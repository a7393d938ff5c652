"""The judge of pictures: bytes → an accepted sample or the reason why not."""

from __future__ import annotations

import io
import math
from pathlib import PureWindowsPath

from PIL import Image

from orchard.decode import PictureFacts, PictureRefused, decode_image, extension_fits
from orchard.pictures.fingerprint import fingerprint
from orchard.tasks.base import Accepted, Given, Limits, Refused

JPEG_QUALITY = 90
# The JPEG format itself ends at 65,535 pixels a side, libjpeg a little earlier.
_LONGEST_JPEG_SIDE = 65_500
# Bytes fall a little slower than pixels when a picture is scaled; the margin saves a second round.
_MARGIN = 0.95


def judge_picture(payload: bytes, path: str, limits: Limits) -> Accepted | Refused:
    """Decide over one picture by decoding it whole. Pure; never raises for bad bytes.

    Args:
        payload: the whole file.
        path: the file's name or path; only its extension is looked at, and only to say that it
            does not fit the content.
        limits: `maximum_pixels`, `maximum_bytes` and `minimum_side` count here.

    Returns:
        `Accepted` with the given bytes. A file above `maximum_bytes` is stored as JPEG of quality
        `JPEG_QUALITY` instead, scaled down as far as is needed to fit. `Refused` has a code of
        `orchard.decode.CODES`, or `too_small`, or `too_many_bytes`.
    """
    try:
        image, facts = decode_image(payload, limits.maximum_pixels)
    except PictureRefused as refusal:
        return Refused(refusal.code, str(refusal))
    if min(image.size) < limits.minimum_side:
        return Refused(
            "too_small",
            f"The picture has {_pixels(image)} pixels; its shorter side must have at least "
            f"{limits.minimum_side}. Use a larger picture.",
        )
    notices = _extension_notices(path, facts) + facts.notices
    identity = fingerprint(image)
    given = Given(image.width, image.height, facts.orientation)
    if len(payload) <= limits.maximum_bytes:
        return Accepted(payload, False, image.width, image.height, identity, notices, given)

    fitted = _fit(image, limits)
    if fitted is None:
        return Refused(
            "too_many_bytes",
            f"The picture has {_bytes(len(payload))} and {_pixels(image)} pixels and cannot be "
            f"scaled to the {_bytes(limits.maximum_bytes)} that are accepted. "
            "Use a picture that is less elongated, or ask for a higher limit.",
        )
    stored, scaled = fitted
    notices += (
        f"The file has {_bytes(len(payload))}, more than {_bytes(limits.maximum_bytes)}: it was "
        f"scaled from {_pixels(image)} to {_pixels(scaled)} pixels and stored as JPEG of quality "
        f"{JPEG_QUALITY} with {_bytes(len(stored))}.",
    )
    return Accepted(stored, True, scaled.width, scaled.height, identity, notices, given)


def _fit(image: Image.Image, limits: Limits) -> tuple[bytes, Image.Image] | None:
    """The picture as JPEG within `maximum_bytes`, as large as possible; None where it must get
    smaller than `minimum_side`."""
    factor = min(1.0, _LONGEST_JPEG_SIDE / max(image.size))
    while True:
        size = (max(1, int(image.width * factor)), max(1, int(image.height * factor)))
        if min(size) < limits.minimum_side:
            return None
        scaled = image if size == image.size else image.resize(size, Image.Resampling.BILINEAR)
        buffer = io.BytesIO()
        scaled.save(buffer, "JPEG", quality=JPEG_QUALITY)
        stored = buffer.getvalue()
        if len(stored) <= limits.maximum_bytes:
            return stored, scaled
        if size == (1, 1):
            return None
        factor *= min(_MARGIN, _MARGIN * math.sqrt(limits.maximum_bytes / len(stored)))


def _extension_notices(path: str, facts: PictureFacts) -> tuple[str, ...]:
    # The Windows form takes both kinds of slashes.
    extension = PureWindowsPath(path).suffix.lstrip(".")
    if not extension or extension_fits(extension, facts.format):
        return ()
    return (f"Named .{extension}, but the content is {facts.format}; the content counts.",)


def _pixels(image: Image.Image) -> str:
    return f"{image.width:,} × {image.height:,}"


def _bytes(count: int) -> str:
    if count < 1024:
        return f"{count} bytes"
    if count < 1024 * 1024:
        return f"{count / 1024:.1f} kB"
    return f"{count / (1024 * 1024):.1f} MB"
