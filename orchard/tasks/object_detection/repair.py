"""Annotations of boxes against the picture that they belong to: repaired, or refused with a reason.

What is repaired is where the meaning is certain: a box that reaches out of the picture is clipped,
reversed corners are swapped, boxes that are none (no area, no number, no class, wholly outside,
twice the same) are dropped. A picture whose boxes all had to be dropped is no negative: somebody
saw something in it; it is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orchard.tasks.base import Given, Settled
from orchard.tasks.object_detection.labels import boxes_of, distinct

_DECIMALS = 2
_SLACK = 1.0
"""Pixels by which a box may pass the picture's edge without it being told: tools that count from 1
or include the last pixel do so at every edge."""
_SIDE = 1.0
"""Pixels by which a claimed size may differ from the picture's without meaning another picture."""
_ASPECT = 0.01
_SIDEWAYS = (5, 6, 7, 8)

NOT_NUMBERS = "A box whose corners are not all numbers was dropped"
NO_NAME = "A box without a class name was dropped"
REVERSED = "A box with its corners reversed was turned round"
CLIPPED = "A box that reached out of the picture was clipped"
OUTSIDE = "A box wholly outside of the picture was dropped"
NO_AREA = "A box without area was dropped"
REPEATED = "A box that was there twice was dropped"
SWAPPED = "The label file swaps the picture's width and height; the picture's count"
OTHER_CLAIM = "The label file claims another size of the picture; the boxes fit the picture's"
TURNED = "The boxes were measured on the picture before its EXIF rotation and were turned with it"
SCALED = "The boxes were measured on the picture at another size and were scaled with it"


class _OtherSize(ValueError):
    """The claimed size is not the picture's, and what the boxes mean is not certain."""


@dataclass(frozen=True)
class _Rectangle:
    """A box by its corners, before it is clipped."""

    label: str
    left: float
    top: float
    right: float
    bottom: float
    crowd: bool

    def within(self, width: float, height: float) -> bool:
        slack = _SLACK
        return (
            min(self.left, self.top) >= -slack
            and self.right <= width + slack
            and self.bottom <= height + slack
        )

    def scaled(self, across: float, down: float) -> _Rectangle:
        return _Rectangle(
            self.label,
            self.left * across,
            self.top * down,
            self.right * across,
            self.bottom * down,
            self.crowd,
        )


def settled(annotation: Any, width: int, height: int, given: Given | None = None) -> Settled:
    """The annotation in its settled form (see `labels`), or a refusal.

    Args:
        width, height: the picture's size as it is stored, in pixels.
        given: its size before the judge scaled it, and its EXIF orientation.

    Codes of refusals: `no_usable_box`, `other_size`, `unknown_label` (no annotation of boxes).
    """
    if not isinstance(annotation, dict) or not isinstance(annotation.get("boxes"), list):
        return Settled(None, (), "unknown_label", "Its label is no list of boxes")
    before = given or Given(width, height)
    notices: Counter[str] = Counter()
    boxes = boxes_of(annotation)
    if not boxes:
        return Settled({"boxes": []})
    rectangles = _rectangles(boxes, notices)
    try:
        rectangles = _on_the_picture(annotation, rectangles, before, notices)
    except _OtherSize as error:
        return Settled(None, _sentences(notices), "other_size", str(error))
    if (before.width, before.height) != (width, height):
        notices[SCALED] = 1
        across, down = width / before.width, height / before.height
        rectangles = [each.scaled(across, down) for each in rectangles]
    clipped = [box for each in rectangles if (box := _clipped(each, width, height, notices))]
    once = distinct(clipped)
    notices[REPEATED] += len(clipped) - len(once)
    if not once:
        why = "; ".join(_sentences(notices))
        reason = f"None of its boxes can be used, and it is not a picture without objects. {why}"
        return Settled(None, _sentences(notices), "no_usable_box", reason)
    return Settled({"boxes": once}, _sentences(notices))


def _sentences(notices: Counter[str]) -> tuple[str, ...]:
    return tuple(f"{text} ({count})" for text, count in notices.items() if count > 0)


def _rectangles(boxes: list[dict[str, Any]], notices: Counter[str]) -> list[_Rectangle]:
    """The boxes that have a name and four numbers, none reversed."""
    found = []
    for box in boxes:
        label = box.get("label")
        sides = [_number(box.get(name)) for name in ("left", "top", "width", "height")]
        if any(side is None for side in sides):
            notices[NOT_NUMBERS] += 1
        elif not isinstance(label, str) or not label.strip():
            notices[NO_NAME] += 1
        else:
            left, top, width, height = (side or 0.0 for side in sides)
            notices[REVERSED] += width < 0 or height < 0
            left, right = sorted((left, left + width))
            top, bottom = sorted((top, top + height))
            found.append(_Rectangle(label, left, top, right, bottom, bool(box.get("crowd"))))
    return found


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Numbers this large are no places in a picture, and NaN is not below anything.
    return float(value) if abs(value) < 1e9 else None


def _on_the_picture(
    annotation: Mapping[str, Any], found: list[_Rectangle], given: Given, notices: Counter[str]
) -> list[_Rectangle]:
    """The rectangles in pixels of the upright picture as it was given.

    Raises _OtherSize where the label file claims a size that is not the picture's and what is meant
    is not certain.
    """
    width, height = given.width, given.height
    claimed = _claimed(annotation)
    sideways = given.orientation in _SIDEWAYS
    if annotation.get("unit") == "fraction":
        return [each.scaled(width, height) for each in found]
    if claimed is None or _same(claimed, (width, height)):
        return found
    if _same(claimed, (height, width)):
        # Stored on its side, it has that size for a program that leaves EXIF alone.
        if sideways:
            notices[TURNED] = 1
            return [_turned(each, width, height, given.orientation) for each in found]
        if _all_within(found, (width, height)) or not _all_within(found, claimed):
            notices[SWAPPED] = 1
            return found
        raise _OtherSize(_other_size(claimed, given))
    fit_here, fit_there = _all_within(found, (width, height)), _all_within(found, claimed)
    if fit_here and not fit_there:
        notices[OTHER_CLAIM] = 1
        return found
    if fit_there and not fit_here and _same_shape(claimed, (width, height)):
        notices[SCALED] = 1
        return [each.scaled(width / claimed[0], height / claimed[1]) for each in found]
    raise _OtherSize(_other_size(claimed, given))


def _claimed(annotation: Mapping[str, Any]) -> tuple[float, float] | None:
    size = annotation.get("size")
    if not isinstance(size, list) or len(size) != 2:
        return None
    width, height = map(_number, size)
    return None if not width or not height or min(width, height) < 1 else (width, height)


def _same(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return all(abs(a - b) <= _SIDE for a, b in zip(one, other, strict=True))


def _same_shape(one: tuple[float, float], other: tuple[float, float]) -> bool:
    across, down = one[0] / other[0], one[1] / other[1]
    return abs(across - down) <= _ASPECT * down


def _all_within(found: list[_Rectangle], size: tuple[float, float]) -> bool:
    return all(each.within(*size) for each in found)


def _other_size(claimed: tuple[float, float], given: Given) -> str:
    return (
        f"It was labelled as a picture of {claimed[0]:g} × {claimed[1]:g} pixels, but has "
        f"{given.width} × {given.height}. Bring the picture that was labelled, or label this one"
    )


_TURNS: dict[int, Callable[[float, float, float, float], tuple[float, float]]] = {
    5: lambda x, y, width, height: (y, x),
    6: lambda x, y, width, height: (width - y, x),
    7: lambda x, y, width, height: (width - y, height - x),
    8: lambda x, y, width, height: (y, height - x),
}
"""EXIF orientation → where a point of the file's pixels is in the upright picture of that size."""


def _turned(box: _Rectangle, width: int, height: int, orientation: int) -> _Rectangle:
    turn = _TURNS[orientation]
    one = turn(box.left, box.top, width, height)
    other = turn(box.right, box.bottom, width, height)
    left, right = sorted((one[0], other[0]))
    top, bottom = sorted((one[1], other[1]))
    return _Rectangle(box.label, left, top, right, bottom, box.crowd)


def _clipped(
    box: _Rectangle, width: int, height: int, notices: Counter[str]
) -> dict[str, Any] | None:
    """The part of a box that is in the picture; None where there is none."""
    if box.right <= box.left or box.bottom <= box.top:
        notices[NO_AREA] += 1
        return None
    if box.right <= 0 or box.bottom <= 0 or box.left >= width or box.top >= height:
        notices[OUTSIDE] += 1
        return None
    left, right = (round(min(max(x, 0.0), width), _DECIMALS) for x in (box.left, box.right))
    top, bottom = (round(min(max(y, 0.0), height), _DECIMALS) for y in (box.top, box.bottom))
    across, down = round(right - left, _DECIMALS), round(bottom - top, _DECIMALS)
    if across <= 0 or down <= 0:
        notices[NO_AREA] += 1
        return None
    notices[CLIPPED] += not box.within(width, height)
    made = {"label": box.label, "left": left, "top": top, "width": across, "height": down}
    return {**made, "crowd": True} if box.crowd else made
