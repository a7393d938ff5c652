"""EasyDL's upload format for boxes: a JSON file of the same name beside each picture.

    {"labels": [{"name": "scratch", "x1": 10, "y1": 20, "x2": 90, "y2": 60}]}

Source: EasyDL's documentation of data upload for object detection ("JSON, the platform's own
format"): two corners in pixels from the upper left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from orchard.formats.base import Evidence, Format, Label, Reading
from orchard.formats.boxes import (
    KINDS,
    BoxReading,
    annotation,
    corners,
    label_of,
    parsed,
    picture_of,
    read_json,
)
from orchard.formats.fields import UnusableLabel
from orchard.sources.base import Refusal
from orchard.sources.listing import Listing
from orchard.sources.names import ending

_CORNERS = ("x1", "y1", "x2", "y2")


class EasyDLBoxes(Format):
    """A JSON file of the same name beside each picture, with corners."""

    name = "easydl_boxes"
    title = (
        'EasyDL\'s format: beside a.jpg a file a.json with {"labels": [{"name": "scratch", '
        '"x1": 1, "y1": 2, "x2": 9, "y2": 8}]}'
    )
    kinds = KINDS

    def recognise(self, listing: Listing) -> Evidence | None:
        seen = {path: copy for path, copy in listing.documents.items() if ending(path) == ".json"}
        contents = [read_json(copy) for copy in seen.values()]
        good = [each for each in contents if _is_document(each)]
        if not any(each["labels"] for each in good):
            return None
        reason = f"{listing.endings['.json']:,} JSON files with corners of boxes"
        return Evidence(0.97 * len(good) / len(seen), reason)

    def read(self, listing: Listing, evidence: Evidence) -> Reading:
        return _EasyDLReading(listing, evidence, document_ending=".json")


@dataclass
class _EasyDLReading(BoxReading):
    def document(self, path: str, payload: bytes) -> Iterable[Label | Refusal]:
        picture = picture_of(self.listing, path)
        if picture is None:
            return (Refusal(path, "no_picture", "There is no picture of the same name"),)
        content = parsed(payload)
        if not _is_document(content):
            reason = 'This is no JSON of the form {"labels": [{"name": "…", "x1": …, "y1": …}]}'
            return (Refusal(path, "bad_json", reason),)
        try:
            boxes = [
                corners(label_of(each.get("name")), *(each[side] for side in _CORNERS))
                for each in content["labels"]
            ]
        except UnusableLabel as error:
            return (Refusal(picture, error.code, f"{error}: {path}"),)
        return (Label(picture, annotation(boxes), None, path),)


def _is_document(content: Any) -> bool:
    return (
        isinstance(content, dict)
        and isinstance(content.get("labels"), list)
        and all(
            isinstance(each, dict) and all(side in each for side in _CORNERS)
            for each in content["labels"]
        )
    )
