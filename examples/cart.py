"""Drawn photos of shopping carts at a till: the lower tray empty, or with goods on it.

The scene is built in metres and seen by a pinhole camera: X runs along the cart, Y up from the
floor, Z from the cart towards the camera. In both classes goods lie in the basket above, and
things stand on the floor behind and beside the cart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFilter

from examples import photo
from examples.photo import Colour, uniform

LABELS = ("empty", "with_goods")

Point = tuple[float, float, float]
Pixel = tuple[float, float]
Matrix = npt.NDArray[np.float64]

_FINER = 2
_COARSER = 0.5
_LENGTH = 0.46
_DEPTH = 0.24
_TRAY = 0.17
_BASKET = 0.52
_RIM = 0.98


@dataclass(frozen=True)
class _Camera:
    """A pinhole camera: its place, its axes (rows: right, down, forward), its scale in pixels."""

    place: Matrix
    axes: Matrix
    scale: float
    centre: Pixel

    def pixel(self, point: Point) -> Pixel:
        right, down, forward = self.axes @ (np.asarray(point) - self.place)
        near = max(0.05, float(forward))
        return (
            self.centre[0] + self.scale * float(right) / near,
            self.centre[1] + self.scale * float(down) / near,
        )

    def reach(self, point: Point, metres: float) -> float:
        """How many pixels a length takes at a place."""
        forward = float(self.axes[2] @ (np.asarray(point) - self.place))
        return self.scale * metres / max(0.05, forward)

    def times(self, factor: float) -> _Camera:
        """The same view for a picture `factor` times as large."""
        centre = (self.centre[0] * factor, self.centre[1] * factor)
        return _Camera(self.place, self.axes, self.scale * factor, centre)


def _camera(rng: np.random.Generator, size: tuple[int, int]) -> _Camera:
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
    return _Camera(
        place=target - away * forward,
        axes=axes,
        scale=uniform(rng, 0.62, 0.78) * size[0] * away / (2 * _LENGTH),
        centre=(size[0] * uniform(rng, 0.42, 0.58), size[1] * uniform(rng, 0.46, 0.62)),
    )


class _Stage:
    """A picture and the camera that looks at it."""

    def __init__(self, picture: Image.Image, camera: _Camera) -> None:
        self.picture = picture
        self.camera = camera
        self.pen = ImageDraw.Draw(picture)

    def face(self, points: Sequence[Point], fill: Colour) -> None:
        self.pen.polygon([self.camera.pixel(point) for point in points], fill=fill)

    def rod(self, start: Point, end: Point, thickness: float, metal: Colour) -> None:
        """A round bar of `thickness` metres with a bright and a dark side."""
        line = (*self.camera.pixel(start), *self.camera.pixel(end))
        middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, (start[2] + end[2]) / 2)
        width = max(1, round(self.camera.reach(middle, thickness)))
        self.pen.line(line, fill=photo.shade(metal, 0.55), width=width + 1)
        self.pen.line(
            (line[0], line[1] - 1, line[2], line[3] - 1), fill=metal, width=max(1, width - 1)
        )
        if width > 4:
            self.pen.line(
                (line[0], line[1] - width // 4, line[2], line[3] - width // 4),
                fill=photo.mix(metal, (255, 255, 255), 0.6),
                width=max(1, width // 4),
            )


def _vivid(rng: np.random.Generator) -> Colour:
    """The colour of a package: anything between grey, white and loud."""
    hue = rng.uniform(0, 1, size=3)
    hue = (hue - hue.min()) / max(1e-6, float(hue.max() - hue.min()))
    loud, light = uniform(rng, 0.1, 0.95), uniform(rng, 70, 250)
    red, green, blue = (int(light * (1 - loud + loud * part)) for part in hue)
    return red, green, blue


def _carton(
    stage: _Stage, rng: np.random.Generator, at: Point, width: float, height: float, depth: float
) -> None:
    """A box with its base's centre `at`, printed on the front."""
    colour = photo.jitter(rng, (178, 136, 92), 20) if rng.random() < 0.4 else _vivid(rng)
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
    ink = photo.mix(_vivid(rng), colour, 0.2)
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


def _upright(stage: _Stage, at: Point) -> tuple[float, float, float]:
    """The pixel of a base point and how many pixels a metre takes there."""
    x, y = stage.camera.pixel(at)
    return x, y, stage.camera.reach(at, 1.0)


def _bottle(
    stage: _Stage, rng: np.random.Generator, at: Point, width: float, height: float, depth: float
) -> None:
    """A bottle: body, shoulder, neck, cap and label."""
    x, y, metre = _upright(stage, at)
    radius = min(width, 0.11) / 2 * metre
    tall = height * metre
    colour = _vivid(rng)
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
    pen.rectangle((x - 0.4 * radius, y - tall, x + 0.4 * radius, y - 0.85 * tall), fill=_vivid(rng))
    label = _vivid(rng)
    pen.rectangle((x - radius, y - 0.5 * tall, x + radius, y - 0.2 * tall), fill=label)
    pen.rectangle(
        (x - 0.5 * radius, y - 0.42 * tall, x + 0.6 * radius, y - 0.32 * tall),
        fill=photo.shade(label, 0.5),
    )


def _bag(
    stage: _Stage, rng: np.random.Generator, at: Point, width: float, height: float, depth: float
) -> None:
    """A stuffed bag: an uneven outline with folds and a knot."""
    x, y, metre = _upright(stage, at)
    angles = np.linspace(0, 2 * np.pi, 22, endpoint=False)
    radius = 1 + rng.normal(0, 0.06, size=angles.size)
    wide, tall = width / 2 * metre, height / 2 * metre
    outline = [
        (x + wide * r * float(np.cos(a)), y - tall * (1 + r * float(np.sin(a))))
        for a, r in zip(angles, radius, strict=True)
    ]
    colour = _vivid(rng) if rng.random() < 0.6 else photo.jitter(rng, (226, 226, 222), 20)
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
    stage: _Stage, rng: np.random.Generator, at: Point, width: float, height: float, depth: float
) -> None:
    """A melon or a ball, striped."""
    x, y, metre = _upright(stage, at)
    radius = min(width, height) / 2 * metre
    colour = _vivid(rng)
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


_Thing = Callable[[_Stage, np.random.Generator, Point, float, float, float], None]
_THINGS: tuple[_Thing, ...] = (_carton, _carton, _bottle, _bag, _ball)


def _shadow(stage: _Stage, at: Point, width: float) -> None:
    """The dark patch where a thing touches the floor."""
    x, y, metre = _upright(stage, at)
    wide, flat = round(width * 0.65 * metre), round(width * 0.16 * metre)
    mask = Image.new("L", (2 * wide + 1, 2 * flat + 1), 0)
    pen = ImageDraw.Draw(mask)
    for share, strength in ((1.0, 60), (0.8, 110), (0.6, 150)):
        reach = (wide * (1 - share), flat * (1 - share), wide * (1 + share), flat * (1 + share))
        pen.ellipse(reach, fill=strength)
    stage.picture.paste((16, 16, 18), (round(x) - wide, round(y) - flat), mask)


def _put(
    stage: _Stage, rng: np.random.Generator, at: Point, largest: float, shadow: bool = False
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


def _shop(rng: np.random.Generator, size: tuple[int, int], camera: _Camera) -> Image.Image:
    """The floor and, behind it, shelves or a plain wall, out of focus."""
    tone = photo.jitter(
        rng,
        [(188, 184, 176), (140, 140, 142), (208, 204, 200), (120, 106, 94)][rng.integers(4)],
        20,
    )
    field = 0.7 * photo.smooth_noise(rng, size, (9, 7)) + 0.3 * photo.smooth_noise(
        rng, size, (90, 70)
    )
    stage = _Stage(photo.colour_map(field, photo.shade(tone, 0.85), photo.shade(tone, 1.1)), camera)
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
                colour = _vivid(rng)
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


def _wheel(stage: _Stage, at: Point, metal: Colour) -> None:
    x, y, metre = _upright(stage, at)
    radius = 0.06 * metre
    stage.rod((at[0], _TRAY, at[2]), (at[0], 0.06, at[2]), 0.03, metal)
    stage.pen.ellipse((x - radius, y - 2 * radius, x + radius, y), fill=(30, 30, 32))
    stage.pen.ellipse(
        (x - 0.5 * radius, y - 1.5 * radius, x + 0.5 * radius, y - 0.5 * radius),
        fill=photo.shade(metal, 0.8),
    )


def _grid(
    stage: _Stage,
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


def _rear(stage: _Stage, cart: _Cart) -> None:
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


def _front(stage: _Stage, cart: _Cart) -> None:
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


def _basket(stage: _Stage, rng: np.random.Generator, cart: _Cart) -> None:
    """The basket above, with goods in it as often as not."""
    far, near = _basket_corners(cart, -_DEPTH - 0.03), _basket_corners(cart, _DEPTH + 0.03)
    _grid(stage, far, (cart.wires, cart.bars + 4), 0.006, cart.metal)
    _grid(stage, [far[0], far[1], near[1], near[0]], (cart.wires, cart.bars), 0.006, cart.metal)
    if rng.random() < 0.6:
        for z in (-0.12, 0.08):
            for _ in range(int(rng.integers(1, 4))):
                _put(stage, rng, (uniform(rng, -0.34, 0.32), _BASKET, z), 0.36)
    _grid(stage, near, (cart.wires, cart.bars + 4), 0.007, cart.metal)
    stage.rod(near[0], near[1], 0.016, cart.metal)
    stage.rod(near[3], near[2], 0.03, cart.plastic)


def _behind(stage: _Stage, rng: np.random.Generator) -> None:
    """Things on the floor behind the cart, to be drawn out of focus."""
    for _ in range(int(rng.integers(0, 4))):
        at = (uniform(rng, -1.5, 1.5), 0.0, uniform(rng, -1.25, -0.8))
        _put(stage, rng, at, 0.4, shadow=True)


def _beside(stage: _Stage, rng: np.random.Generator) -> None:
    """Things on the floor at the cart's sides."""
    for side in (-1, 1):
        if rng.random() < 0.35:
            at = (side * uniform(rng, 0.78, 1.0), 0.0, uniform(rng, -0.5, 0.1))
            _put(stage, rng, at, 0.45, shadow=True)


def _load(stage: _Stage, rng: np.random.Generator) -> None:
    """Put two to four things on the tray, the far ones first."""
    count = int(rng.integers(2, 5))
    places = np.linspace(-0.3, 0.3, 4)
    chosen = rng.choice(4, size=count, replace=False)
    depths = np.sort(rng.uniform(-0.12, 0.1, size=count))
    for z, number in zip(depths, chosen, strict=True):
        x = float(places[number]) + uniform(rng, -0.05, 0.05)
        _put(stage, rng, (x, _TRAY, float(z)), 0.32)


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
    stage = _Stage(shop.resize(fine, Image.Resampling.BILINEAR), camera.times(_FINER))
    steel = photo.jitter(
        rng, [(176, 180, 186), (120, 124, 130), (206, 208, 212), (70, 74, 80)][rng.integers(4)], 12
    )
    cart = _Cart(
        metal=steel,
        plastic=_vivid(rng),
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
