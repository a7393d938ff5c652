"""Small generated pictures of every kind that people upload."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
import pillow_heif
from numpy.typing import NDArray
from PIL import Image

RED, GREEN, BLUE, YELLOW = (250, 10, 10), (10, 250, 10), (10, 10, 250), (240, 240, 20)
HEIGHT, WIDTH = 24, 40
ORIENTATION = 0x0112

# What a camera would have stored so that the orientation turns it upright.
STORED = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


def quadrants() -> NDArray[np.uint8]:
    """(24, 40, 3): red, green over blue, yellow; no two of its turns are equal."""
    pixels = np.empty((HEIGHT, WIDTH, 3), np.uint8)
    pixels[:12, :20], pixels[:12, 20:] = RED, GREEN
    pixels[12:, :20], pixels[12:, 20:] = BLUE, YELLOW
    return pixels


def picture() -> Image.Image:
    return Image.fromarray(quadrants())


def noise(height: int, width: int, seed: int = 0) -> Image.Image:
    random = np.random.default_rng(seed)
    return Image.fromarray(random.integers(0, 256, (height, width, 3), dtype=np.uint8))


def photo(height: int, width: int, seed: int = 0) -> Image.Image:
    """Smooth random blobs with a little noise: as compressible as a photo."""
    random = np.random.default_rng(seed)
    coarse = Image.fromarray(random.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    smooth = np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC), np.int64)
    grain = random.integers(-6, 7, smooth.shape)
    return Image.fromarray(np.clip(smooth + grain, 0, 255).astype(np.uint8))


def encoded(image: Image.Image, form: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    if form == "HEIF":
        pillow_heif.from_pillow(image).save(buffer, **options)
    else:
        image.save(buffer, form, **options)
    return buffer.getvalue()


def exif(orientation: int) -> bytes:
    block = Image.Exif()
    block[ORIENTATION] = orientation
    return block.tobytes()


def grey_tiff(
    values: NDArray[Any], *, photometric: int = 1, bits: int = 16, big_endian: bool = False
) -> bytes:
    """An uncompressed grey TIFF of 16-bit words with the tags as given, (H, W) values."""
    order = ">" if big_endian else "<"
    data = values.astype(f"{order}u2").tobytes()
    height, width = values.shape
    short, long = 3, 4
    entries = [
        (256, long, width),
        (257, long, height),
        (258, short, bits),
        (259, short, 1),
        (262, short, photometric),
        (273, long, 8),
        (277, short, 1),
        (278, long, height),
        (279, long, len(data)),
    ]
    directory = struct.pack(f"{order}H", len(entries))
    for tag, kind, value in entries:
        packed = struct.pack(f"{order}I" if kind == long else f"{order}HH", *(
            (value,) if kind == long else (value, 0)
        ))  # fmt: skip
        directory += struct.pack(f"{order}HHI", tag, kind, 1) + packed
    head = (b"MM\x00*" if big_endian else b"II*\x00") + struct.pack(f"{order}I", 8 + len(data))
    return head + data + directory + bytes(4)


def icon_bomb(width: int, height: int) -> bytes:
    """An ICO of one bitmap whose directory says 16 × 16 and whose header says something else."""
    header = struct.pack("<IiiHHIIiiII", 40, width, height * 2, 1, 32, 0, 0, 0, 0, 0, 0)
    entry = struct.pack("<BBBBHHII", 16, 16, 0, 0, 1, 32, len(header), 22)
    return struct.pack("<HHH", 0, 1, 1) + entry + header + bytes(64)


def png_of_size(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds hardly any pixel."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(100)))
        + chunk(b"IEND", b"")
    )


def plain(form: str, size: tuple[int, int] = (96, 64)) -> bytes:
    """An ordinary picture of the format, (width, height), photo-like."""
    options = {"sizes": [size]} if form == "ICO" else _OPTIONS.get(form, {})
    return encoded(photo(size[1], size[0]), form, **options)


_OPTIONS: dict[str, dict[str, Any]] = {
    "JPEG": {"quality": 90},
    "AVIF": {"quality": 80, "speed": 10},
    "WEBP": {"quality": 90},
    "TIFF": {"compression": "tiff_lzw"},
    "HEIF": {"quality": 80, "chroma": 444},
}
FORMATS = (
    "JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "HEIF", "AVIF", "ICO", "PPM", "JPEG2000",
)  # fmt: skip
