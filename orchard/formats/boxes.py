"""What the formats for boxes share: annotations, splits, and which file is what.

An annotation of boxes is the JSON object {"boxes": […], "size": [w, h], "unit": "fraction"}, as the
task that serves the kind "boxes" documents it. Corners may be reversed, outside of the picture or
no numbers (null) here; the task repairs or refuses them once the picture's size is known.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from orchard.formats.base import Reading, Role
from orchard.formats.fields import UnusableLabel, class_name
from orchard.formats.papers import is_paper, is_table
from orchard.formats.paths import Resolver, is_mask
from orchard.formats.split_lists import SplitLists
from orchard.formats.tables import folder_of, split_in_name
from orchard.sources.listing import Listing
from orchard.sources.names import ending, stem

KINDS = frozenset({"boxes"})
_ACCOMPANYING = frozenset(
    {".json", ".xml", ".yaml", ".yml", ".names", ".data", ".cfg", ".txt", ".cache", ".pbtxt"}
)


def number(value: Any) -> float | None:
    """A finite number out of a JSON value or a text; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def label_of(value: Any) -> str:
    """The class name of a box, "" where it has none. Raises UnusableLabel for what is no name."""
    try:
        return class_name(value)
    except UnusableLabel as error:
        if error.code != "no_label":
            raise
        return ""


def box(
    label: str, left: Any, top: Any, width: Any, height: Any, *, crowd: bool = False
) -> dict[str, Any]:
    """A box by its upper left corner and its size."""
    made: dict[str, Any] = {
        "label": label,
        "left": number(left),
        "top": number(top),
        "width": number(width),
        "height": number(height),
    }
    return {**made, "crowd": True} if crowd else made


def corners(
    label: str, left: Any, top: Any, right: Any, bottom: Any, *, crowd: bool = False
) -> dict[str, Any]:
    """A box by two opposite corners."""
    return box(label, left, top, _difference(right, left), _difference(bottom, top), crowd=crowd)


def centred(label: str, x: Any, y: Any, width: Any, height: Any) -> dict[str, Any]:
    """A box by its centre and its size."""
    half_width, half_height = _scaled(width, 0.5), _scaled(height, 0.5)
    return box(label, _difference(x, half_width), _difference(y, half_height), width, height)


def around(label: str, points: Iterable[Sequence[Any]], *, crowd: bool = False) -> dict[str, Any]:
    """The smallest box around points (x, y)."""
    pairs = [(number(each[0]), number(each[1])) for each in points if len(each) >= 2]
    across = [x for x, _ in pairs if x is not None]
    down = [y for _, y in pairs if y is not None]
    if not across or len(across) < len(pairs) or len(down) < len(pairs):
        return box(label, None, None, None, None, crowd=crowd)
    return corners(label, min(across), min(down), max(across), max(down), crowd=crowd)


def annotation(
    boxes: Sequence[dict[str, Any]], size: tuple[Any, Any] | None = None, *, fraction: bool = False
) -> dict[str, Any]:
    """The annotation of one picture; a size that is no size is left out."""
    made: dict[str, Any] = {"boxes": list(boxes)}
    if size is not None:
        width, height = number(size[0]), number(size[1])
        if width is not None and height is not None and width >= 1 and height >= 1:
            made["size"] = [round(width), round(height)]
    if fraction:
        made["unit"] = "fraction"
    return made


def _difference(one: Any, other: Any) -> float | None:
    left, right = number(one), number(other)
    return None if left is None or right is None else left - right


def _scaled(value: Any, factor: float) -> float | None:
    found = number(value)
    return None if found is None else found * factor


@dataclass
class BoxReading(Reading):
    """A reading of boxes: the splits come from lists, else from names of folders.

    `document_ending` is the extension of files that hold the labels of one picture each.
    """

    document_ending: str = ""

    @cached_property
    def split_lists(self) -> SplitLists:
        return SplitLists.of(self.listing)

    def role(self, path: str) -> Role:
        extension = ending(path)
        if is_paper(path) or is_table(path):
            return Role.OTHER
        if extension == self.document_ending:
            return Role.DOCUMENT
        return Role.OTHER if extension in _ACCOMPANYING or is_mask(path) else Role.SAMPLE

    def split(self, path: str) -> str | None:
        return self.split_lists.split(path)


def picture_of(listing: Listing, document: str, named: Any = None) -> str | None:
    """The picture of a document: of the same name beside it or elsewhere, else the one it names."""
    beside = listing.sample_of(stem(document))
    if beside is not None:
        return beside
    resolver = Resolver(listing, folder_of(document))
    found = resolver.find(stem(document).rsplit("/", 1)[-1])
    if found is None and isinstance(named, str):
        # Folders of the machine on which it was labelled say nothing here.
        found = resolver.find(named)
    return found if found is None or ending(found) in listing.sample_endings else None


def splits_of_files(paths: Iterable[str]) -> dict[str, str | None]:
    """The split of each label file by its name, else its folder; none where they are all one."""
    found = {
        path: next(filter(None, map(split_in_name, reversed(path.split("/")))), None)
        for path in paths
    }
    distinct = {split for split in found.values() if split is not None}
    return found if len(distinct) > 1 else dict.fromkeys(found)


def parsed(payload: bytes) -> Any:
    """The JSON value of a document in UTF-8 or GB 18030, or None where there is none."""
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return json.loads(payload.decode(encoding))
        except (ValueError, RecursionError):
            continue
    return None


def read_json(copy: Path) -> Any:
    """The JSON value of a file, or None where there is none."""
    return parsed(copy.read_bytes())
