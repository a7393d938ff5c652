"""Where a resize puts a picture: sizes and places in whole pixels, and the way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Placement:
    """One rectangle of a picture and the rectangle of the model's input that shows it.

    Attributes:
        source: (left, top, width, height) in pixels of the picture.
        target: (left, top, width, height) in pixels of the model's input.
        mirrored: whether left and right of the input were exchanged after the resize.
        input_width: of the whole input; a mirrored input needs it.
    """

    source: tuple[int, int, int, int]
    target: tuple[int, int, int, int]
    mirrored: bool = False
    input_width: int = 0


def placement(operations: Sequence[Mapping[str, Any]], width: int, height: int) -> Placement:
    """Where a picture of width × height lies in the input that valid operations make of it."""
    resize = operations[0]
    mirrored = operations[1]["operation"] == "mirror"
    target_width, target_height, fit = resize["width"], resize["height"], resize["fit"]
    source, target = (0, 0, width, height), (0, 0, target_width, target_height)
    if fit == "crop":
        source = middle(width, height, target_width, target_height)
    elif fit == "pad":
        target = inner(width, height, target_width, target_height)
    return Placement(source, target, mirrored, target_width)


def middle(
    width: int, height: int, target_width: int, target_height: int
) -> tuple[int, int, int, int]:
    """(left, top, width, height) of the largest part in the middle of a picture that has the
    target's shape, to the nearest pixel."""
    if width * target_height > height * target_width:
        columns = max(1, (2 * height * target_width + target_height) // (2 * target_height))
        return (width - columns) // 2, 0, columns, height
    rows = max(1, (2 * width * target_height + target_width) // (2 * target_width))
    return 0, (height - rows) // 2, width, rows


def inner(
    width: int, height: int, target_width: int, target_height: int
) -> tuple[int, int, int, int]:
    """(left, top, width, height) of the scaled picture inside its padding."""
    if width * target_height > height * target_width:
        rows = max(1, (2 * height * target_width + width) // (2 * width))
        return 0, (target_height - rows) // 2, target_width, rows
    columns = max(1, (2 * width * target_height + height) // (2 * height))
    return (target_width - columns) // 2, 0, columns, target_height
