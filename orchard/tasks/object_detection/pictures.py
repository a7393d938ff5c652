"""Thumbnails of a report, with the boxes of truth and answer drawn in.

Truth is a dashed line in blue. An answer is a solid line, green where it is right and orange where
it is not (or where there is no truth to tell), with name and score; what is missed has its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from orchard.decode import decode_picture
from orchard.pictures.thumbnails import encoded, shrunk
from orchard.tasks.object_detection.answers import counted
from orchard.tasks.object_detection.boxes import SCORE, truth_of
from orchard.tasks.object_detection.errors import outcome

TRUTH, RIGHT, WRONG = (40, 110, 255), (0, 150, 70), (255, 110, 0)
_LETTERS = 16
_MOST_NAMES = 12
_DASH, _GAP = 6, 4

Colour = tuple[int, int, int]
Edges = tuple[float, float, float, float]


def thumbnail(
    payload: bytes,
    side: int,
    truth: Any = None,
    answer: NDArray[np.float32] | None = None,
    card: Mapping[str, Any] | None = None,
) -> bytes:
    """A JPEG of an accepted picture, at most `side` pixels wide and high.

    Args:
        truth: an annotation; its boxes are drawn. answer: (M, 6); its boxes from the recommended
            threshold on are drawn, for which `card` must be there. A picture with boxes is
            enlarged to `side` where it is smaller, so that they can be told apart.
    """
    image = Image.fromarray(decode_picture(payload))
    width = image.width
    boxes = _marks(truth, answer, card or {})
    image = shrunk(image, side)
    if not boxes:
        return encoded(image)
    if max(image.size) < side:
        factor = side / max(image.size)
        size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
        image = image.resize(size, Image.Resampling.BICUBIC)
    scale = image.width / width
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(max(10, side // 28))
    thick = max(1, side // 160)
    for place, colour, solid, _ in boxes:
        _box(draw, _scaled(place, scale), colour, solid, thick)
    for place, colour, solid, name in boxes:
        if name:
            _label(draw, _scaled(place, scale), image.size, colour, name, above=solid, font=font)
    return encoded(image)


Mark = tuple[NDArray[np.float64], Colour, bool, str]


def _marks(
    annotation: Any, answer: NDArray[np.float32] | None, card: Mapping[str, Any]
) -> list[Mark]:
    """(place, colour, solid, name) of all boxes to draw, truth first; "" is no name."""
    every = [] if annotation is None else annotation["boxes"]
    places = [[box["left"], box["top"], box["width"], box["height"]] for box in every]
    names = [box["label"] for box in every]
    if answer is None:
        return _truth_marks(places, names, set(range(len(every))))
    labels, threshold = card["labels"], float(card["thresholds"]["default"])
    answer = counted(answer, card)
    shown = np.flatnonzero(answer[:, SCORE].astype(np.float64) >= threshold)
    right: set[int] = set()
    unfound: set[int] = set()
    if annotation is not None:
        truth = truth_of(annotation, labels)
        found = outcome(answer, truth, threshold, len(labels))
        right = {row for _, row in found.right}
        known = [place for place, name in enumerate(names) if name in set(labels)]
        unfound = {known[index] for index in found.unmatched}
        unfound |= set(range(len(every))) - set(known)
    marks = _truth_marks(places, names, unfound)
    for row in shown.tolist():
        good = row in right
        # Where there are many, the names of the right ones only hide the picture.
        name = f"{_short(labels[int(answer[row, 0])])} {100 * answer[row, SCORE]:.0f}"
        named = not good or len(shown) <= _MOST_NAMES
        colour = RIGHT if good else WRONG
        marks.append((answer[row, 2:].astype(np.float64), colour, True, name if named else ""))
    return marks


def _truth_marks(
    places: Sequence[Sequence[float]], names: Sequence[str], named: set[int]
) -> list[Mark]:
    return [
        (np.array(place, np.float64), TRUTH, False, _short(name) if number in named else "")
        for number, (place, name) in enumerate(zip(places, names, strict=True))
    ]


def _short(name: str) -> str:
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"


def _scaled(place: NDArray[np.float64], scale: float) -> Edges:
    left, top, width, height = (place * scale).tolist()
    return left, top, left + width, top + height


def _box(draw: ImageDraw.ImageDraw, edges: Edges, colour: Colour, solid: bool, thick: int) -> None:
    left, top, right, bottom = edges
    if solid:
        draw.rectangle((left, top, max(left, right - 1), max(top, bottom - 1)), None, colour, thick)
        return
    for y in (top, bottom - 1):
        for start, end in _dashes(left, right):
            # White beneath, so that the dashes stand out on any ground.
            draw.line((start - 1, y, end + 1, y), (255, 255, 255), thick + 2)
            draw.line((start, y, end, y), colour, thick)
    for x in (left, right - 1):
        for start, end in _dashes(top, bottom):
            draw.line((x, start - 1, x, end + 1), (255, 255, 255), thick + 2)
            draw.line((x, start, x, end), colour, thick)


def _dashes(start: float, end: float) -> Iterator[tuple[float, float]]:
    while start < end:
        yield start, min(start + _DASH, end - 1)
        start += _DASH + _GAP


def _label(
    draw: ImageDraw.ImageDraw,
    edges: Edges,
    size: tuple[int, int],
    colour: Colour,
    name: str,
    *,
    above: bool,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
) -> None:
    """A name on a plate above a box, or below it, inside the picture."""
    left, top, right, bottom = draw.textbbox((0, 0), name, font=font)
    width, height = right - left + 4, bottom - top + 4
    x = min(max(edges[0], 0), max(size[0] - width, 0))
    y = edges[1] - height if above else edges[3]
    y = min(max(y, 0), max(size[1] - height, 0))
    draw.rectangle((x, y, x + width - 1, y + height - 1), colour)
    draw.text((x + 2 - left, y + 2 - top), name, (255, 255, 255), font)
