"""Bytes of a picture → upright 8-bit RGB."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import (
    AvifImagePlugin,
    BmpImagePlugin,
    GifImagePlugin,
    IcoImagePlugin,
    Image,
    ImageFile,
    Jpeg2KImagePlugin,
    JpegImagePlugin,
    PngImagePlugin,
    PpmImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from orchard.decode.colours import rgb_on_white
from orchard.decode.icon import icon_size
from orchard.decode.kinds import picture_format, refusal_of
from orchard.decode.refusal import PictureRefused

MAXIMUM_PIXELS = 100_000_000

# Pillow warns about odd EXIF and MPO blocks that do not touch the pixels. The filter names only
# Pillow, and stands here because `warnings.catch_warnings` is not safe in a service's threads.
warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")

_ORIENTATION = 0x0112
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_ORIENTATION_SOURCES = ("exif", "xmp", "Raw profile type exif", "XML:com.adobe.xmp")
_TRUNCATED = re.compile(r"truncat|not enough|unexpected end|end.of.file|eof", re.IGNORECASE)
_UNSUPPORTED = re.compile(
    r"unknown .*mode|unsupported|not supported|decoder .* not available", re.IGNORECASE
)


@dataclass(frozen=True)
class PictureFacts:
    """What decoding found out.

    Attributes:
        format: one of `kinds.PICTURE_FORMATS`.
        width, height: size in pixels, upright.
        mode: Pillow's name of the stored pixels (RGB, CMYK, P, …).
        frames: pictures in the file; only the first is read.
        notices: sentences about what was done.
        orientation: EXIF orientation from which the picture was turned upright, 1 to 8.
    """

    format: str
    width: int
    height: int
    mode: str
    frames: int
    notices: tuple[str, ...]
    orientation: int = 1


def decode_picture(payload: bytes, maximum_pixels: int = MAXIMUM_PIXELS) -> NDArray[np.uint8]:
    """Decode a picture to (H, W, 3) uint8, RGB, upright, on white. The array is read-only.

    EXIF, XMP and container rotation are applied. Of an animation or a stereo pair the first
    picture counts. How each pixel mode becomes RGB: `colours.rgb_on_white`. Colour profiles are
    not applied.

    Args:
        payload: the whole file.
        maximum_pixels: largest width × height that is accepted, compared with the header before
            any pixel is decoded.

    Raises:
        PictureRefused: the bytes are no picture, cut off, corrupt, too large or of a kind that
            is not read. Nothing else is raised for bad bytes.
    """
    image, _, _ = _decode(payload, maximum_pixels)
    return np.asarray(image)


def decode_image(
    payload: bytes, maximum_pixels: int = MAXIMUM_PIXELS
) -> tuple[Image.Image, PictureFacts]:
    """As `decode_picture`, as a Pillow image of mode RGB together with the facts."""
    image, source, notices = _decode(payload, maximum_pixels)
    frames = _frames(source, payload)
    if frames > 1:
        notices += (f"The file holds {frames} pictures; the first one was taken.",)
    name = "JPEG" if source.format in ("JPEG", "MPO") else str(source.format)
    turned = _orientation(source)
    facts = PictureFacts(name, image.width, image.height, source.mode, frames, notices, turned)
    return image, facts


def decode_picture_with_facts(
    payload: bytes, maximum_pixels: int = MAXIMUM_PIXELS
) -> tuple[NDArray[np.uint8], PictureFacts]:
    """As `decode_picture`, together with the facts. Counting frames costs a pass over the file."""
    image, facts = decode_image(payload, maximum_pixels)
    return np.asarray(image), facts


def _decode(
    payload: bytes, maximum_pixels: int
) -> tuple[Image.Image, ImageFile.ImageFile, tuple[str, ...]]:
    picture = picture_format(payload)
    if picture is None:
        raise refusal_of(payload)
    try:
        if picture == "ICO":
            _check_pixels(*icon_size(payload), maximum_pixels)
        source = _OPENERS[picture](io.BytesIO(payload))
        _check_pixels(source.width, source.height, maximum_pixels)
        source.load()
        image, notices = rgb_on_white(source)
        turn = _UPRIGHT.get(_orientation(source))
        return image if turn is None else image.transpose(turn), source, notices
    except PictureRefused:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        # A few plugins ask Pillow's own guard before the size is known here: WebP above 178
        # megapixels, and tiles or frames that are larger than the picture they are in.
        raise _too_many_pixels("far too many pixels", maximum_pixels) from error
    # Pillow's plugins let through OSError, ValueError, SyntaxError, struct.error, zlib.error,
    # MemoryError, OverflowError, EOFError, IndexError and more, by what the bytes hit upon.
    except Exception as error:
        raise _broken(picture, len(payload), error) from error


def _check_pixels(width: int, height: int, maximum_pixels: int) -> None:
    if width * height > maximum_pixels:
        size = f"{width:,} × {height:,} = {width * height:,} pixels"
        raise _too_many_pixels(size, maximum_pixels)


def _too_many_pixels(size: str, maximum_pixels: int) -> PictureRefused:
    return PictureRefused(
        "too_many_pixels",
        f"The picture has {size}, more than the {maximum_pixels:,} that are accepted",
        way_out="Scale it down and upload it again",
    )


def _orientation(source: ImageFile.ImageFile) -> int:
    """The EXIF orientation 1 to 8; 1 where there is none or it cannot be read.

    TIFF is left out: Pillow turns it while it loads.
    """
    if source.format == "TIFF" or not any(key in source.info for key in _ORIENTATION_SOURCES):
        return 1
    try:
        return int(source.getexif().get(_ORIENTATION, 1))
    except Exception:
        # A broken EXIF block says nothing about the pixels, which were read whole.
        return 1


def _frames(source: ImageFile.ImageFile, payload: bytes) -> int:
    try:
        if "mp" in source.info:
            source = JpegImagePlugin.jpeg_factory(io.BytesIO(payload))
        return int(getattr(source, "n_frames", 1))
    except Exception:
        # Later pictures may be cut off; the first one, which counts, is whole.
        return 1


def _broken(picture: str, size: int, error: Exception) -> PictureRefused:
    if _TRUNCATED.search(str(error)) or isinstance(error, EOFError):
        return PictureRefused(
            "truncated",
            f"The {picture} picture is cut off: {size:,} bytes are there, the rest is missing",
            way_out="The copy or the upload broke off; copy it again from its source",
        )
    if _UNSUPPORTED.search(str(error)):
        return PictureRefused(
            "unsupported_pixels",
            f"The {picture} picture ({size:,} bytes) stores its pixels in a way that is not read",
            value=f"{type(error).__name__}: {error}"[:120],
            way_out="Save it as an 8-bit JPEG or PNG",
        )
    return PictureRefused(
        "corrupt",
        f"The {picture} picture ({size:,} bytes) is damaged and cannot be read",
        value=f"{type(error).__name__}: {error}"[:120],
        way_out="Open it in a picture viewer and save it anew, or copy it again from its source",
    )


def _open_heif(stream: io.BytesIO) -> ImageFile.ImageFile:
    # Loading libheif takes longer than all else here, and few files need it.
    import pillow_heif

    opener: Callable[[io.BytesIO], ImageFile.ImageFile] = pillow_heif.HeifImageFile
    return opener(stream)


# The plugins' classes and not `Image.open`: the set stays closed (no PostScript, no raw formats),
# and the limit above decides, not the one that Pillow keeps for the whole process.
_OPENERS: dict[str, Callable[[io.BytesIO], ImageFile.ImageFile]] = {
    "JPEG": JpegImagePlugin.JpegImageFile,
    "PNG": PngImagePlugin.PngImageFile,
    "WEBP": WebPImagePlugin.WebPImageFile,
    "GIF": GifImagePlugin.GifImageFile,
    "BMP": BmpImagePlugin.BmpImageFile,
    "TIFF": TiffImagePlugin.TiffImageFile,
    "AVIF": AvifImagePlugin.AvifImageFile,
    "HEIF": _open_heif,
    "ICO": IcoImagePlugin.IcoImageFile,
    "PPM": PpmImagePlugin.PpmImageFile,
    "JPEG2000": Jpeg2KImagePlugin.Jpeg2KImageFile,
}
