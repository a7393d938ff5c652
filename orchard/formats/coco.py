"""COCO: one JSON file with "images", "annotations" and "categories"; several files are splits.

Source: "Data format" of cocodataset.org. A box is [left, top, width, height] in pixels. Where an
annotation has a polygon or a mask alone, the box around it is taken. A picture that is listed and
has no annotation is one without objects. Masks are dropped while a file is parsed; the rest of
it is held whole, so a file may have as many bytes as an entry of a source (a setting).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchard.formats.base import Evidence, Format, Label, Reading
from orchard.formats.boxes import (
    KINDS,
    BoxReading,
    annotation,
    around,
    box,
    corners,
    label_of,
    number,
    splits_of_files,
)
from orchard.formats.fields import UnusableLabel
from orchard.formats.paths import Resolver, loose_path
from orchard.formats.run_lengths import box_around
from orchard.formats.tables import folder_of
from orchard.sources.base import Refusal
from orchard.sources.listing import Listing
from orchard.sources.names import ending

POLYGON_NOTICE = "Polygons were replaced by the boxes around them"
MASK_NOTICE = "Masks were replaced by the boxes around them"
CROWD_NOTICE = "Boxes around crowds are kept as such: they count neither as found nor as missed"

_POLYGON, _MASK = "polygon", "mask"


class Coco(Format):
    """One JSON file with pictures, boxes and classes."""

    name = "coco"
    title = 'COCO: a JSON file with "images", "annotations" and "categories"'
    kinds = KINDS
    reads_tables = True

    def recognise(self, listing: Listing) -> Evidence | None:
        verdicts = _verdicts(listing)
        good = tuple(path for path, wrong in verdicts.items() if not wrong)
        if not good:
            return None
        wrong = {path: reason for path, reason in verdicts.items() if reason}
        return Evidence(0.95, f"{', '.join(good)} with pictures and boxes", (), (good, wrong))

    def read(self, listing: Listing, evidence: Evidence) -> Reading:
        return _CocoReading(listing, evidence)

    def mistaken(self, listing: Listing) -> list[str]:
        return [f"{path}: {reason}" for path, reason in _verdicts(listing).items() if reason]


@dataclass
class _CocoReading(BoxReading):
    def tables(self) -> Iterable[Label | Refusal]:
        good, wrong = self.evidence.facts
        for path, reason in wrong.items():
            yield Refusal(path, "no_boxes", reason)
        for path, split in splits_of_files(good).items():
            yield from self._rows(path, split)

    def _rows(self, path: str, split: str | None) -> Iterator[Label | Refusal]:
        content = _read(self.listing.documents[path])
        names = {
            each["id"]: each.get("name")
            for each in content.get("categories") or ()
            if isinstance(each, dict) and _is_key(each.get("id"))
        }
        found: dict[Any, list[dict[str, Any]]] = defaultdict(list)
        for each in content["annotations"]:
            if isinstance(each, dict) and _is_key(each.get("image_id")):
                found[each["image_id"]].append(each)
            else:
                yield Refusal(path, "bad_json", "An annotation names no picture by image_id")
        resolver = Resolver(self.listing, folder_of(path))
        for image in content["images"]:
            if not (isinstance(image, dict) and _is_key(image.get("id"))):
                yield Refusal(path, "bad_json", "An entry of images has no id")
                continue
            written = str(image.get("file_name") or image["id"])
            picture = resolver.find(written) or loose_path(written)
            try:
                boxes = [self._box(each, names) for each in found.pop(image["id"], ())]
            except UnusableLabel as error:
                yield Refusal(picture, error.code, f"{error}: {path}")
                continue
            size = (image.get("width"), image.get("height"))
            yield Label(picture, annotation(boxes, size), split, path)
        for image_id in found:
            reason = f"Annotations are for image_id {image_id}, which is not among the images"
            yield Refusal(path, "label_without_file", reason)

    def _box(self, record: dict[str, Any], names: dict[Any, Any]) -> dict[str, Any]:
        category = record.get("category_id")
        if not _is_key(category) or category not in names:
            raise UnusableLabel("unknown_class", f"Category {category} is not among the categories")
        label = label_of(names[category])
        crowd = number(record.get("iscrowd")) == 1
        self.notices[CROWD_NOTICE] += crowd
        sides = record.get("bbox")
        if isinstance(sides, list) and len(sides) == 4:
            return box(label, *sides, crowd=crowd)
        around_shape = record.get("segmentation")
        if isinstance(around_shape, list) and around_shape:
            kind, *corner = around_shape
            self.notices[POLYGON_NOTICE if kind == _POLYGON else MASK_NOTICE] += 1
            return corners(label, *corner, crowd=crowd)
        return box(label, None, None, None, None, crowd=crowd)


def _verdicts(listing: Listing) -> dict[str, str]:
    """JSON files that look like COCO's → why each has no boxes, "" where it has."""
    found = {}
    for path, copy in sorted(listing.documents.items()):
        if ending(path) == ".json" and listing.preferred in (None, path):
            reason = _what_is_wrong(_read(copy))
            if reason is not None:
                found[path] = reason
    return found


def _what_is_wrong(content: Any) -> str | None:
    """Why a file of COCO's family has no boxes, "" where it has; None for any other file."""
    if isinstance(content, list):
        return _what_is_wrong_with_list(content)
    if not isinstance(content, dict) or not isinstance(content.get("images"), list):
        return None
    records = content.get("annotations")
    if not isinstance(records, list):
        return "This is a list of pictures of COCO without annotations"
    if any(isinstance(each, dict) and "segments_info" in each for each in records):
        return "These are COCO's panoptic segments, which have no boxes at the annotations"
    if any(
        isinstance(each, dict) and ("bbox" in each or "segmentation" in each) for each in records
    ):
        return ""
    if any(isinstance(each, dict) and "caption" in each for each in records):
        return "These are COCO's captions, which have no boxes"
    return "" if not records and content.get("categories") else "Its annotations have no boxes"


def _what_is_wrong_with_list(content: list[Any]) -> str | None:
    first = content[0] if content else None
    if isinstance(first, dict) and "image_id" in first:
        return (
            "This is a list of results of a model in COCO's form, without images and categories; "
            "it is no data set"
        )
    return None


def _is_key(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _read(copy: Path) -> Any:
    """The JSON value of a file with boxes in place of polygons and masks; None where it is none."""
    try:
        with copy.open(encoding="utf-8-sig") as file:
            return json.load(file, object_hook=_slimmed)
    except (ValueError, RecursionError):
        return None


def _slimmed(record: dict[str, Any]) -> dict[str, Any]:
    """An annotation whose segmentation is ["polygon" or "mask", left, top, right, bottom] or []."""
    shape = record.get("segmentation")
    if shape is None:
        return record
    sides = record.get("bbox")
    if isinstance(sides, list) and len(sides) == 4:
        record["segmentation"] = []
    elif isinstance(shape, dict):
        corner = box_around(shape)
        record["segmentation"] = [] if corner is None else [_MASK, *corner]
    else:
        record["segmentation"] = _around_polygons(shape)
    return record


def _around_polygons(shape: Any) -> list[Any]:
    parts = shape if isinstance(shape, list) else []
    points = [
        pair
        for part in parts
        if isinstance(part, list)
        for pair in zip(part[::2], part[1::2], strict=False)
    ]
    found = around("", points)
    if found["width"] is None:
        return []
    left, top = found["left"], found["top"]
    return [_POLYGON, left, top, left + found["width"], top + found["height"]]
