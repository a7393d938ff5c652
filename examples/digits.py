"""The digits of a meter's display: seven segments that are lit, or print on drums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from examples import photo
from examples.photo import Colour, uniform
from examples.scene import Layer

_FINER = 2

_SEGMENTS = {
    "0": "abcdef",
    "1": "bc",
    "2": "abged",
    "3": "abgcd",
    "4": "fgbc",
    "5": "afgcd",
    "6": "afgedc",
    "7": "abc",
    "8": "abcdefg",
    "9": "abcdfg",
}


@dataclass(frozen=True)
class Display:
    """How the digits of one display look.

    Attributes:
        drum: whether the digits are printed on drums; else they are of seven segments.
        wide, tall: of a digit, in pixels of the sheet.
        ground, ink: what is behind a digit, and the digit.
        slant: how far the top of a digit leans to the right, as a share of its height.
        thick: a segment's thickness, as a share of the digit's width.
        ghost: how visible segments are that are off, 0 to 1.
    """

    drum: bool
    wide: int
    tall: int
    ground: Colour
    ink: Colour
    slant: float
    thick: float
    ghost: float

    @property
    def pitch(self) -> int:
        """From one digit to the next, in pixels of the sheet."""
        return round(self.wide * (1.62 if self.drum else 1.45))


def display_of(rng: np.random.Generator, wide: int) -> Display:
    """A display of drums, of liquid crystal or of lamps, its digits `wide` pixels of the sheet."""
    drum = bool(rng.random() < 0.45)
    ghost = 0.0
    if drum:
        light = rng.random() < 0.3
        ground = photo.jitter(rng, (232, 230, 222) if light else (24, 24, 26), 10)
        ink = photo.jitter(rng, (22, 22, 24) if light else (238, 236, 228), 10)
    elif rng.random() < 0.6:
        ground = photo.jitter(
            rng, [(164, 176, 148), (190, 196, 190), (148, 166, 170)][rng.integers(3)], 10
        )
        ink = photo.jitter(rng, (34, 38, 36), 10)
        ghost = uniform(rng, 0, 0.1)
    else:
        ground = photo.jitter(rng, (18, 14, 14), 8)
        ink = [(255, 64, 44), (90, 250, 110), (255, 182, 40), (150, 214, 255)][rng.integers(4)]
        ghost = uniform(rng, 0.02, 0.1)
    return Display(
        drum=drum,
        wide=wide,
        tall=round(wide * (uniform(rng, 1.35, 1.6) if drum else uniform(rng, 1.7, 2.0))),
        ground=ground,
        ink=ink,
        slant=uniform(rng, 0.11, 0.16),
        thick=uniform(rng, 0.23, 0.3),
        ghost=ghost,
    )


def _segment(name: str, wide: float, tall: float, thick: float) -> list[tuple[float, float]]:
    """The outline of a segment, hexagonal, of an upright digit."""
    half, gap = thick / 2, thick * 0.09
    left, right, top, bottom = half, wide - half, half, tall - half
    middle = tall / 2
    ends = {
        "a": ((left, top), (right, top)),
        "b": ((right, top), (right, middle)),
        "c": ((right, middle), (right, bottom)),
        "d": ((left, bottom), (right, bottom)),
        "e": ((left, middle), (left, bottom)),
        "f": ((left, top), (left, middle)),
        "g": ((left, middle), (right, middle)),
    }
    (x, y), (u, v) = ends[name]
    if y == v:
        x, u = x + gap, u - gap
        return [
            (x, y),
            (x + half, y - half),
            (u - half, y - half),
            (u, y),
            (u - half, y + half),
            (x + half, y + half),
        ]
    y, v = y + gap, v - gap
    return [
        (x, y),
        (x + half, y + half),
        (x + half, v - half),
        (x, v),
        (x - half, v - half),
        (x - half, y + half),
    ]


def _lit(display: Display, names: str) -> Image.Image:
    """The segments of a leaning digit as a mask, mode L, on the whole of its cell."""
    wide, tall = display.wide * _FINER, display.tall * _FINER
    lean = display.slant * tall
    mask = Image.new("L", (round(wide + lean) + 2, tall + 2), 0)
    pen = ImageDraw.Draw(mask)
    for name in names:
        outline = _segment(name, wide, tall, display.thick * wide)
        pen.polygon([(x + lean * (1 - y / tall), y) for x, y in outline], fill=255)
    return mask.reduce(_FINER)


@cache
def _glyph(digit: str, wide: int, tall: int) -> Image.Image:
    """A printed digit as a mask, mode L, as tall as asked for and of its own width."""
    font = ImageFont.load_default(size=120)
    left, top, right, bottom = (round(edge) for edge in font.getbbox(digit))
    mask = Image.new("L", (right - left, bottom - top), 0)
    ImageDraw.Draw(mask).text((-left, -top), digit, fill=255, font=font, stroke_width=3)
    if digit == "1":
        # A foot as drums have it, without which the digit would be but a line.
        foot = Image.new("L", (round(mask.width * 1.3), mask.height), 0)
        foot.paste(mask, ((foot.width - mask.width) // 2, 0))
        edge = (0, foot.height - 15, foot.width, foot.height)
        ImageDraw.Draw(foot).rectangle(edge, fill=255)
        mask = foot
    share = 0.62 if digit == "1" else 1.0
    return mask.resize((round(wide * share), tall), Image.Resampling.LANCZOS)


def coloured(mask: Image.Image, ink: Colour) -> Image.Image:
    """Ink where the mask, mode L, lets it through, mode RGBA."""
    sprite = Image.new("RGBA", mask.size, (*ink, 0))
    sprite.putalpha(mask)
    return sprite


def layers_of(
    rng: np.random.Generator,
    sheet: Image.Image,
    display: Display,
    number: str,
    at: tuple[int, int],
) -> list[Layer]:
    """The digits of a number as layers, the first at a place; the rest is painted at once."""
    layers = []
    pitch = display.pitch
    pen = ImageDraw.Draw(sheet)
    x, y = at
    points = int(rng.integers(0, 4))
    red = display.drum and points > 0 and rng.random() < 0.7
    for place, digit in enumerate(number):
        last = len(number) - place <= points
        if display.drum:
            layers.append(_drum(rng, sheet, display, digit, (x, y), last and red))
        else:
            layers.append(_seven_segments(sheet, display, digit, (x, y)))
        if len(number) - place == points + 1 and points:
            dot = max(2, round(display.wide * 0.08))
            right = x + display.wide + (pitch - display.wide) // 2
            bottom = y + display.tall + dot
            ink = (236, 234, 228) if display.drum else display.ink
            pen.ellipse((right - dot, bottom - 2 * dot, right + dot, bottom), fill=ink)
        x += pitch
    return layers


def _seven_segments(sheet: Image.Image, display: Display, digit: str, at: tuple[int, int]) -> Layer:
    """A digit of lit segments; those that are off are painted at once."""
    off = _lit(display, _SEGMENTS["8"]).point([round(v * display.ghost) for v in range(256)])
    sheet.paste(display.ink, at, off)
    mask = _lit(display, _SEGMENTS[digit])
    bounds = mask.point([0] * 128 + [255] * 128).getbbox() or (0, 0, 1, 1)
    mask = mask.crop(bounds)
    glow = None
    if sum(display.ground) < 120:
        glow = coloured(mask.filter(ImageFilter.BoxBlur(4)), display.ink)
    return Layer(coloured(mask, display.ink), (at[0] + bounds[0], at[1] + bounds[1]), digit, glow)


def _drum(
    rng: np.random.Generator,
    sheet: Image.Image,
    display: Display,
    digit: str,
    at: tuple[int, int],
    red: bool,
) -> Layer:
    """A drum with a printed digit; the drum is painted at once."""
    ground = photo.jitter(rng, (176, 30, 34), 12) if red else display.ground
    ink = photo.jitter(rng, (242, 240, 232), 6) if red else display.ink
    edge = round(display.wide * 0.22)
    wide, tall = display.wide + 2 * edge, round(display.tall * 1.44)
    turn = np.cos(np.linspace(-1.15, 1.15, tall))[:, None] * np.ones((1, wide))
    drum = photo.colour_map(
        (turn * 2 - 1).astype(np.float32), photo.shade(ground, 0.4), photo.shade(ground, 1.1)
    )
    corner = (at[0] - edge, at[1] - (tall - display.tall) // 2)
    sheet.paste(drum, corner)
    pen = ImageDraw.Draw(sheet)
    frame = (corner[0], corner[1], corner[0] + wide, corner[1] + tall)
    pen.rectangle(frame, outline=photo.shade(ground, 0.35), width=3)
    glyph = _glyph(digit, display.wide, display.tall)
    roll = round(float(np.clip(rng.normal(0, 0.035), -0.09, 0.09)) * display.tall)
    left = at[0] + (display.wide - glyph.width) // 2
    return Layer(coloured(glyph, ink), (left, at[1] + roll), digit)
