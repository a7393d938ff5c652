"""Drawn photos of computer keyboards: whole, with a keycap missing, or with a wrong keycap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from examples import photo
from examples.photo import Colour, uniform

LABELS = ("normal", "key_missing", "wrong_key")

_UNIT = 60
_MARGIN = 24
_COLUMNS = 10.0

_ROWS: tuple[tuple[tuple[str, float], ...], ...] = (
    tuple((c, 1.0) for c in "1234567890"),
    tuple((c, 1.0) for c in "QWERTYUIOP"),
    (*((c, 1.0) for c in "ASDFGHJKL"), ("Ret", 1.0)),
    (("Shift", 1.0), *((c, 1.0) for c in "ZXCVBNM,"), ("Del", 1.0)),
)
_BOTTOM_ROWS: tuple[tuple[tuple[str, float], ...], ...] = (
    (("Ctrl", 1.25), ("Alt", 1.25), ("", 4), ("Alt", 1.0), ("Fn", 1.25), ("Ctrl", 1.25)),
    (("Ctrl", 1), ("Alt", 1), ("", 4), ("<", 1), ("^", 1), ("v", 1), (">", 1)),
    (("Ctrl", 1.5), ("Alt", 1.5), ("", 4), ("Fn", 1.5), ("Ctrl", 1.5)),
)
_FUNCTION_ROW: tuple[tuple[str, float], ...] = (
    ("Esc", 1.0),
    *((f"F{number}", 1.0) for number in range(1, 10)),
)


@dataclass(frozen=True)
class _Scheme:
    case: Colour
    letters: Colour
    modifiers: Colour


_SCHEMES = (
    _Scheme((36, 36, 38), (54, 54, 57), (44, 44, 48)),
    _Scheme((28, 28, 30), (78, 80, 84), (56, 58, 62)),
    _Scheme((200, 200, 200), (236, 236, 234), (208, 208, 206)),
    _Scheme((206, 200, 184), (230, 226, 212), (188, 183, 170)),
    _Scheme((158, 161, 166), (50, 51, 54), (44, 45, 48)),
    _Scheme((150, 152, 156), (226, 228, 230), (190, 192, 196)),
    _Scheme((84, 88, 96), (158, 162, 170), (120, 124, 132)),
)

_SPARE_COLOURS: tuple[Colour, ...] = (
    (228, 26, 26),
    (248, 96, 14),
    (250, 160, 14),
    (248, 212, 20),
)
_LEAST_CONTRAST = 200.0
_STEM: Colour = (22, 214, 206)


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


@cache
def _glyphs(legend: str, size: int) -> Image.Image:
    """A legend as a mask, mode L, cut to its ink."""
    font = ImageFont.load_default(size=size)
    left, top, right, bottom = (round(edge) for edge in font.getbbox(legend))
    mask = Image.new("L", (right - left + 2, bottom - top + 2), 0)
    ImageDraw.Draw(mask).text((1 - left, 1 - top), legend, fill=255, font=font)
    return mask


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
    board: Image.Image,
    key: _Key,
    cap: _Cap,
    colour: Colour,
    ink: Colour,
    sag: float = 0.0,
    grow: float = 0.0,
) -> tuple[float, float, float, float]:
    """Draw one keycap and its legend; returns the box of its top face in pixels."""
    draw = ImageDraw.Draw(board)
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
        mask = _glyphs(key.legend, 13 if key.modifier else 22)
        x, y = face[0] + 6, face[1] + 4
        if cap.centred:
            x = (face[0] + face[2] - mask.width) / 2
            y = (face[1] + face[3] - mask.height) / 2
        board.paste(ink, (round(x), round(y)), mask)
    return face


def _draw_well(draw: ImageDraw.ImageDraw, key: _Key, stem: Colour) -> None:
    """Draw the dark hole that a missing keycap leaves, with its clear switch and its stem."""
    left, top, right, bottom = _box(key)
    draw.rectangle((left, top, right, bottom), fill=(10, 10, 11))
    x, y = (left + right) / 2, (top + bottom) / 2
    draw.rounded_rectangle((x - 24, y - 24, x + 24, y + 24), 4, fill=(150, 154, 158))
    draw.rounded_rectangle((x - 21, y - 21, x + 21, y + 21), 3, fill=(22, 22, 25))
    for tone, deeper in ((0.5, 2), (1.0, 0)):
        colour = photo.shade(stem, tone)
        draw.rectangle((x - 17, y - 6 + deeper, x + 17, y + 5 + deeper), fill=colour)
        draw.rectangle((x - 6, y - 17 + deeper, x + 6, y + 16 + deeper), fill=colour)


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
        draw.rounded_rectangle((left + 2, top + 3, right + 4, bottom + 5), 8, fill=(34, 34, 37))
    _draw_cap(
        picture, key, other, colour, ink, sag=6.0 if raised else 0.0, grow=2.0 if raised else 0.0
    )
    if rng.random() < 0.5:
        corner = (int(left) + 1, int(top) + 1, int(right) - 1, int(bottom) - 1)
        turned = picture.crop(corner).transpose(Image.Transpose.ROTATE_180)
        picture.paste(turned, corner[:2])


def _board(rng: np.random.Generator, defect: np.random.Generator, label: str) -> Image.Image:
    """The keyboard from straight above, mode RGBA, on a clear ground."""
    scheme = _SCHEMES[rng.integers(len(_SCHEMES))]
    scheme = _Scheme(
        *(photo.jitter(rng, c, 4) for c in (scheme.case, scheme.letters, scheme.modifiers))
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

    choices = [number for number, key in enumerate(keys) if key.width < 2]
    chosen = choices[defect.integers(len(choices))] if label != "normal" else -1
    for number, key in enumerate(keys):
        colour = scheme.modifiers if key.modifier or not key.legend else scheme.letters
        tone = photo.shade(colour, uniform(rng, 0.96, 1.04))
        if number != chosen:
            _draw_cap(board, key, cap, tone, _ink(colour))
    if label == "key_missing":
        _draw_well(draw, keys[chosen], photo.jitter(defect, _STEM, 14))
    elif label == "wrong_key":
        _draw_wrong_cap(board, defect, keys[chosen], cap, scheme)
    return board


def _corners(
    rng: np.random.Generator, board: tuple[int, int], size: tuple[int, int]
) -> list[tuple[float, float]]:
    """Where the board's corners lie in the picture, seen by a camera from above at an angle."""
    half = np.asarray(board, dtype=np.float64) / board[0]
    flat = np.asarray([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]) * (*half, 0)
    roll = np.deg2rad(rng.normal(0, 3))
    tilt = np.deg2rad(uniform(rng, 0, 24))
    yaw = np.deg2rad(uniform(rng, -10, 10))
    cos, sin = np.cos, np.sin
    turn_z = np.asarray([[cos(roll), -sin(roll), 0], [sin(roll), cos(roll), 0], [0, 0, 1]])
    turn_x = np.asarray([[1, 0, 0], [0, cos(tilt), -sin(tilt)], [0, sin(tilt), cos(tilt)]])
    turn_y = np.asarray([[cos(yaw), 0, sin(yaw)], [0, 1, 0], [-sin(yaw), 0, cos(yaw)]])
    points = flat @ (turn_y @ turn_x @ turn_z).T
    depth = uniform(rng, 3.2, 6.0)
    seen = points[:, :2] * (depth / (depth - points[:, 2:3]))
    low, high = seen.min(axis=0), seen.max(axis=0)
    extent = high - low
    scale = uniform(rng, 0.94, 1.0) * min(size[0] / extent[0], size[1] / extent[1])
    room = np.asarray(size) - extent * scale
    place = room * rng.uniform(0.02, 0.98, size=2)
    return [(float(x), float(y)) for x, y in (seen - low) * scale + place]


def _clutter(rng: np.random.Generator, picture: Image.Image) -> None:
    """Put a few things of a desk on the table: sheets, pens, cups."""
    draw = ImageDraw.Draw(picture)
    width, height = picture.size
    for _ in range(int(rng.integers(0, 4))):
        middle = rng.uniform(0, 1, size=2) * (width, height)
        reach = uniform(rng, 0.08, 0.2) * width
        angle = uniform(rng, 0, np.pi)
        along = reach * np.asarray([np.cos(angle), np.sin(angle)])
        across = np.asarray([-along[1], along[0]])
        grey = int(rng.integers(30, 235))
        colour = photo.jitter(rng, (grey, grey, grey), 12)
        kind = rng.integers(3)
        if kind == 0:
            sheet = photo.jitter(rng, (226, 224, 220), 10)
            sides = [(-1, -1.4), (1, -1.4), (1, 1.4), (-1, 1.4)]
            corners = [middle + a * along + b * across for a, b in sides]
            draw.polygon([(float(p[0]), float(p[1])) for p in corners], fill=sheet)
            for line in range(-9, 10, 2):
                start = middle - 0.8 * along + line / 8 * across
                end = start + uniform(rng, 0.9, 1.6) * along
                draw.line([*start, *end], fill=photo.shade(sheet, 0.7), width=2)
        elif kind == 1:
            start, end = middle - along, middle + along
            draw.line([*start, *end], fill=colour, width=max(4, width // 90))
            tip = max(3, width // 110)
            draw.line([*(end - 0.2 * along), *end], fill=photo.shade(colour, 0.4), width=tip)
        else:
            for ring, tone in ((0.6, 0.55), (0.56, 1.0), (0.46, 0.4)):
                low, high = middle - ring * reach, middle + ring * reach
                draw.ellipse([*low, *high], fill=photo.shade(colour, tone))


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
    left = int(min(x for x, _ in corners))
    top = int(min(y for _, y in corners))
    reach = (
        int(max(x for x, _ in corners)) + 2 - left,
        int(max(y for _, y in corners)) + 2 - top,
    )
    seen = board.transform(
        reach,
        Image.Transform.PERSPECTIVE,
        photo.homography(source, [(x - left, y - top) for x, y in corners]),
        Image.Resampling.BILINEAR,
    )
    picture.paste(seen, (left, top), seen)
    return photo.expose(rng, picture)
