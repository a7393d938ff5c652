"""EasyDL's upload format for pictures with labels: a JSON file of the same name beside each picture.

    {"labels": [{"name": "scratch"}]}

Source: EasyDL's documentation of data upload for image classification ("JSON, the platform's own
format": a zip of pictures and JSON files of the same name). Its other format, folders named by
class, is `class_folders`. Several labels on one picture are for its multi-label task and are
refused here by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchard.formats.base import Evidence, Format, Label, Reading, Role
from orchard.formats.fields import UnusableLabel, class_name
from orchard.formats.papers import is_paper, is_table
from orchard.formats.paths import Resolver
from orchard.formats.tables import folder_of
from orchard.sources.base import Refusal
from orchard.sources.listing import Listing
from orchard.sources.names import ending, stem

_MAXIMUM_DOCUMENT = 1024 * 1024


class EasyDL(Format):
    """A JSON file of the same name beside each picture."""

    name = "easydl"
    title = 'EasyDL\'s format: beside a.jpg a file a.json with {"labels": [{"name": "scratch"}]}'
    kinds = frozenset({"class"})

    def recognise(self, listing: Listing) -> Evidence | None:
        seen = {path: copy for path, copy in listing.documents.items() if ending(path) == ".json"}
        if not seen:
            return None
        good = sum(
            _is_document(copy) and _picture(listing, path) is not None
            for path, copy in seen.items()
        )
        if not good:
            return None
        number = listing.endings[".json"]
        reason = f"{number:,} JSON files with labels beside {listing.samples:,} pictures"
        return Evidence(0.97 * good / len(seen), reason)

    def read(self, listing: Listing, evidence: Evidence) -> Reading:
        return _DocumentReading(listing, evidence)


@dataclass
class _DocumentReading(Reading):
    def role(self, path: str) -> Role:
        if ending(path) == ".json":
            return Role.DOCUMENT
        return Role.OTHER if is_paper(path) or is_table(path) else Role.SAMPLE

    def document(self, path: str, payload: bytes) -> Iterable[Label | Refusal]:
        picture = _picture(self.listing, path)
        if picture is None:
            return (Refusal(path, "no_picture", "There is no picture of the same name"),)
        content = _parsed(payload)
        if not isinstance(content, dict) or not isinstance(content.get("labels"), list):
            reason = 'This is no JSON of the form {"labels": [{"name": "…"}]}'
            return (Refusal(path, "bad_json", reason),)
        if not content["labels"]:
            return ()
        try:
            name = class_name(content["labels"])
        except UnusableLabel as error:
            return (Refusal(picture, error.code, f"{error}: {path}"),)
        return (Label(picture, name, None, path),)


def _picture(listing: Listing, path: str) -> str | None:
    """The picture that a document belongs to: beside it, or of the same name in another folder."""
    beside = listing.sample_of(stem(path))
    if beside is not None:
        return beside
    return Resolver(listing, folder_of(path)).find(stem(path).rsplit("/", 1)[-1])


def _is_document(copy: Path) -> bool:
    with copy.open("rb") as file:
        content = _parsed(file.read(_MAXIMUM_DOCUMENT))
    return (
        isinstance(content, dict)
        and isinstance(content.get("labels"), list)
        and all(isinstance(each, dict) and "name" in each for each in content["labels"])
    )


def _parsed(payload: bytes) -> Any:
    """The JSON value, or None where there is none."""
    if len(payload) > _MAXIMUM_DOCUMENT:
        return None
    try:
        return json.loads(payload.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(payload.decode("gb18030"))
    except (ValueError, RecursionError):
        return None
