"""Drawn photos of shopping carts at a till: the lower tray empty, or with goods on it.

The scene is built in metres and seen by a pinhole camera: X runs along the cart, Y up from the
floor, Z from the cart towards the camera. In both classes goods lie in the basket above, and
things stand on the floor behind and beside the cart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageFilter

from examples import photo
from examples.goods import package_colour, put_down
from examples.photo import Colour, uniform
from examples.stage import Camera, Point, Stage, upright

LABELS = ("empty", "with_goods")

_FINER = 2
_COARSER = 0.5
_LENGTH = 0.46
_DEPTH = 0.24
_TRAY = 0.17
_BASKET = 0.52
_RIM = 0.98


def _camera(rng: np.random.Generator, size: tuple[int, int]) -> Camera:
    around = np.deg2rad(uniform(rng, -28, 28))
    above = np.deg2rad(uniform(rng, 8, 22))
    away = uniform(rng, 1.7, 2.4)
    target = np.asarray((uniform(rng, -0.1, 0.1), uniform(rng, 0.24, 0.42), 0.0))
    forward = -np.asarray(
        (np.sin(around) * np.cos(above), np.sin(above), np.cos(around) * np.cos(above))
    )
    right = np.cross(forward, (0.0, 1.0, 0.0))
    right /= np.linalg.norm(right)
    down = np.cross(forward, right)
    roll = np.deg2rad(rng.normal(0, 2.5))
    axes = np.stack(
        (
            np.cos(roll) * right + np.sin(roll) * down,
            np.cos(roll) * down - np.sin(roll) * right,
            forward,
        )
    )
    return Camera(
        place=target - away * forward,
        axes=axes,
        scale=uniform(rng, 0.62, 0.78) * size[0] * away / (2 * _LENGTH),
        centre=(size[0] * uniform(rng, 0.42, 0.58), size[1] * uniform(rng, 0.46, 0.62)),
    )


def _shop(rng: np.random.Generator, size: tuple[int, int], camera: Camera) -> Image.Image:
    """The floor and, behind it, shelves or a plain wall, out of focus."""
    tone = photo.jitter(
        rng,
        [(188, 184, 176), (140, 140, 142), (208, 204, 200), (120, 106, 94)][rng.integers(4)],
        20,
    )
    field = 0.7 * photo.smooth_noise(rng, size, (9, 7)) + 0.3 * photo.smooth_noise(
        rng, size, (90, 70)
    )
    stage = Stage(photo.colour_map(field, photo.shade(tone, 0.85), photo.shade(tone, 1.1)), camera)
    tile = uniform(rng, 0.25, 0.6)
    start = uniform(rng, 0, tile)
    joint = photo.shade(tone, uniform(rng, 0.75, 0.97))
    for number in range(-14, 15):
        place = start + number * tile
        stage.rod((place, 0, -3.5), (place, 0, 1.2), 0.004, joint)
        if -3.5 < place < 1.2:
            stage.rod((-5, 0, place), (5, 0, place), 0.004, joint)
    back = uniform(rng, -3.2, -1.3)
    wall = photo.jitter(rng, (150, 150, 150), 70)
    stage.face([(-6, 0, back), (6, 0, back), (6, 3, back), (-6, 3, back)], wall)
    if rng.random() < 0.75:
        level = uniform(rng, 0.05, 0.2)
        while level < 2.0:
            rise = uniform(rng, 0.25, 0.45)
            x = -3.0
            while x < 3.0:
                wide = uniform(rng, 0.1, 0.35)
                colour = package_colour(rng)
                for _ in range(int(rng.integers(1, 4))):
                    tall = rise * uniform(rng, 0.55, 0.9)
                    stage.face(
                        [
                            (x, level, back),
                            (x + wide * 0.92, level, back),
                            (x + wide * 0.92, level + tall, back),
                            (x, level + tall, back),
                        ],
                        colour,
                    )
                    x += wide
            stage.rod(
                (-4, level, back + 0.02), (4, level, back + 0.02), 0.03, photo.shade(wall, 0.6)
            )
            level += rise
    _behind(stage, rng)
    return stage.picture.filter(ImageFilter.GaussianBlur(uniform(rng, 1.0, 2.6) * size[0] / 640))


def _wheel(stage: Stage, at: Point, metal: Colour) -> None:
    x, y, metre = upright(stage, at)
    radius = 0.06 * metre
    stage.rod((at[0], _TRAY, at[2]), (at[0], 0.06, at[2]), 0.03, metal)
    stage.pen.ellipse((x - radius, y - 2 * radius, x + radius, y), fill=(30, 30, 32))
    stage.pen.ellipse(
        (x - 0.5 * radius, y - 1.5 * radius, x + 0.5 * radius, y - 0.5 * radius),
        fill=photo.shade(metal, 0.8),
    )


def _grid(
    stage: Stage,
    corners: Sequence[Point],
    counts: tuple[int, int],
    thickness: float,
    metal: Colour,
) -> None:
    """Wires across a quadrilateral, `counts` of them either way, its edges included."""
    first, second, third, fourth = (np.asarray(corner) for corner in corners)
    for count, ends in (
        (counts[0], ((first, second), (fourth, third))),
        (counts[1], ((first, fourth), (second, third))),
    ):
        (a, b), (c, d) = ends
        for share in np.linspace(0, 1, count):
            start, end = a + (b - a) * share, c + (d - c) * share
            stage.rod(
                (float(start[0]), float(start[1]), float(start[2])),
                (float(end[0]), float(end[1]), float(end[2])),
                thickness,
                metal,
            )


@dataclass(frozen=True)
class _Cart:
    metal: Colour
    plastic: Colour
    wires: int
    bars: int
    lean: float


def _rear(stage: Stage, cart: _Cart) -> None:
    """What lies behind the goods: far wheels, far posts, the tray itself."""
    for x in (-_LENGTH, _LENGTH):
        _wheel(stage, (x, 0, -_DEPTH), cart.metal)
    tray = [
        (-_LENGTH, _TRAY, -_DEPTH),
        (_LENGTH, _TRAY, -_DEPTH),
        (_LENGTH, _TRAY, _DEPTH),
        (-_LENGTH, _TRAY, _DEPTH),
    ]
    _grid(stage, tray, (cart.wires, cart.bars), 0.007, cart.metal)
    for start, end in zip(tray, [*tray[1:], tray[0]], strict=True):
        stage.rod(start, end, 0.02, cart.metal)
    stage.rod(
        (-_LENGTH, _TRAY + 0.07, -_DEPTH), (_LENGTH, _TRAY + 0.07, -_DEPTH), 0.008, cart.metal
    )
    stage.rod((_LENGTH, _TRAY, -_DEPTH), (_LENGTH + cart.lean, _RIM, -_DEPTH), 0.026, cart.metal)
    stage.rod((-_LENGTH, _TRAY, -_DEPTH), (-_LENGTH + 0.06, _BASKET, -_DEPTH), 0.022, cart.metal)


def _front(stage: Stage, cart: _Cart) -> None:
    """What lies before the goods: the near rim, the near posts and wheels, the near basket wall."""
    for height in (0.045, 0.09):
        stage.rod(
            (-_LENGTH, _TRAY + height, _DEPTH), (_LENGTH, _TRAY + height, _DEPTH), 0.007, cart.metal
        )
    for x in np.linspace(-_LENGTH, _LENGTH, cart.bars + 2):
        stage.rod((float(x), _TRAY, _DEPTH), (float(x), _TRAY + 0.09, _DEPTH), 0.006, cart.metal)
    for x in (-_LENGTH, _LENGTH):
        _wheel(stage, (x, 0, _DEPTH), cart.metal)
    stage.rod((_LENGTH, _TRAY, _DEPTH), (_LENGTH + cart.lean, _RIM, _DEPTH), 0.028, cart.metal)
    stage.rod((-_LENGTH, _TRAY, _DEPTH), (-_LENGTH + 0.06, _BASKET, _DEPTH), 0.024, cart.metal)


def _basket_corners(cart: _Cart, z: float) -> list[Point]:
    return [
        (-_LENGTH + 0.02, _BASKET, z),
        (_LENGTH + 0.03, _BASKET, z),
        (_LENGTH + cart.lean, _RIM, z),
        (-_LENGTH - 0.06, _RIM, z),
    ]


def _basket(stage: Stage, rng: np.random.Generator, cart: _Cart) -> None:
    """The basket above, with goods in it as often as not."""
    far, near = _basket_corners(cart, -_DEPTH - 0.03), _basket_corners(cart, _DEPTH + 0.03)
    _grid(stage, far, (cart.wires, cart.bars + 4), 0.006, cart.metal)
    _grid(stage, [far[0], far[1], near[1], near[0]], (cart.wires, cart.bars), 0.006, cart.metal)
    if rng.random() < 0.6:
        for z in (-0.12, 0.08):
            for _ in range(int(rng.integers(1, 4))):
                put_down(stage, rng, (uniform(rng, -0.34, 0.32), _BASKET, z), 0.36)
    _grid(stage, near, (cart.wires, cart.bars + 4), 0.007, cart.metal)
    stage.rod(near[0], near[1], 0.016, cart.metal)
    stage.rod(near[3], near[2], 0.03, cart.plastic)


def _behind(stage: Stage, rng: np.random.Generator) -> None:
    """Things on the floor behind the cart, to be drawn out of focus."""
    for _ in range(int(rng.integers(0, 4))):
        at = (uniform(rng, -1.5, 1.5), 0.0, uniform(rng, -1.25, -0.8))
        put_down(stage, rng, at, 0.4, shadow=True)


def _beside(stage: Stage, rng: np.random.Generator) -> None:
    """Things on the floor at the cart's sides."""
    for side in (-1, 1):
        if rng.random() < 0.35:
            at = (side * uniform(rng, 0.78, 1.0), 0.0, uniform(rng, -0.5, 0.1))
            put_down(stage, rng, at, 0.45, shadow=True)


def _load(stage: Stage, rng: np.random.Generator) -> None:
    """Put two to four things on the tray, the far ones first."""
    count = int(rng.integers(2, 5))
    places = np.linspace(-0.3, 0.3, 4)
    chosen = rng.choice(4, size=count, replace=False)
    depths = np.sort(rng.uniform(-0.12, 0.1, size=count))
    for z, number in zip(depths, chosen, strict=True):
        x = float(places[number]) + uniform(rng, -0.05, 0.05)
        put_down(stage, rng, (x, _TRAY, float(z)), 0.32)


def draw(rng: np.random.Generator, label: str, size: tuple[int, int] = (640, 480)) -> Image.Image:
    """One photo-like picture of a shopping cart's lower part.

    Args:
        rng: the source of chance; the same state gives the same picture.
        label: one of `LABELS`.
        size: width and height in pixels.

    Returns:
        A picture in mode RGB.
    """
    goods = rng.spawn(1)[0]
    camera = _camera(rng, size)
    coarse = (round(size[0] * _COARSER), round(size[1] * _COARSER))
    distant = camera.times(_COARSER)
    shop = _shop(rng, coarse, distant)
    foot = [(-0.55, 0, -0.3), (0.55, 0, -0.3), (0.55, 0, 0.32), (-0.55, 0, 0.32)]
    photo.cast_shadow(
        shop, [distant.pixel(point) for point in foot], coarse[0] / 40, uniform(rng, 0.25, 0.6)
    )
    fine = (size[0] * _FINER, size[1] * _FINER)
    stage = Stage(shop.resize(fine, Image.Resampling.BILINEAR), camera.times(_FINER))
    steel = photo.jitter(
        rng, [(176, 180, 186), (120, 124, 130), (206, 208, 212), (70, 74, 80)][rng.integers(4)], 12
    )
    cart = _Cart(
        metal=steel,
        plastic=package_colour(rng),
        wires=int(rng.integers(11, 21)),
        bars=int(rng.integers(3, 6)),
        lean=uniform(rng, 0.02, 0.14),
    )
    _beside(stage, rng)
    _rear(stage, cart)
    if label == "with_goods":
        _load(stage, goods)
    _front(stage, cart)
    _basket(stage, rng, cart)
    return photo.expose(rng, stage.picture.reduce(_FINER))
