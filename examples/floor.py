"""Drawn photos of floorboards: whole, cracked or stained, and with knot holes and scratches.

A sound floor has what a careless eye takes for a defect: joints between the boards, sound knots,
dark grain and crumbs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFilter

from examples import photo, scene
from examples.photo import Colour, uniform
from examples.scene import Corner, Layer, Scene

LABELS = ("normal", "crack", "stain")
CLASSES = ("knot_hole", "scratch")

_SHEET = (960, 800)
_FINER = 2
_MARGIN = 12
_CLEAN = 0.2
"""The share of pictures without a defect among those with boxes."""

_WOODS: tuple[Colour, ...] = (
    (196, 160, 116),
    (164, 122, 80),
    (120, 84, 56),
    (212, 190, 154),
    (142, 124, 106),
    (176, 104, 66),
)


@dataclass(frozen=True)
class _Floor:
    picture: Image.Image
    wood: Colour
    lines: tuple[int, ...]
    """Where the joints that run along the boards lie, in pixels from the top."""


def _board(rng: np.random.Generator, size: tuple[int, int], wood: Colour) -> Image.Image:
    """One board with its grain along the width."""
    tone = photo.shade(photo.jitter(rng, wood, 4), uniform(rng, 0.84, 1.12))
    coarse = (size[0] // 2, size[1] // 2)
    grain = (
        0.5 * photo.smooth_noise(rng, coarse, (3, max(5, size[1] // 9)))
        + 0.35 * photo.smooth_noise(rng, coarse, (9, max(8, size[1] // 4)))
        + 0.2 * photo.smooth_noise(rng, coarse, (60, max(12, size[1] // 2)))
    )
    depth = uniform(rng, 0.72, 0.86)
    picture = photo.colour_map(grain, photo.shade(tone, depth), photo.shade(tone, 1.1))
    return picture.resize(size, Image.Resampling.BILINEAR)


def _knot(rng: np.random.Generator, wood: Colour) -> Image.Image:
    """A sound knot: rings of darker wood, closed, mode RGBA."""
    wide, tall = round(uniform(rng, 12, 26)), round(uniform(rng, 9, 18))
    knot = Image.new("RGBA", (2 * wide, 2 * tall), (*photo.shade(wood, 0.6), 0))
    pen = ImageDraw.Draw(knot)
    for share, tone, strength in (
        (1.0, 0.72, 70),
        (0.75, 0.62, 150),
        (0.5, 0.7, 170),
        (0.25, 0.5, 200),
    ):
        pen.ellipse(
            (wide * (1 - share), tall * (1 - share), wide * (1 + share), tall * (1 + share)),
            fill=(*photo.shade(wood, tone), strength),
        )
    return knot.filter(ImageFilter.GaussianBlur(1.2))


def _crumbs(rng: np.random.Generator, picture: Image.Image) -> None:
    """Dust and crumbs, each a few pixels."""
    pen = ImageDraw.Draw(picture)
    for _ in range(int(rng.integers(0, 26))):
        x, y = (float(place) for place in rng.uniform(0, 1, size=2) * _SHEET)
        reach = uniform(rng, 0.8, 2.4)
        grey = int(rng.integers(40, 235))
        pen.ellipse((x - reach, y - reach, x + reach, y + reach), fill=(grey, grey, grey - 12))


def _floor(rng: np.random.Generator) -> _Floor:
    """A sound floor, its boards along the width."""
    wood = photo.jitter(rng, _WOODS[rng.integers(len(_WOODS))], 7)
    picture = Image.new("RGB", _SHEET, wood)
    pen = ImageDraw.Draw(picture)
    tall = int(rng.integers(90, 190))
    joint = photo.shade(wood, uniform(rng, 0.25, 0.55))
    thick = int(rng.integers(2, 5))
    top = -int(rng.integers(0, tall))
    lines = []
    while top < _SHEET[1]:
        left = -int(rng.integers(0, 400))
        while left < _SHEET[0]:
            long = int(rng.integers(330, 800))
            picture.paste(_board(rng, (long, tall), wood), (left, top))
            for _ in range(int(rng.integers(0, 3))):
                knot = _knot(rng, wood)
                x, y = int(rng.integers(0, long)), int(rng.integers(0, max(1, tall - 40)))
                picture.paste(knot, (left + x, top + y), knot)
            pen.line((left, top, left, top + tall), fill=joint, width=thick)
            left += long
        pen.line((0, top, _SHEET[0], top), fill=joint, width=thick)
        pen.line((0, top + thick, _SHEET[0], top + thick), fill=photo.shade(wood, 1.15), width=1)
        lines.append(top)
        top += tall
    _crumbs(rng, picture)
    return _Floor(picture, wood, tuple(lines))


def _walk(
    rng: np.random.Generator, length: float, steps: int, wander: float
) -> npt.NDArray[np.float64]:
    """A line of (steps, 2) places along the width that wanders up and down."""
    x = np.linspace(0, length, steps)
    y = np.cumsum(rng.normal(0, wander, size=steps))
    return np.stack((x, y - np.linspace(0, float(y[-1]), steps) * 0.6), axis=1)


def _cropped(sprite: Image.Image) -> Image.Image:
    """The sprite at the sheet's scale, cut to what is opaque."""
    sprite = sprite.reduce(_FINER)
    return sprite.crop(sprite.getchannel("A").point([0] * 128 + [255] * 128).getbbox())


def _crack(rng: np.random.Generator, wood: Colour) -> Image.Image:
    """A dark jagged split along the grain, with splinters, mode RGBA."""
    length = _FINER * uniform(rng, 150, 380)
    line = _walk(rng, length, int(rng.integers(16, 34)), _FINER * uniform(rng, 1.6, 3.4))
    thick = _FINER * uniform(rng, 1.8, 3.6) * np.sin(np.linspace(0.12, np.pi - 0.12, len(line)))
    low = float(line[:, 1].min()) - 30
    height = round(float(line[:, 1].max()) - low) + 30
    crack = Image.new("RGBA", (round(length) + 1, height), (20, 13, 9, 0))
    pen = ImageDraw.Draw(crack)
    upper = [(float(x), float(y) - low - float(t)) for (x, y), t in zip(line, thick, strict=True)]
    lower = [(float(x), float(y) - low + float(t)) for (x, y), t in zip(line, thick, strict=True)]
    pale = photo.shade(wood, 1.3)
    pen.line([(x, y + 3) for x, y in lower], fill=(*pale, 190), width=3)
    pen.polygon(upper + lower[::-1], fill=(20, 13, 9, 245))
    for place in rng.integers(2, len(line) - 2, size=int(rng.integers(1, 5))):
        x, y = upper[int(place)]
        reach = uniform(rng, 12, 46)
        pen.line((x, y, x + reach, y + uniform(rng, -18, 22)), fill=(24, 16, 11, 230), width=4)
    return _cropped(crack)


def _stain(rng: np.random.Generator, wood: Colour) -> Image.Image:
    """A spilt liquid's mark with a darker rim, or a pale one, mode RGBA."""
    wide, tall = (round(uniform(rng, 34, 92)) for _ in range(2))
    angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    wave = sum(
        uniform(rng, 0.02, 0.13) / order * np.sin(order * angles + uniform(rng, 0, 6.3))
        for order in range(2, 7)
    )
    outline = [
        (
            float(wide * (1 + 0.7 * (1 + w) * np.cos(a))),
            float(tall * (1 + 0.7 * (1 + w) * np.sin(a))),
        )
        for a, w in zip(angles, np.asarray(wave), strict=True)
    ]
    colour = [(34, 20, 12), (20, 22, 40), (88, 18, 22), (232, 228, 216)][rng.integers(4)]
    colour = photo.jitter(rng, colour, 10)
    strength = uniform(rng, 0.42, 0.72)
    mask = Image.new("L", (2 * wide, 2 * tall), 0)
    pen = ImageDraw.Draw(mask)
    pen.polygon(outline, fill=round(255 * strength))
    pen.line([*outline, outline[0]], fill=round(255 * min(1.0, strength + 0.22)), width=4)
    for _ in range(int(rng.integers(0, 5))):
        x, y = uniform(rng, 0, 2 * wide), uniform(rng, 0, 2 * tall)
        reach = uniform(rng, 2, 7)
        pen.ellipse((x - reach, y - reach, x + reach, y + reach), fill=round(255 * strength))
    patch = 1 + 0.3 * photo.smooth_noise(rng, mask.size, (6, 6))
    soft = np.asarray(mask.filter(ImageFilter.GaussianBlur(1.4)), dtype=np.float32) * patch
    stain = Image.new("RGBA", mask.size, (*colour, 0))
    stain.putalpha(Image.fromarray(np.clip(soft, 0, 255).astype(np.uint8)))
    return stain


def _knot_hole(rng: np.random.Generator, wood: Colour) -> Image.Image:
    """A hole where a knot fell out: black, with a lit lower wall and a ragged rim, mode RGBA."""
    wide, tall = (_FINER * uniform(rng, 19, 38) for _ in range(2))
    tall = max(0.6 * wide, min(tall, wide))
    angles = np.linspace(0, 2 * np.pi, 26, endpoint=False)
    ragged = 1 - rng.uniform(0, 0.11, size=angles.size)
    hole = Image.new("RGBA", (round(2 * wide), round(2 * tall)), (*photo.shade(wood, 0.4), 0))
    pen = ImageDraw.Draw(hole)
    for share, down, colour in (
        (1.0, 0.0, photo.shade(wood, 0.46)),
        (0.84, 0.02, photo.mix(wood, (30, 18, 10), 0.55)),
        (0.72, -0.05, (17, 12, 9)),
    ):
        places = zip(angles, ragged, strict=True)
        pen.polygon(
            [
                (
                    float(wide * (1 + share * r * np.cos(a))),
                    float(tall * (1 + down + share * r * np.sin(a))),
                )
                for a, r in places
            ],
            fill=(*colour, 255),
        )
    return _cropped(hole)


def _scratch(rng: np.random.Generator, wood: Colour) -> Image.Image:
    """Raw wood where something sharp was drawn across the grain, mode RGBA."""
    length = _FINER * uniform(rng, 70, 230)
    angle = np.deg2rad(uniform(rng, 22, 68)) * (1 if rng.random() < 0.5 else -1)
    line = _walk(rng, length, 12, _FINER * uniform(rng, 0.3, 1.2))
    turned = line @ np.asarray([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    turned -= turned.min(axis=0) - 14
    width, height = (round(float(edge)) + 14 for edge in turned.max(axis=0))
    raw = photo.mix(photo.shade(wood, 1.35), (244, 232, 212), 0.5)
    scratch = Image.new("RGBA", (width, height), (*raw, 0))
    pen = ImageDraw.Draw(scratch)
    path = [(float(x), float(y)) for x, y in turned]
    thick = round(_FINER * uniform(rng, 2.2, 4.2))
    pen.line([(x + 2, y + 3) for x, y in path], fill=(*photo.shade(wood, 0.4), 235), width=thick)
    pen.line(path, fill=(*raw, 250), width=thick, joint="curve")
    if rng.random() < 0.5:
        aside = uniform(rng, 6, 12)
        pen.line([(x + aside, y) for x, y in path[2:-3]], fill=(*raw, 220), width=thick // 2)
    return _cropped(scratch)


_Defect = Callable[[np.random.Generator, Colour], Image.Image]
_DEFECTS: dict[str, _Defect] = {
    "crack": _crack,
    "knot_hole": _knot_hole,
    "scratch": _scratch,
    "stain": _stain,
}


def _place(
    rng: np.random.Generator,
    sprite: Image.Image,
    view: list[Corner],
    taken: list[tuple[int, int, int, int]],
) -> tuple[int, int] | None:
    """Where a defect fits into the view beside those that are there; none if no place was found."""
    edges = np.sort(np.asarray(view), axis=0)
    low, high = edges[1] + _MARGIN, edges[2] - _MARGIN - sprite.size
    for _ in range(20):
        x, y = (round(float(place)) for place in rng.uniform(low, np.maximum(low + 1, high)))
        right, bottom = x + sprite.width, y + sprite.height
        if all(right < a or c < x or bottom < b or d < y for a, b, c, d in taken):
            taken.append((x, y, right, bottom))
            return x, y
    return None


def _view(rng: np.random.Generator, size: tuple[int, int]) -> list[Corner]:
    """A floor seen from a person's height, its boards along the picture."""
    return scene.view(rng, _SHEET, uniform(rng, 0.68, 0.8), 4.0, 0.16, size)


def draw(rng: np.random.Generator, label: str, size: tuple[int, int] = (640, 480)) -> Image.Image:
    """One photo-like picture of a floor with one defect or none.

    Args:
        rng: the source of chance; the same state gives the same picture.
        label: one of `LABELS`.
        size: width and height in pixels.

    Returns:
        A picture in mode RGB.
    """
    chance = rng.spawn(1)[0]
    floor, view = _floor(rng), _view(rng, size)
    layers = []
    if label != "normal":
        defect = _DEFECTS[label](chance, floor.wood)
        place = _place(chance, defect, view, [])
        if place is not None:
            layers.append(Layer(defect, place))
    seen = scene.look(floor.picture, layers, view, size)
    return photo.expose(rng, seen.picture, blur=0.8)


def draw_boxes(rng: np.random.Generator, size: tuple[int, int] = (640, 480)) -> Scene:
    """One photo-like picture of a floor with one to four defects of `CLASSES`, or with none.

    Args:
        rng: the source of chance; the same state gives the same picture.
        size: width and height in pixels.
    """
    chance = rng.spawn(1)[0]
    floor, view = _floor(rng), _view(rng, size)
    layers: list[Layer] = []
    taken: list[tuple[int, int, int, int]] = []
    count = 0 if chance.random() < _CLEAN else int(chance.integers(1, 5))
    for _ in range(count):
        name = CLASSES[chance.integers(len(CLASSES))]
        defect = _DEFECTS[name](chance, floor.wood)
        place = _place(chance, defect, view, taken)
        if place is not None:
            layers.append(Layer(defect, place, name))
    return scene.exposed(rng, scene.look(floor.picture, layers, view, size), blur=0.8)
