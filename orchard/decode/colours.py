"""Any of Pillow's pixel modes → 8-bit RGB on white."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from orchard.decode.refusal import PictureRefused

# Cameras for industry and microscopes store 12-bit values in 16-bit TIFFs; read as 16 bits, such
# pictures would be nearly black.
_MOST_BITS_OF_A_NARROW_CAMERA = 12
_PHOTOMETRIC, _WHITE_IS_ZERO = 262, 0
_BITS_PER_SAMPLE = 258
_WHITE_16 = 65535


def rgb_on_white(image: Image.Image) -> tuple[Image.Image, tuple[str, ...]]:
    """A loaded picture of any mode → mode RGB, with notices about what was done.

    - Transparency (alpha channel, palette entry, tRNS colour key) is laid over white.
    - CMYK is converted by Pillow's plain formula, after the inversion that Adobe's JPEGs need.
    - 16-bit grey: value v → floor((v + 128) / 257), so that 65535 → 255. A TIFF whose largest
      value needs 12 bits or fewer is scaled by the bits it uses: v → round(255 v / (2^bits − 1)).
    - 16-bit colour: the high byte of each value.

    Raises:
        PictureRefused: `unsupported_pixels` for 32-bit, float and Lab pixels.
    """
    mode = image.mode
    if mode == "RGB" and "transparency" not in image.info:
        _refuse_narrow_colour(image)
        return image, ()
    if mode.startswith("I;16"):
        return _from_16_bit_grey(image)
    if mode == "I" and image.format == "PPM":
        # Pillow scales every wide PGM to 16 bits and keeps it in 32.
        return _grey(_from_16_bits(np.asarray(image).astype(np.int64))), ()
    if mode in ("I", "F"):
        kind = "32-bit floating point" if mode == "F" else "32-bit or signed integer"
        raise _unsupported_pixels(f"{kind} values, whose black and white are not defined")
    if mode in ("LAB", "HSV"):
        raise _unsupported_pixels(f"{mode} colours")
    if "transparency" in image.info or mode in ("RGBA", "LA", "PA", "La", "RGBa"):
        return _over_white(image), ()
    return image.convert("RGB"), ()


def _from_16_bit_grey(image: Image.Image) -> tuple[Image.Image, tuple[str, ...]]:
    values = np.asarray(image).astype(np.int64)  # (H, W)
    key = image.info.get("transparency")
    if isinstance(key, int):
        values = np.where(values == key, _WHITE_16, values)
    if image.format != "TIFF":
        return _grey(_from_16_bits(values)), ()

    tags = image.tag_v2  # type: ignore[attr-defined]
    bits = _bits_used(values, tags.get(_BITS_PER_SAMPLE, (16,))[0])
    grey = _from_16_bits(values) if bits == 16 else _from_bits(values, bits)
    # Pillow reads "white is zero" right at 8 bits and leaves it as it is at 16.
    if tags.get(_PHOTOMETRIC) == _WHITE_IS_ZERO:
        grey = 255 - grey
    if bits == 16:
        return _grey(grey), ()
    return _grey(grey), (f"The 16-bit TIFF uses {bits} of its bits and was scaled by these.",)


def _bits_used(values: NDArray[np.int64], bits_stated: int) -> int:
    if bits_stated < 16:
        return bits_stated
    used = int(values.max()).bit_length()
    return used if 0 < used <= _MOST_BITS_OF_A_NARROW_CAMERA else 16


def _from_16_bits(values: NDArray[np.int64]) -> NDArray[np.uint8]:
    return ((values + 128) // 257).astype(np.uint8)


def _from_bits(values: NDArray[np.int64], bits: int) -> NDArray[np.uint8]:
    most = (1 << bits) - 1
    return ((values * 510 + most) // (2 * most)).astype(np.uint8)


def _grey(values: NDArray[np.uint8]) -> Image.Image:
    return Image.fromarray(values).convert("RGB")


def _over_white(image: Image.Image) -> Image.Image:
    layer = image if image.mode == "RGBA" else _with_alpha(image)
    white = Image.new("RGBA", layer.size, (255, 255, 255, 255))
    return Image.alpha_composite(white, layer).convert("RGB")


def _with_alpha(image: Image.Image) -> Image.Image:
    # Pillow has no direct way from the premultiplied and the palette modes.
    if image.mode == "La":
        image = image.convert("LA")
    return image.convert("RGBA")


def _refuse_narrow_colour(image: Image.Image) -> None:
    """Refuse 12-bit colour in a 16-bit TIFF, which Pillow reduces to the high, empty byte."""
    if image.format != "TIFF":
        return
    if image.tag_v2.get(_BITS_PER_SAMPLE, (8,))[0] != 16:  # type: ignore[attr-defined]
        return
    narrow = 1 << (_MOST_BITS_OF_A_NARROW_CAMERA - 8)
    if max(int(high) for _, high in image.getextrema()) < narrow:  # type: ignore[misc]
        raise _unsupported_pixels("16-bit colours of which 12 bits or fewer are used")


def _unsupported_pixels(what: str) -> PictureRefused:
    return PictureRefused(
        "unsupported_pixels",
        f"The picture stores {what}, so it would come out black or wrong",
        way_out="Save it as an 8-bit JPEG or PNG",
    )
