"""LabelMe: a JSON file a picture with shapes; polygons, rectangles and circles become boxes.

Source: the file format of wkentaro's LabelMe (`labelme/label_file.py`): "shapes" with "label",
"points", "shape_type", and "imagePath", "imageWidth", "imageHeight". The picture's own bytes in
"imageData" are not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from orchard.formats.base import Evidence, Format, Label, Reading
from orchard.formats.boxes import (
    KINDS,
    BoxReading,
    annotation,
    around,
    label_of,
    number,
    parsed,
    picture_of,
    read_json,
)
from orchard.formats.fields import UnusableLabel
from orchard.sources.base import Refusal
from orchard.sources.listing import Listing
from orchard.sources.names import ending

_WITHOUT_AREA = frozenset({"point", "points", "line", "linestrip"})


class LabelMe(Format):
    """A JSON file a picture with shapes."""

    name = "labelme"
    title = "LabelMe: a JSON file of the same name for each picture"
    kinds = KINDS

    def recognise(self, listing: Listing) -> Evidence | None:
        seen = {path: copy for path, copy in listing.documents.items() if ending(path) == ".json"}
        good = sum(_is_document(read_json(copy)) for copy in seen.values())
        if not good:
            return None
        reason = f"{listing.endings['.json']:,} JSON files with shapes"
        return Evidence(0.97 * good / len(seen), reason)

    def read(self, listing: Listing, evidence: Evidence) -> Reading:
        return _LabelMeReading(listing, evidence, document_ending=".json")


@dataclass
class _LabelMeReading(BoxReading):
    def document(self, path: str, payload: bytes) -> Iterable[Label | Refusal]:
        content = parsed(payload)
        if not _is_document(content):
            return (Refusal(path, "bad_json", "This is no JSON of LabelMe with shapes"),)
        picture = picture_of(self.listing, path, content.get("imagePath"))
        if picture is None:
            return (Refusal(path, "no_picture", "There is no picture of the same name"),)
        shapes = [each for each in content["shapes"] if isinstance(each, dict)]
        with_area = [each for each in shapes if each.get("shape_type") not in _WITHOUT_AREA]
        self._tell(shapes, with_area)
        if shapes and not with_area:
            reason = f"It has only points and lines, which are no boxes: {path}"
            return (Refusal(picture, "no_usable_box", reason),)
        try:
            boxes = [_box(each) for each in with_area]
        except UnusableLabel as error:
            return (Refusal(picture, error.code, f"{error}: {path}"),)
        size = (content.get("imageWidth"), content.get("imageHeight"))
        return (Label(picture, annotation(boxes, size), None, path),)

    def _tell(self, shapes: list[Any], with_area: list[Any]) -> None:
        turned = sum(each.get("shape_type", "polygon") != "rectangle" for each in with_area)
        if turned:
            self.notices["Polygons and circles were replaced by the boxes around them"] += turned
        if len(with_area) < len(shapes):
            left_out = len(shapes) - len(with_area)
            self.notices["Points and lines are no boxes and were left out"] += left_out


def _box(shape: dict[str, Any]) -> dict[str, Any]:
    label = label_of(shape.get("label"))
    points = [each for each in shape.get("points") or () if isinstance(each, list)]
    if shape.get("shape_type") == "circle" and len(points) == 2:
        # The centre, and a point on the edge.
        values = [number(value) for point in points for value in point[:2]]
        if len(values) == 4 and None not in values:
            x, y, edge_x, edge_y = (float(value or 0) for value in values)
            radius = math.hypot(edge_x - x, edge_y - y)
            points = [[x - radius, y - radius], [x + radius, y + radius]]
    return around(label, points)


def _is_document(content: Any) -> bool:
    return (
        isinstance(content, dict)
        and isinstance(content.get("shapes"), list)
        and ("imagePath" in content or "imageHeight" in content)
    )
