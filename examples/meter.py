"""Drawn photos of meters: the number in the display, a box a digit.

The number is read by sorting the digits from left to right. Small print stands around the display,
digits among it, which belongs to no box.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from examples import photo, scene
from examples.digits import Display, coloured, display_of, layers_of
from examples.photo import Colour, uniform
from examples.scene import Layer, Scene

LABELS = ("scenes",)
CLASSES = tuple("0123456789")

_SHEET = (960, 760)

_UNITS = ("kWh", "m3", "MWh", "l/h", "kVA", "GJ")
_MAKERS = ("Norvolt", "Aquamet", "Sentra", "Ostmeter", "Luma", "Hydrel")


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=size)


def _print(
    rng: np.random.Generator,
    sheet: Image.Image,
    case: tuple[int, int, int, int],
    window: tuple[int, int, int, int],
    colour: Colour,
) -> None:
    """Maker, unit, serial number, a bar code and a lamp around the window."""
    pen = ImageDraw.Draw(sheet)
    ink = (30, 30, 34) if sum(colour) > 330 else (224, 224, 220)
    left, top, right, bottom = case
    above, below = window[1] - top, bottom - window[3]
    if above > 50:
        pen.text((left + 34, top + 18), _MAKERS[rng.integers(len(_MAKERS))], ink, _font(26))
        kind = (
            f"{chr(65 + int(rng.integers(26)))}{int(rng.integers(100, 999))}-{int(rng.integers(9))}"
        )
        pen.text((left + 230, top + 24), kind, ink, _font(16))
    unit = _UNITS[rng.integers(len(_UNITS))]
    pen.text((window[2] - 50, min(window[3] + 12, bottom - 28)), unit, ink, _font(20))
    if below > 60:
        serial = f"No {int(rng.integers(10**6, 10**8))}  {int(rng.integers(2004, 2026))}"
        pen.text((left + 36, window[3] + 18), serial, ink, _font(17))
        rating = f"{int(rng.choice([110, 230, 400]))} V  {int(rng.integers(1, 9))}({int(rng.integers(20, 99))}) A  50 Hz"
        pen.text((left + 36, window[3] + 42), rating, ink, _font(15))
    if below > 120:
        x = left + 40
        y = window[3] + 78
        pen.rectangle((x - 8, y - 6, x + 190, y + 40), fill=(240, 240, 238))
        while x < left + 220:
            bar = int(rng.integers(1, 5))
            pen.rectangle((x, y, x + bar, y + 34), fill=(20, 20, 20))
            x += bar + int(rng.integers(2, 6))
        ring = (right - 70, window[3] + 76, right - 40, window[3] + 106)
        lamp = [(210, 40, 30), (40, 180, 60), (90, 90, 92)][rng.integers(3)]
        pen.ellipse(ring, fill=lamp, outline=photo.shade(colour, 0.5), width=3)
    for x in (left + 16, right - 16):
        for y in (top + 16, bottom - 16):
            pen.ellipse((x - 8, y - 8, x + 8, y + 8), fill=(150, 150, 150), outline=(70, 70, 70))
            pen.line((x - 5, y - 4, x + 5, y + 4), fill=(60, 60, 60), width=2)


def _glare(rng: np.random.Generator, window: tuple[int, int, int, int]) -> Layer:
    """Light that the window's glass throws back, mode RGBA, nowhere so bright as to hide."""
    wide, tall = window[2] - window[0], window[3] - window[1]
    mask = Image.new("L", (wide, tall), 0)
    pen = ImageDraw.Draw(mask)
    for _ in range(int(rng.integers(1, 4))):
        left, lean = uniform(rng, -0.1, 0.9) * wide, uniform(rng, -0.6, 0.6) * tall
        width = uniform(rng, 0.04, 0.3) * wide
        light = round(uniform(rng, 14, 84))
        pen.polygon(
            [(left, 0), (left + width, 0), (left + width + lean, tall), (left + lean, tall)],
            fill=light,
        )
    return Layer(coloured(mask.filter(ImageFilter.BoxBlur(3)), (250, 252, 255)), window[:2])


def _housing(
    rng: np.random.Generator,
    sheet: Image.Image,
    window: tuple[int, int, int, int],
    display: Display,
) -> None:
    """The case with its window, on what hangs behind it."""
    colour = photo.jitter(
        rng,
        [(216, 216, 212), (168, 172, 176), (52, 54, 58), (222, 214, 192), (58, 84, 116)][
            rng.integers(5)
        ],
        12,
    )
    left, right = window[0] - int(rng.integers(44, 90)), window[2] + int(rng.integers(44, 90))
    top, bottom = window[1] - int(rng.integers(44, 120)), window[3] + int(rng.integers(50, 200))
    drop = int(rng.integers(6, 20))
    shadow = [(left + drop, top + drop), (right + drop, top + drop)]
    shadow += [(right + drop, bottom + drop), (left + drop, bottom + drop)]
    photo.cast_shadow(sheet, shadow, 14, uniform(rng, 0.3, 0.7))
    pen = ImageDraw.Draw(sheet)
    corner = int(rng.integers(6, 46))
    pen.rounded_rectangle((left, top, right, bottom), corner, fill=photo.shade(colour, 0.62))
    pen.rounded_rectangle((left + 2, top + 2, right - 5, bottom - 6), corner, fill=colour)
    _print(rng, sheet, (left, top, right, bottom), window, colour)
    pen.rounded_rectangle(
        (window[0] - 9, window[1] - 9, window[2] + 9, window[3] + 9),
        8,
        fill=photo.shade(colour, 0.45),
    )
    ground = photo.shade(display.ground, 0.5) if display.drum else display.ground
    pen.rectangle(window, fill=ground)
    pen.rectangle((*window[:2], window[2], window[1] + 5), fill=photo.shade(ground, 0.6))


def draw(rng: np.random.Generator, size: tuple[int, int] = (640, 480)) -> Scene:
    """One photo-like picture of a meter with 4 to 7 digits, whose names are of `CLASSES`.

    Args:
        rng: the source of chance; the same state gives the same picture.
        size: width and height in pixels.
    """
    sheet = photo.surface(rng, _SHEET)
    count = int(rng.integers(4, 8))
    number = "".join(CLASSES[digit] for digit in rng.integers(10, size=count))
    display = display_of(rng, int(rng.integers(58, 66 if count > 5 else 78)))
    pitch = display.pitch
    long = (count - 1) * pitch + display.wide
    inside = round(display.wide * uniform(rng, 0.4, 0.7))
    left, top = (
        (_SHEET[0] - long) // 2,
        round((_SHEET[1] - display.tall) * uniform(rng, 0.42, 0.54)),
    )
    lean = 0 if display.drum else round(display.slant * display.tall)
    rise = round(display.tall * (0.27 if display.drum else 0.2))
    window = (
        left - inside,
        top - rise,
        left + long + lean + inside,
        top + display.tall + rise,
    )
    _housing(rng, sheet, window, display)
    layers = layers_of(rng, sheet, display, number, (left, top))
    if rng.random() < 0.7:
        layers.append(_glare(rng, window))
    while True:
        seen = scene.look(sheet.copy(), layers, _view(rng, window, size), size)
        # From too far away or askew a narrow digit would be left out, and the number be another.
        if len(seen.names) == count:
            return scene.exposed(rng, seen, blur=0.8)


def _view(
    rng: np.random.Generator, window: tuple[int, int, int, int], size: tuple[int, int]
) -> list[scene.Corner]:
    """What a hand-held camera sees that is pointed at the window, all of it in the picture."""
    width = window[2] - window[0]
    share = max(width * uniform(rng, 1.08, 1.4), 560.0) / _SHEET[0]
    corners = scene.view(rng, _SHEET, min(0.86, share), 2.5, 0.14, size)
    middle = np.asarray(((window[0] + window[2]) / 2, (window[1] + window[3]) / 2))
    seen = np.asarray(corners)
    room = max(0.0, min(0.86, share) * _SHEET[0] - 1.06 * width) / 2
    shift = rng.uniform(-1, 1, size=2) * (room, 60)
    moved = seen - seen.mean(axis=0) + middle + shift
    moved -= np.minimum(0, moved.min(axis=0))
    moved -= np.maximum(0, moved.max(axis=0) - _SHEET)
    return [(float(x), float(y)) for x, y in moved]
