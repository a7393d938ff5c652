"""CreateML: one JSON list for many pictures, boxes by their centre and size in pixels.

    [{"image": "a.jpg", "annotations": [{"label": "cat",
      "coordinates": {"x": 120, "y": 80, "width": 60, "height": 40}}]}]

Source: Apple's documentation of Create ML, "Building an object detector data source". A file is
held whole, so it may have as many bytes as an entry of a source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from orchard.formats.base import Evidence, Format, Label, Reading
from orchard.formats.boxes import (
    KINDS,
    BoxReading,
    annotation,
    centred,
    label_of,
    read_json,
    splits_of_files,
)
from orchard.formats.fields import UnusableLabel
from orchard.formats.paths import Resolver, loose_path
from orchard.formats.tables import folder_of
from orchard.sources.base import Refusal
from orchard.sources.listing import Listing
from orchard.sources.names import ending

_PICTURE_KEYS = ("image", "imagefilename", "filename")


class CreateML(Format):
    """One JSON list for many pictures."""

    name = "createml"
    title = "CreateML: a JSON list of pictures with annotations"
    kinds = KINDS
    reads_tables = True

    def recognise(self, listing: Listing) -> Evidence | None:
        files = tuple(
            path
            for path, copy in sorted(listing.documents.items())
            if ending(path) == ".json"
            and listing.preferred in (None, path)
            and _is_list(read_json(copy))
        )
        if not files:
            return None
        return Evidence(0.94, f"{', '.join(files)} with boxes by their centre", (), files)

    def read(self, listing: Listing, evidence: Evidence) -> Reading:
        return _CreateMLReading(listing, evidence)


@dataclass
class _CreateMLReading(BoxReading):
    def tables(self) -> Iterable[Label | Refusal]:
        for path, split in splits_of_files(self.evidence.facts).items():
            resolver = Resolver(self.listing, folder_of(path))
            for record in read_json(self.listing.documents[path]):
                yield from _rows(resolver, record, path, split)


def _rows(
    resolver: Resolver, record: Any, source: str, split: str | None
) -> Iterator[Label | Refusal]:
    if not _is_record(record):
        yield Refusal(source, "bad_json", "An entry of the list has no picture or no annotations")
        return
    written = str(next(record[key] for key in _PICTURE_KEYS if key in record))
    picture = resolver.find(written) or loose_path(written)
    try:
        boxes = [_box(each) for each in record["annotations"] if isinstance(each, dict)]
    except UnusableLabel as error:
        yield Refusal(picture, error.code, f"{error}: {source}")
        return
    yield Label(picture, annotation(boxes), split, source)


def _box(record: dict[str, Any]) -> dict[str, Any]:
    at = record.get("coordinates")
    sides = at if isinstance(at, dict) else {}
    return centred(
        label_of(record.get("label")), *(sides.get(key) for key in ("x", "y", "width", "height"))
    )


def _is_record(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and any(key in record for key in _PICTURE_KEYS)
        and isinstance(record.get("annotations"), list)
    )


def _is_list(content: Any) -> bool:
    return isinstance(content, list) and any(map(_is_record, content[:20]))
