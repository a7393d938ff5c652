"""Goods of a shop, drawn into a scene: cartons, bottles, bags and melons.

Each is drawn with the middle of its base at a place, its width, height and depth in metres.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw

from examples import photo
from examples.photo import Colour, uniform
from examples.stage import Point, Stage, upright


def package_colour(rng: np.random.Generator) -> Colour:
    """The colour of a package: anything between grey, white and loud."""
    hue = rng.uniform(0, 1, size=3)
    hue = (hue - hue.min()) / max(1e-6, float(hue.max() - hue.min()))
    loud, light = uniform(rng, 0.1, 0.95), uniform(rng, 70, 250)
    red, green, blue = (int(light * (1 - loud + loud * part)) for part in hue)
    return red, green, blue


def _carton(
    stage: Stage, rng: np.random.Generator, at: Point, width: float, height: float, depth: float
) -> None:
    """A box with its base's centre `at`, printed on the front."""
    colour = photo.jitter(rng, (178, 136, 92), 20) if rng.random() < 0.4 else package_colour(rng)
    turn = uniform(rng, -0.5, 0.5)
    along = np.asarray((np.cos(turn), 0.0, np.sin(turn))) * width / 2
    across = np.asarray((-np.sin(turn), 0.0, np.cos(turn))) * depth / 2
    up = np.asarray((0.0, height, 0.0))
    base = np.asarray(at)

    def place(a: float, b: float, c: float) -> Point:
        x, y, z = base + a * along + b * up + c * across
        return float(x), float(y), float(z)

    view = stage.camera.place - base
    left_seen = float(view @ along) < 0
    side = -1.0 if left_seen else 1.0
    stage.face(
        [place(side, 0, -1), place(side, 1, -1), place(side, 1, 1), place(side, 0, 1)],
        photo.shade(colour, 0.7),
    )
    stage.face(
        [place(-1, 1, -1), place(1, 1, -1), place(1, 1, 1), place(-1, 1, 1)],
        photo.shade(colour, 1.15),
    )
    stage.face([place(-1, 0, 1), place(1, 0, 1), place(1, 1, 1), place(-1, 1, 1)], colour)
    ink = photo.mix(package_colour(rng), colour, 0.2)
    left, low = uniform(rng, -0.85, -0.3), uniform(rng, 0.15, 0.5)
    right, high = uniform(rng, 0.2, 0.85), uniform(rng, 0.6, 0.9)
    stage.face(
        [place(left, low, 1), place(right, low, 1), place(right, high, 1), place(left, high, 1)],
        ink,
    )
    bar = photo.mix(ink, (250, 250, 250), 0.7)
    for step in range(int(rng.integers(1, 4))):
        y = low + (high - low) * (step + 0.5) / 4
        stage.face(
            [
                place(left + 0.1, y, 1),
                place(right - 0.15, y, 1),
                place(right - 0.15, y + 0.06, 1),
                place(left + 0.1, y + 0.06, 1),
            ],
            bar,
        )


def _bottle(
    stage: Stage, rng: np.random.Generator, at: Point, width: float, height: float, depth: float
) -> None:
    """A bottle: body, shoulder, neck, cap and label."""
    x, y, metre = upright(stage, at)
    radius = min(width, 0.11) / 2 * metre
    tall = height * metre
    colour = package_colour(rng)
    body = (x - radius, y - 0.66 * tall, x + radius, y + 0.2 * radius)
    pen = stage.pen
    pen.rounded_rectangle(body, radius * 0.35, fill=photo.shade(colour, 0.75))
    pen.polygon(
        [
            (x - radius, y - 0.62 * tall),
            (x - 0.34 * radius, y - 0.86 * tall),
            (x + 0.34 * radius, y - 0.86 * tall),
            (x + radius, y - 0.62 * tall),
        ],
        fill=photo.shade(colour, 0.85),
    )
    pen.rectangle((x - 0.6 * radius, body[1], x - 0.25 * radius, y), fill=photo.shade(colour, 1.25))
    pen.rectangle(
        (x - 0.4 * radius, y - tall, x + 0.4 * radius, y - 0.85 * tall), fill=package_colour(rng)
    )
    label = package_colour(rng)
    pen.rectangle((x - radius, y - 0.5 * tall, x + radius, y - 0.2 * tall), fill=label)
    pen.rectangle(
        (x - 0.5 * radius, y - 0.42 * tall, x + 0.6 * radius, y - 0.32 * tall),
        fill=photo.shade(label, 0.5),
    )


def _bag(
    stage: Stage, rng: np.random.Generator, at: Point, width: float, height: float, depth: float
) -> None:
    """A stuffed bag: an uneven outline with folds and a knot."""
    x, y, metre = upright(stage, at)
    angles = np.linspace(0, 2 * np.pi, 22, endpoint=False)
    radius = 1 + rng.normal(0, 0.06, size=angles.size)
    wide, tall = width / 2 * metre, height / 2 * metre
    outline = [
        (x + wide * r * float(np.cos(a)), y - tall * (1 + r * float(np.sin(a))))
        for a, r in zip(angles, radius, strict=True)
    ]
    colour = package_colour(rng) if rng.random() < 0.6 else photo.jitter(rng, (226, 226, 222), 20)
    pen = stage.pen
    pen.polygon(outline, fill=colour)
    for _ in range(int(rng.integers(4, 9))):
        fold = x + uniform(rng, -0.7, 0.7) * wide
        top = y - tall * uniform(rng, 1.3, 1.8)
        tone = photo.shade(colour, uniform(rng, 0.65, 1.2))
        pen.line(
            (x + 0.4 * (fold - x), top, fold, y - tall * uniform(rng, 0.2, 0.9)),
            fill=tone,
            width=max(2, round(0.008 * metre)),
        )
    pen.polygon(
        [
            (x - 0.2 * wide, y - 2.3 * tall),
            (x + 0.2 * wide, y - 2.3 * tall),
            (x, y - 1.85 * tall),
        ],
        fill=photo.shade(colour, 0.85),
    )


def _ball(
    stage: Stage, rng: np.random.Generator, at: Point, width: float, height: float, depth: float
) -> None:
    """A melon or a ball, striped."""
    x, y, metre = upright(stage, at)
    radius = min(width, height) / 2 * metre
    colour = package_colour(rng)
    pen = stage.pen
    pen.ellipse((x - radius, y - 2 * radius, x + radius, y), fill=photo.shade(colour, 0.8))
    for squeeze in (0.75, 0.35):
        pen.ellipse(
            (x - squeeze * radius, y - 2 * radius, x + squeeze * radius, y),
            outline=photo.shade(colour, 0.5),
            width=max(2, round(0.1 * radius)),
        )
    pen.ellipse(
        (x - 0.5 * radius, y - 1.75 * radius, x - 0.1 * radius, y - 1.4 * radius),
        fill=photo.mix(colour, (255, 255, 255), 0.5),
    )


_Thing = Callable[[Stage, np.random.Generator, Point, float, float, float], None]
_THINGS: tuple[_Thing, ...] = (_carton, _carton, _bottle, _bag, _ball)


def _shadow(stage: Stage, at: Point, width: float) -> None:
    """The dark patch where a thing touches the floor."""
    x, y, metre = upright(stage, at)
    wide, flat = round(width * 0.65 * metre), round(width * 0.16 * metre)
    mask = Image.new("L", (2 * wide + 1, 2 * flat + 1), 0)
    pen = ImageDraw.Draw(mask)
    for share, strength in ((1.0, 60), (0.8, 110), (0.6, 150)):
        reach = (wide * (1 - share), flat * (1 - share), wide * (1 + share), flat * (1 + share))
        pen.ellipse(reach, fill=strength)
    stage.picture.paste((16, 16, 18), (round(x) - wide, round(y) - flat), mask)


def put_down(
    stage: Stage, rng: np.random.Generator, at: Point, largest: float, shadow: bool = False
) -> None:
    """Put one thing, at most `largest` metres high, with its base at a place."""
    thing = _THINGS[rng.integers(len(_THINGS))]
    height = largest * uniform(rng, 0.6, 1.0)
    width = uniform(rng, 0.14, 0.34)
    if thing is not _bottle:
        if shadow:
            _shadow(stage, at, width)
        thing(stage, rng, at, width, height, uniform(rng, 0.12, 0.26))
        return
    for number in range(int(rng.integers(1, 5))):
        beside = (at[0] + 0.1 * number, at[1], at[2])
        if shadow:
            _shadow(stage, beside, 0.12)
        thing(stage, rng, beside, 0.1, height, 0.1)
