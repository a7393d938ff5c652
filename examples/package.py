"""What is printed on a package: an invented name over patterns, and small print."""

from __future__ import annotations

from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from examples import photo
from examples.goods import package_colour
from examples.photo import Colour, uniform

_SYLLABLES = ("ka", "lo", "mi", "ra", "ve", "no", "su", "ti", "ber", "fan", "pol", "dor", "gu")
_WHITE: Colour = (250, 250, 248)


@cache
def _text(word: str, size: int) -> Image.Image:
    font = ImageFont.load_default(size=size)
    left, top, right, bottom = (round(edge) for edge in font.getbbox(word))
    mask = Image.new("L", (right - left + 2, bottom - top + 2), 0)
    ImageDraw.Draw(mask).text((1 - left, 1 - top), word, fill=255, font=font)
    return mask


def _word(rng: np.random.Generator) -> str:
    parts = rng.integers(len(_SYLLABLES), size=int(rng.integers(2, 4)))
    word = "".join(_SYLLABLES[part] for part in parts)
    return word.upper() if rng.random() < 0.5 else word.capitalize()


def _pattern(
    rng: np.random.Generator,
    pen: ImageDraw.ImageDraw,
    size: tuple[int, int],
    ink: Colour,
    second: Colour,
) -> None:
    """A band, stripes, a target, dots or two edges."""
    width, height = size
    pattern = rng.integers(5)
    if pattern == 0:
        edge = uniform(rng, 0.25, 0.6) * height
        pen.rectangle((0, edge, width, height), fill=second)
    elif pattern == 1:
        step = uniform(rng, 0.1, 0.3) * width
        for left in np.arange(-height, width, 2 * step):
            pen.polygon(
                [
                    (left, height),
                    (left + step, height),
                    (left + height, 0),
                    (left + height - step, 0),
                ],
                fill=second,
            )
    elif pattern == 2:
        x, y = uniform(rng, 0.35, 0.65) * width, uniform(rng, 0.55, 0.75) * height
        reach = uniform(rng, 0.2, 0.42) * min(width, height)
        pen.ellipse((x - reach, y - reach, x + reach, y + reach), fill=second)
        pen.ellipse((x - reach / 2, y - reach / 2, x + reach / 2, y + reach / 2), fill=ink)
    elif pattern == 3:
        for _ in range(int(rng.integers(5, 14))):
            x, y = uniform(rng, 0, width), uniform(rng, 0.3, 1) * height
            reach = uniform(rng, 0.04, 0.14) * width
            pen.ellipse(
                (x - reach, y - reach, x + reach, y + reach), fill=photo.jitter(rng, second, 40)
            )
    else:
        edge = uniform(rng, 0.06, 0.14) * height
        pen.rectangle((0, 0, width, edge), fill=second)
        pen.rectangle((0, height - edge, width, height), fill=second)


def label_of(rng: np.random.Generator, size: tuple[int, int], ground: Colour) -> Image.Image:
    """A printed label: a name over stripes, patches or a picture, and small print."""
    width, height = size
    label = Image.new("RGB", size, ground)
    pen = ImageDraw.Draw(label)
    ink = package_colour(rng)
    second = package_colour(rng)
    _pattern(rng, pen, size, ink, second)
    word = _text(_word(rng), max(9, round(uniform(rng, 0.16, 0.26) * min(width, height))))
    plate = (width - word.width) // 2, round(uniform(rng, 0.1, 0.4) * height)
    if rng.random() < 0.5:
        edges = (plate[0] - 8, plate[1] - 5, plate[0] + word.width + 8, plate[1] + word.height + 5)
        pen.rectangle(edges, fill=ink)
        ink = photo.mix(_WHITE, ground, 0.1) if sum(ink) < 420 else (30, 30, 34)
    elif photo.distance(ink, ground) < 150:
        ink = (28, 28, 32) if sum(ground) > 380 else _WHITE
    label.paste(ink, plate, word)
    for line in range(int(rng.integers(2, 6))):
        y = round(height * 0.72) + 7 * line
        length = uniform(rng, 0.2, 0.6) * width
        pen.line((width * 0.2, y, width * 0.2 + length, y), fill=photo.shade(ink, 0.8), width=2)
    return label
