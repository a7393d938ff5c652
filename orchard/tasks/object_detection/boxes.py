"""Boxes as numbers: left, top, width, height in pixels of the upright picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

CLASS, SCORE = 0, 1
COLUMNS = 6
"""An answer's columns: class index, score, left, top, width, height."""


@dataclass(frozen=True)
class Truth:
    """The boxes of one annotation.

    Attributes:
        classes: (G,) index into the model's labels. boxes: (G, 4). crowd: (G,).
        outside: boxes left out because their class is none of the model's.
    """

    classes: Integers
    boxes: Floats
    crowd: Booleans
    outside: int = 0


def truth_of(annotation: Any, labels: Sequence[str]) -> Truth:
    """An annotation {"boxes": [{"label", "left", "top", "width", "height", "crowd"}]} as arrays."""
    index = {label: number for number, label in enumerate(labels)}
    every = annotation["boxes"]
    known = [box for box in every if box["label"] in index]
    places = [[box["left"], box["top"], box["width"], box["height"]] for box in known]
    return Truth(
        np.array([index[box["label"]] for box in known], np.int64),
        np.array(places, np.float64).reshape(-1, 4),
        np.array([bool(box.get("crowd")) for box in known], np.bool_),
        len(every) - len(known),
    )


def overlaps(found: Floats, truth: Floats, crowd: Booleans | None = None) -> Floats:
    """(D, 4) and (G, 4) boxes → (D, G) intersection over union, 0 to 1.

    For a crowd the intersection is divided by the found box's area alone (COCO's rule).
    """
    left = np.maximum(found[:, None, 0], truth[None, :, 0])
    top = np.maximum(found[:, None, 1], truth[None, :, 1])
    right = np.minimum((found[:, 0] + found[:, 2])[:, None], (truth[:, 0] + truth[:, 2])[None])
    bottom = np.minimum((found[:, 1] + found[:, 3])[:, None], (truth[:, 1] + truth[:, 3])[None])
    common = np.maximum(right - left, 0) * np.maximum(bottom - top, 0)
    own = (found[:, 2] * found[:, 3])[:, None]
    union = own + (truth[:, 2] * truth[:, 3])[None] - common
    if crowd is not None:
        union = np.where(crowd[None, :], own, union)
    shares: Floats = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    return shares


def in_words(names: Iterable[str]) -> str:
    """Class names with their numbers, the most frequent first: "2 RBC, 1 WBC"; or "nothing"."""
    counts = Counter(names)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {name}" for name, count in ordered) or "nothing"
