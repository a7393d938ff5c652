"""Drawn photos of computer keyboards: whole, with a keycap missing, or with a wrong keycap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from examples import photo
from examples.photo import Colour, uniform

LABELS = ("normal", "key_missing", "wrong_key")

_UNIT = 60
_MARGIN = 26
_COLUMNS = 13.0

_ROWS: tuple[tuple[tuple[str, float], ...], ...] = (
    (("Esc", 1), *((c, 1) for c in "1234567890"), ("Back", 2)),
    (("Tab", 1.5), *((c, 1) for c in "QWERTYUIOP"), ("\\", 1.5)),
    (("Caps", 1.75), *((c, 1) for c in "ASDFGHJKL"), ("Enter", 2.25)),
    (("Shift", 2.25), *((c, 1) for c in "ZXCVBNM,."), ("Shift", 1.75)),
)
_BOTTOM_ROWS: tuple[tuple[tuple[str, float], ...], ...] = (
    (
        ("Ctrl", 1.25),
        ("Os", 1.25),
        ("Alt", 1.25),
        ("", 5.5),
        ("Alt", 1.25),
        ("Fn", 1.25),
        ("Ctrl", 1.25),
    ),
    (("Ctrl", 1.25), ("Alt", 1.25), ("", 5.5), ("Fn", 1), ("<", 1), ("^", 1), ("v", 1), (">", 1)),
    (("Ctrl", 1.5), ("Os", 1), ("Alt", 1.5), ("", 5), ("Alt", 1.5), ("Os", 1), ("Ctrl", 1.5)),
)
_FUNCTION_ROW: tuple[tuple[str, float], ...] = tuple((f"F{n}", 1.0) for n in range(1, 14))


@dataclass(frozen=True)
class _Scheme:
    case: Colour
    letters: Colour
    modifiers: Colour


_SCHEMES = (
    _Scheme((38, 38, 40), (52, 52, 55), (46, 46, 50)),
    _Scheme((30, 30, 32), (74, 76, 80), (54, 56, 60)),
    _Scheme((205, 205, 205), (236, 236, 234), (214, 214, 212)),
    _Scheme((212, 204, 184), (232, 226, 208), (190, 183, 166)),
    _Scheme((150, 154, 160), (48, 49, 52), (48, 49, 52)),
    _Scheme((170, 172, 176), (228, 230, 232), (228, 230, 232)),
    _Scheme((48, 56, 74), (88, 104, 134), (64, 76, 102)),
    _Scheme((226, 222, 226), (232, 206, 210), (214, 182, 190)),
    _Scheme((60, 66, 60), (196, 206, 188), (120, 138, 116)),
)

_SPARE_COLOURS: tuple[Colour, ...] = (
    (204, 44, 40),
    (238, 126, 32),
    (240, 204, 48),
    (62, 160, 72),
    (40, 150, 170),
    (46, 92, 196),
    (124, 66, 168),
    (232, 96, 150),
    (244, 244, 240),
    (26, 26, 28),
)
_LEAST_CONTRAST = 240.0
_SWITCH_COLOURS: tuple[Colour, ...] = (
    (196, 48, 44),
    (58, 106, 190),
    (120, 76, 48),
    (225, 225, 220),
)


@dataclass(frozen=True)
class _Key:
    legend: str
    left: float
    top: float
    width: float
    modifier: bool


def _layout(rng: np.random.Generator) -> tuple[list[_Key], float]:
    """The keys, in units of one keycap, and how many rows they fill."""
    rows = [*_ROWS, _BOTTOM_ROWS[rng.integers(len(_BOTTOM_ROWS))]]
    keys: list[_Key] = []
    top = 0.0
    if rng.random() < 0.3:
        rows = [_FUNCTION_ROW, *rows]
    for row in rows:
        left = 0.0
        for legend, width in row:
            keys.append(_Key(legend, left, top, width, len(legend) > 1))
            left += width
        top += 1.25 if row is _FUNCTION_ROW else 1.0
    return keys, top


def _ink(colour: Colour) -> Colour:
    """A legend's colour that can be read on the keycap."""
    return (34, 34, 36) if sum(colour) > 390 else (226, 226, 226)


def _legend_box(
    key: _Key, centred: bool, box: tuple[float, float, float, float]
) -> tuple[float, float, str]:
    left, top, right, bottom = box
    if centred:
        return (left + right) / 2, (top + bottom) / 2, "mm"
    return left + 6, top + 4, "la"


@dataclass(frozen=True)
class _Cap:
    """How the caps of one set are made: the slope of their sides and the corner's radius."""

    side: float
    front: float
    radius: int
    gap: float
    centred: bool


def _box(key: _Key) -> tuple[float, float, float, float]:
    left = _MARGIN + key.left * _UNIT
    top = _MARGIN + key.top * _UNIT
    return left, top, left + key.width * _UNIT, top + _UNIT


def _draw_cap(
    draw: ImageDraw.ImageDraw,
    key: _Key,
    cap: _Cap,
    colour: Colour,
    ink: Colour,
    sag: float = 0.0,
    grow: float = 0.0,
) -> tuple[float, float, float, float]:
    """Draw one keycap and its legend; returns the box of its top face in pixels."""
    left, top, right, bottom = _box(key)
    gap = cap.gap - grow
    base = (left + gap, top + gap, right - gap, bottom - gap)
    draw.rounded_rectangle(base, cap.radius, fill=photo.shade(colour, 0.58))
    side = cap.side
    face = (
        left + gap + side,
        top + gap + side * 0.45 - sag,
        right - gap - side,
        bottom - gap - cap.front - sag,
    )
    draw.rounded_rectangle(
        (face[0] - side * 0.5, face[1], face[2] + side * 0.5, base[3] - 2),
        cap.radius,
        fill=photo.shade(colour, 0.8),
    )
    draw.rounded_rectangle(face, cap.radius, fill=colour)
    draw.line(
        [(face[0] + cap.radius, face[1] + 1), (face[2] - cap.radius, face[1] + 1)],
        fill=photo.mix(colour, (255, 255, 255), 0.3),
        width=2,
    )
    if key.legend:
        x, y, anchor = _legend_box(key, cap.centred, face)
        font = ImageFont.load_default(size=13 if key.modifier else 22)
        draw.text((x, y), key.legend, fill=ink, font=font, anchor=anchor)
    return face


def _draw_well(draw: ImageDraw.ImageDraw, key: _Key, plate: Colour, stem: Colour) -> None:
    """Draw the dark hole that a missing keycap leaves, with its switch and stem."""
    left, top, right, bottom = _box(key)
    draw.rectangle((left, top, right, bottom), fill=photo.shade(plate, 0.35))
    draw.rectangle((left + 2, top + 5, right - 2, bottom - 1), fill=photo.shade(plate, 0.55))
    x, y = (left + right) / 2, (top + bottom) / 2
    housing = (24, 24, 26) if sum(plate) > 240 else (92, 94, 98)
    draw.rounded_rectangle((x - 21, y - 21, x + 21, y + 21), 3, fill=photo.shade(housing, 0.6))
    draw.rounded_rectangle((x - 17, y - 18, x + 17, y + 16), 3, fill=housing)
    draw.rectangle((x - 10, y - 10, x + 10, y + 10), fill=photo.shade(stem, 0.65))
    draw.rectangle((x - 9, y - 3, x + 9, y + 3), fill=stem)
    draw.rectangle((x - 3, y - 9, x + 3, y + 9), fill=stem)


def _wrong_colour(rng: np.random.Generator, scheme: _Scheme) -> Colour:
    """A spare keycap's colour that differs clearly from the set's own."""
    own = (scheme.letters, scheme.modifiers)
    spare = [
        colour
        for colour in _SPARE_COLOURS
        if min(photo.distance(colour, other) for other in own) > _LEAST_CONTRAST
    ]
    return photo.jitter(rng, spare[rng.integers(len(spare))], 14)


def _draw_wrong_cap(
    picture: Image.Image, rng: np.random.Generator, key: _Key, cap: _Cap, scheme: _Scheme
) -> None:
    """Draw a keycap of another set: another colour, often taller, turned, or of another shape."""
    colour = _wrong_colour(rng, scheme)
    ink = _ink(colour)
    draw = ImageDraw.Draw(picture)
    left, top, right, bottom = _box(key)
    if rng.random() < 0.5:
        other = _Cap(
            side=uniform(rng, 3, 9),
            front=uniform(rng, 6, 14),
            radius=int(rng.integers(3, 22)),
            gap=cap.gap,
            centred=not cap.centred,
        )
    else:
        other = cap
    raised = rng.random() < 0.5
    if raised:
        draw.rounded_rectangle((left + 3, top + 4, right + 7, bottom + 7), 8, fill=(14, 14, 16))
    _draw_cap(
        draw, key, other, colour, ink, sag=6.0 if raised else 0.0, grow=2.0 if raised else 0.0
    )
    if rng.random() < 0.5:
        corner = (int(left) + 1, int(top) + 1, int(right) - 1, int(bottom) - 1)
        turned = picture.crop(corner).transpose(Image.Transpose.ROTATE_180)
        picture.paste(turned, corner[:2])


def _board(rng: np.random.Generator, defect: np.random.Generator, label: str) -> Image.Image:
    """The keyboard from straight above, mode RGBA, on a clear ground."""
    scheme = _SCHEMES[rng.integers(len(_SCHEMES))]
    scheme = _Scheme(
        *(photo.jitter(rng, c, 10) for c in (scheme.case, scheme.letters, scheme.modifiers))
    )
    cap = _Cap(
        side=uniform(rng, 3, 8),
        front=uniform(rng, 6, 14),
        radius=int(rng.integers(3, 9)),
        gap=uniform(rng, 1.5, 3.5),
        centred=bool(rng.random() < 0.5),
    )
    keys, rows = _layout(rng)
    width = int(_COLUMNS * _UNIT + 2 * _MARGIN)
    height = int(rows * _UNIT + 2 * _MARGIN)
    board = Image.new("RGBA", (width + 8, height + 8), (0, 0, 0, 0))
    draw = ImageDraw.Draw(board)
    corner = int(rng.integers(6, 26))
    frame = (4, 4, width + 3, height + 3)
    draw.rounded_rectangle(frame, corner, fill=photo.shade(scheme.case, 0.7))
    draw.rounded_rectangle((6, 5, width + 1, height - 3), corner, fill=scheme.case)
    plate = photo.shade(scheme.case, 0.55)
    inner = (_MARGIN - 5, _MARGIN - 5, width - _MARGIN + 5, height - _MARGIN + 5)
    draw.rounded_rectangle(inner, 6, fill=plate)

    choices = [number for number, key in enumerate(keys) if key.width < 3]
    chosen = choices[defect.integers(len(choices))] if label != "normal" else -1
    for number, key in enumerate(keys):
        if number == chosen:
            continue
        colour = scheme.modifiers if key.modifier or not key.legend else scheme.letters
        _draw_cap(draw, key, cap, photo.jitter(rng, colour, 4), _ink(colour))
    if label == "key_missing":
        stem = _SWITCH_COLOURS[defect.integers(len(_SWITCH_COLOURS))]
        _draw_well(draw, keys[chosen], plate, stem)
    elif label == "wrong_key":
        _draw_wrong_cap(board, defect, keys[chosen], cap, scheme)
    return board


def _corners(
    rng: np.random.Generator, board: tuple[int, int], size: tuple[int, int]
) -> list[tuple[float, float]]:
    """Where the board's corners lie in the picture, seen by a camera from above at an angle."""
    half = np.asarray(board, dtype=np.float64) / board[0]
    flat = np.asarray([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]) * (*half, 0)
    roll = np.deg2rad(rng.normal(0, 6))
    tilt = np.deg2rad(uniform(rng, 0, 42))
    yaw = np.deg2rad(uniform(rng, -16, 16))
    cos, sin = np.cos, np.sin
    turn_z = np.asarray([[cos(roll), -sin(roll), 0], [sin(roll), cos(roll), 0], [0, 0, 1]])
    turn_x = np.asarray([[1, 0, 0], [0, cos(tilt), -sin(tilt)], [0, sin(tilt), cos(tilt)]])
    turn_y = np.asarray([[cos(yaw), 0, sin(yaw)], [0, 1, 0], [-sin(yaw), 0, cos(yaw)]])
    points = flat @ (turn_y @ turn_x @ turn_z).T
    depth = uniform(rng, 3.2, 6.0)
    seen = points[:, :2] * (depth / (depth - points[:, 2:3]))
    low, high = seen.min(axis=0), seen.max(axis=0)
    extent = high - low
    scale = uniform(rng, 0.84, 0.99) * min(size[0] / extent[0], size[1] / extent[1])
    room = np.asarray(size) - extent * scale
    place = room * rng.uniform(0.02, 0.98, size=2)
    return [(float(x), float(y)) for x, y in (seen - low) * scale + place]


def _clutter(rng: np.random.Generator, picture: Image.Image) -> None:
    """Put a few things of a desk on the table: sheets, pens, a mouse, a cup."""
    draw = ImageDraw.Draw(picture)
    width, height = picture.size
    for _ in range(int(rng.integers(0, 5))):
        x, y = uniform(rng, 0, width), uniform(rng, 0, height)
        reach = uniform(rng, 0.05, 0.2) * width
        angle = uniform(rng, 0, np.pi)
        along = np.asarray([np.cos(angle), np.sin(angle)])
        across = np.asarray([-along[1], along[0]])
        colour = photo.jitter(rng, (130, 130, 130), 115)
        kind = rng.integers(4)
        if kind == 0:
            sheet = photo.jitter(rng, (232, 230, 224), 18)
            sides = [(-1, -1.4), (1, -1.4), (1, 1.4), (-1, 1.4)]
            corners = [np.asarray((x, y)) + reach * (a * along + b * across) for a, b in sides]
            draw.polygon([(float(p[0]), float(p[1])) for p in corners], fill=sheet)
            for line in range(-9, 10, 2):
                start = np.asarray((x, y)) + reach * (-0.8 * along + line / 8 * across)
                end = start + reach * uniform(rng, 0.9, 1.6) * along
                draw.line([*start, *end], fill=photo.shade(sheet, 0.7), width=2)
        elif kind == 1:
            start, end = np.asarray((x, y)) - reach * along, np.asarray((x, y)) + reach * along
            draw.line([*start, *end], fill=colour, width=max(4, width // 90))
            draw.line(
                [*(end - 0.2 * reach * along), *end], fill=(40, 40, 42), width=max(3, width // 110)
            )
        elif kind == 2:
            spot = (x - 0.4 * reach, y - 0.65 * reach, x + 0.4 * reach, y + 0.65 * reach)
            draw.ellipse(spot, fill=photo.shade(colour, 0.6))
            draw.ellipse((spot[0] + 2, spot[1] + 2, spot[2] - 3, spot[3] - 4), fill=colour)
            draw.line([x, spot[1], x, y - 0.1 * reach], fill=photo.shade(colour, 0.5), width=2)
        else:
            for ring, tone in ((0.6, 0.55), (0.56, 1.0), (0.46, 0.4)):
                spot = (x - ring * reach, y - ring * reach, x + ring * reach, y + ring * reach)
                draw.ellipse(spot, fill=photo.shade(colour, tone))


def draw(rng: np.random.Generator, label: str, size: tuple[int, int] = (640, 480)) -> Image.Image:
    """One photo-like picture of a keyboard.

    Args:
        rng: the source of chance; the same state gives the same picture.
        label: one of `LABELS`.
        size: width and height in pixels.

    Returns:
        A picture in mode RGB.
    """
    defect = rng.spawn(1)[0]
    picture = photo.surface(rng, size)
    _clutter(rng, picture)
    board = _board(rng, defect, label)
    corners = _corners(rng, board.size, size)
    drop = size[0] / 60
    shadow_x = uniform(rng, -drop, drop)
    photo.cast_shadow(
        picture, [(x + shadow_x, y + 0.7 * drop) for x, y in corners], drop, uniform(rng, 0.3, 0.7)
    )
    source = [
        (0.0, 0.0),
        (float(board.width), 0.0),
        (float(board.width), float(board.height)),
        (0.0, float(board.height)),
    ]
    scale = 2 if corners[1][0] - corners[0][0] < board.width * 0.45 else 1
    if scale > 1:
        board = board.reduce(scale)
        source = [(x / scale, y / scale) for x, y in source]
    seen = board.transform(
        size,
        Image.Transform.PERSPECTIVE,
        photo.homography(source, corners),
        Image.Resampling.BILINEAR,
    )
    picture.paste(seen, (0, 0), seen)
    return photo.expose(rng, picture)
