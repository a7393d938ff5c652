"""Reads a folder of boxes as ingest does, and settles what it says."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image, ImageOps

from orchard.formats import Role, recognise
from orchard.formats.base import Label
from orchard.tasks.base import Settled
from orchard.tasks.object_detection import labels, repair
from tests.orchard.sources.helpers import listing_of


@dataclass
class Read:
    """What a folder said: its format, annotations by picture, refusals, splits, notices."""

    format: str
    annotations: dict[str, Any] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    splits: dict[str, str | None] = field(default_factory=dict)
    notices: Counter[str] = field(default_factory=Counter)
    pictures: list[str] = field(default_factory=list)

    def boxes(self, path: str) -> list[tuple[Any, ...]]:
        """(label, left, top, width, height) of a picture's boxes as they were written."""
        names = ("label", "left", "top", "width", "height")
        return [tuple(box[name] for name in names) for box in self.annotations[path]["boxes"]]


def read(root: Path, preferred: str | None = None) -> Read:
    """Everything that the recognised format says of a folder."""
    listing = listing_of(root)
    listing.preferred = preferred
    form, evidence, notices = recognise(listing, "boxes")
    reading = form.read(listing, evidence)
    found = Read(form.name)
    rows: defaultdict[str, list[Any]] = defaultdict(list)

    def take(answers: Any) -> None:
        for row in answers:
            if isinstance(row, Label):
                json.dumps(row.annotation, allow_nan=False)
                rows[row.path].append(row.annotation)
                found.splits[row.path] = row.split or found.splits.get(row.path)
            else:
                found.refused[row.path] = row.code
                found.reasons[row.path] = row.reason

    take(reading.tables())
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if not path.is_file():
            continue
        role = reading.role(name)
        if role is Role.DOCUMENT:
            take(reading.document(name, path.read_bytes()))
        elif role is Role.SAMPLE:
            found.pictures.append(name)
            take(reading.sample(name))
            split = reading.split(name)
            found.splits[name] = found.splits.get(name) or split
    found.annotations = {path: labels.merged(said) for path, said in rows.items()}
    found.notices.update(reading.notices)
    found.notices.update(notices)
    return found


def settled(root: Path, found: Read) -> dict[str, Settled]:
    """The settled annotation of every labelled picture, by the size that Pillow gives."""
    answers = {}
    for path, annotation in found.annotations.items():
        with Image.open(root / path) as image:
            width, height = ImageOps.exif_transpose(image).size
        answers[path] = repair.settled(annotation, width, height)
    return answers
