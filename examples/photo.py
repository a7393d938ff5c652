"""What makes a drawn scene look like a photo: surfaces, light, lens, sensor and JPEG.

Colours are RGB triples in 0..255; pictures are Pillow images in mode RGB. Everything draws its
chances from the generator that is handed in, so that the same generator state gives the same
pixels.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFilter

Colour = tuple[int, int, int]
Floats = npt.NDArray[np.float32]


def uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """One number from [low, high)."""
    return float(rng.uniform(low, high))


def mix(first: Colour, second: Colour, share: float) -> Colour:
    """The colour `share` (0..1) of the way from `first` to `second`."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return red, green, blue


def shade(colour: Colour, factor: float) -> Colour:
    """The colour under `factor` times the light, clipped to 255."""
    red, green, blue = (min(255, max(0, round(part * factor))) for part in colour)
    return red, green, blue


def jitter(rng: np.random.Generator, colour: Colour, spread: float) -> Colour:
    """A colour at most `spread` away from `colour` in each channel."""
    red, green, blue = (
        int(np.clip(part + uniform(rng, -spread, spread), 0, 255)) for part in colour
    )
    return red, green, blue


def distance(first: Colour, second: Colour) -> float:
    """How differently two colours look: the "redmean" approximation, 0..765."""
    mean = (first[0] + second[0]) / 2
    red, green, blue = (a - b for a, b in zip(first, second, strict=True))
    return float(
        np.sqrt(
            (2 + mean / 256) * red * red
            + 4 * green * green
            + (2 + (255 - mean) / 256) * blue * blue
        )
    )


def smooth_noise(rng: np.random.Generator, size: tuple[int, int], cells: tuple[int, int]) -> Floats:
    """Smooth random field of `size` (width, height), values about -1..1, from a grid of `cells`.

    Returns:
        float32 array of shape (height, width).
    """
    grid = rng.integers(0, 256, size=(max(2, cells[1]), max(2, cells[0])), dtype=np.uint8)
    field = Image.fromarray(grid).resize(size, Image.Resampling.BICUBIC)
    return (np.asarray(field, dtype=np.float32) - 127.5) / 127.5


def colour_map(field: Floats, low: Colour, high: Colour) -> Image.Image:
    """The field (height, width) in -1..1 as a picture between two colours."""
    steps = np.linspace(0, 1, 256)[:, None]
    palette = (np.asarray(low) + (np.asarray(high) - np.asarray(low)) * steps).astype(np.uint8)
    picture = Image.fromarray(np.clip(field * 127.5 + 127.5, 0, 255).astype(np.uint8))
    picture.putpalette(palette.tobytes())
    return picture.convert("RGB")


def _wood(rng: np.random.Generator, size: tuple[int, int]) -> Image.Image:
    base = jitter(rng, [(146, 120, 92), (92, 76, 62), (190, 170, 142)][rng.integers(3)], 10)
    grain = 0.6 * smooth_noise(rng, size, (4, 90)) + 0.4 * smooth_noise(rng, size, (12, 200))
    picture = colour_map(grain, shade(base, 0.75), shade(base, 1.15))
    draw = ImageDraw.Draw(picture)
    plank = int(uniform(rng, 0.18, 0.6) * size[1])
    for top in range(int(uniform(rng, 0, plank)), size[1], plank):
        draw.line([(0, top), (size[0], top)], fill=shade(base, 0.5), width=2)
    return picture


def _cloth(rng: np.random.Generator, size: tuple[int, int]) -> Image.Image:
    base = jitter(
        rng, [(66, 72, 86), (120, 120, 118), (98, 82, 80), (80, 88, 82)][rng.integers(4)], 12
    )
    step = uniform(rng, 1.0, 2.2)
    weave = (
        np.sin(np.arange(size[0], dtype=np.float32) * step)[None, :]
        * np.sin(np.arange(size[1], dtype=np.float32) * step)[:, None]
    )
    field = 0.35 * weave + 0.65 * smooth_noise(rng, size, (7, 5))
    return colour_map(field, shade(base, 0.72), shade(base, 1.2))


def _stone(rng: np.random.Generator, size: tuple[int, int]) -> Image.Image:
    base = jitter(rng, [(205, 203, 198), (120, 118, 116), (70, 72, 76)][rng.integers(3)], 15)
    field = (
        0.5 * smooth_noise(rng, size, (6, 5))
        + 0.3 * smooth_noise(rng, size, (30, 22))
        + 0.3 * smooth_noise(rng, size, (150, 110))
    )
    return colour_map(field, shade(base, 0.78), shade(base, 1.12))


def _plain(rng: np.random.Generator, size: tuple[int, int]) -> Image.Image:
    base: Colour = (
        int(rng.integers(50, 235)),
        int(rng.integers(50, 235)),
        int(rng.integers(50, 235)),
    )
    grey = sum(base) // 3
    base = mix(base, (grey, grey, grey), uniform(rng, 0.8, 0.97))
    return colour_map(smooth_noise(rng, size, (4, 3)), shade(base, 0.9), shade(base, 1.08))


def surface(rng: np.random.Generator, size: tuple[int, int]) -> Image.Image:
    """A table top of `size`: wood, cloth, stone or a plain board, turned either way."""
    maker = (_wood, _cloth, _stone, _plain)[rng.integers(4)]
    if rng.random() < 0.35:
        return maker(rng, (size[1], size[0])).transpose(Image.Transpose.ROTATE_90)
    return maker(rng, size)


def homography(
    source: Sequence[tuple[float, float]], target: Sequence[tuple[float, float]]
) -> tuple[float, ...]:
    """Coefficients for `Image.transform(PERSPECTIVE)` that carry 4 source corners to 4 targets."""
    rows = []
    for (u, v), (x, y) in zip(source, target, strict=True):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y])
    values = np.asarray(source, dtype=np.float64).reshape(8)
    return tuple(float(c) for c in np.linalg.solve(np.asarray(rows, dtype=np.float64), values))


def cast_shadow(
    picture: Image.Image, outline: Sequence[tuple[float, float]], radius: float, strength: float
) -> Image.Image:
    """Darken the picture softly inside the outline (pixels) by `strength` (0..1)."""
    scale = 4
    mask = Image.new("L", (picture.width // scale, picture.height // scale), 0)
    ImageDraw.Draw(mask).polygon(
        [(x / scale, y / scale) for x, y in outline], fill=round(255 * strength)
    )
    mask = mask.filter(ImageFilter.GaussianBlur(radius / scale)).resize(picture.size)
    picture.paste((8, 8, 12), (0, 0), mask)
    return picture


def _light(rng: np.random.Generator, size: tuple[int, int]) -> Image.Image:
    """The light that falls on each pixel, mode RGB, where 127 leaves a colour as it is."""
    x, y = np.meshgrid(np.linspace(-1, 1, 24), np.linspace(-1, 1, 18))
    angle = uniform(rng, 0, 2 * np.pi)
    light = 1 + uniform(rng, 0, 0.25) * (np.cos(angle) * x + np.sin(angle) * y)
    light *= 1 - uniform(rng, 0, 0.28) * (x * x + y * y) / 2
    if rng.random() < 0.5:
        lamp = (x - uniform(rng, -1, 1)) ** 2 + (y - uniform(rng, -1, 1)) ** 2
        light += uniform(rng, 0.1, 0.4) * np.exp(-lamp / uniform(rng, 0.2, 1.2))
    if rng.random() < 0.35:
        edge = np.cos(angle + 1) * x + np.sin(angle + 1) * y - uniform(rng, -0.8, 0.8)
        light *= 1 - uniform(rng, 0.12, 0.3) / (1 + np.exp(-edge * uniform(rng, 4, 14)))
    light *= uniform(rng, 0.86, 1.2)
    warmth = uniform(rng, -0.06, 0.06)
    tint = np.asarray((1 + warmth, 1 + uniform(rng, -0.03, 0.03), 1 - warmth))
    small = Image.fromarray(np.clip(light[..., None] * tint * 127, 0, 255).astype(np.uint8))
    return small.resize(size, Image.Resampling.BICUBIC)


def expose(rng: np.random.Generator, picture: Image.Image, blur: float = 1.0) -> Image.Image:
    """The scene as a camera sees it: uneven light, white balance, lens blur, sensor noise.

    Args:
        rng: the source of chance.
        picture: the scene, mode RGB.
        blur: the largest lens blur, the standard deviation in pixels at a width of 640.

    Returns:
        A new picture of the same size.
    """
    light = _light(rng, picture.size)
    radius = uniform(rng, 0, 1.5 * blur) * picture.width / 640
    if radius > 0.3:
        picture = picture.filter(ImageFilter.BoxBlur(radius))
    pixels = np.multiply(np.asarray(picture), np.asarray(light), dtype=np.float32)
    haze = uniform(rng, 0, 14)
    pixels *= np.float32((255 - haze) / 255 / 127)
    grain = rng.standard_normal(size=pixels.shape[:2], dtype=np.float32)
    grain *= np.float32(uniform(rng, 0.8, 6))
    grain += np.float32(haze)
    pixels += grain[..., None]
    np.clip(pixels, 0, 255, out=pixels)
    return Image.fromarray(pixels.astype(np.uint8))


def jpeg(rng: np.random.Generator, picture: Image.Image) -> bytes:
    """The picture as JPEG bytes, of a quality between 55 and 95."""
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=int(rng.integers(55, 96)))
    return stream.getvalue()
