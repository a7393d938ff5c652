"""Labels of object detection: the boxes of one picture.

An annotation is the JSON object

    {"boxes": [{"label": "RBC", "left": 10.0, "top": 20.5, "width": 64.0, "height": 48.0}]}

- `label`: the class name. `left`, `top`: the upper left corner; `width`, `height`: the size. All in
  pixels from the upper left corner of the picture as it is seen (upright); a pixel is an area, so
  a box over the whole picture has left 0 and the picture's width.
- `crowd`: true at a box around many objects that are not told apart; absent at all others.
- no boxes at all, `{"boxes": []}`: a picture that has none of the objects (a negative). A picture
  without an annotation is unlabelled, which is something else.

That is the settled form (`repair.settled`): numbers rounded to 0.01, every box inside of the
picture, its area above zero, sorted, each once. Before that, as label formats give it, there may
also be

- `size`: [width, height] of the picture as the label file claims it;
- `unit`: "fraction" where the numbers are shares of the picture's width and height;
- null in place of a number that was none, an empty label, reversed and repeated boxes.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

NOTHING = "(nothing)"
"""Stratum of pictures without objects; no class name of a label file is in brackets by chance."""

_PLACE = ("label", "left", "top", "width", "height")


def boxes_of(annotation: Any) -> list[dict[str, Any]]:
    """The boxes of an annotation; none where it is no annotation."""
    found = annotation.get("boxes") if isinstance(annotation, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def labels_of(annotation: Any) -> tuple[str, ...]:
    """The class names of all boxes with a name, one a box."""
    return tuple(name for each in boxes_of(annotation) if (name := str(each.get("label") or "")))


def renamed(annotation: Any, names: Mapping[str, str]) -> Any:
    """The annotation with class names replaced where `names` has them."""
    if not isinstance(annotation, dict):
        return annotation
    boxes = [
        {**each, "label": names.get(each.get("label", ""), each.get("label"))}
        for each in boxes_of(annotation)
    ]
    return {**annotation, "boxes": boxes}


def stratum(annotation: Any, counts: Mapping[str, int] = MappingProxyType({})) -> str:
    """The class by which a picture is divided: the rarest one that it holds.

    A picture stands in one stratum but may hold many classes. Taking the class that is rarest in
    the whole data set makes sure that rare classes come into every split; the frequent ones are in
    so many pictures that they do so anyway. This is the order of iterative stratification (Sechidis,
    Tsoumakas, Vlahavas: "On the Stratification of Multi-Label Data", 2011). The set of all classes
    of a picture would be finer, but with many classes hardly two pictures share it.

    Args:
        counts: occurrences of each class in the data set. Without them (or at equal numbers) the
            class with the fewest boxes in the picture counts, then the first by its name.

    Returns:
        a class name, `NOTHING` for a picture without objects, "" for no annotation.
    """
    if not isinstance(annotation, dict) or not isinstance(annotation.get("boxes"), list):
        return ""
    here = Counter(labels_of(annotation))
    if not here:
        return NOTHING
    return min(here, key=lambda name: (counts.get(name, 0), here[name], name))


def shares(annotation: Any, width: int, height: int) -> tuple[float, ...]:
    """The root of each box's share of the picture's area; crowds are left out."""
    area = width * height
    if not area:
        return ()
    return tuple(
        min(1.0, math.sqrt(float(each["width"]) * float(each["height"]) / area))
        for each in boxes_of(annotation)
        if not each.get("crowd")
    )


def merged(annotations: Sequence[Any]) -> Any:
    """The boxes of several annotations of one picture as one, each box once, sorted.

    None where they measure in different units or claim different sizes of the picture, so that
    their boxes cannot be put side by side.
    """
    first = annotations[0]
    frames = {json.dumps([each.get("size"), each.get("unit")]) for each in annotations}
    if len(frames) > 1:
        return None
    together = {**first, "boxes": [box for each in annotations for box in boxes_of(each)]}
    return {**together, "boxes": distinct(together["boxes"])} if len(annotations) > 1 else first


def distinct(boxes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Boxes sorted by label and place, of those with both the same only one.

    Where one of these stands for a crowd and another does not, the other counts.
    """
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for each in sorted(boxes, key=lambda each: not each.get("crowd")):
        found[tuple(each.get(name) for name in _PLACE)] = each
    return sorted(found.values(), key=_order)


def _order(box: Mapping[str, Any]) -> tuple[Any, ...]:
    numbers = [box.get(name) for name in _PLACE[1:]]
    return str(box.get("label")), [(value is None, value or 0.0) for value in numbers]
