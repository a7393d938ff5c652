"""YOLO: a text file a picture, a line a box: class id, centre, width and height as fractions.

Source: the file format of Darknet and Ultralytics ("Object Detection Datasets Overview": class
x_center y_center width height, normalised by the picture's size, class ids from 0; an empty file
for a picture without objects; names in data.yaml). Lines of polygons (segmentation) become the
boxes around them. Paths in data.yaml are of the machine that wrote it and are not looked at: the
pictures are found by their names, the splits by folders and lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from orchard.formats.base import Evidence, Format, Label, Reading, Role
from orchard.formats.boxes import (
    KINDS,
    BoxReading,
    annotation,
    around,
    centred,
    label_of,
    number,
    picture_of,
)
from orchard.formats.fields import UnusableLabel
from orchard.formats.papers import is_paper, names_classes
from orchard.formats.split_lists import is_list
from orchard.formats.text_file import encoding_of
from orchard.sources.base import Refusal
from orchard.sources.listing import Listing
from orchard.sources.names import ending, stem

_LINE = re.compile(r"\d+(\.0*)?([\s,;]+[-+]?[\d.]+(e[-+]?\d+)?|[\s,;]+nan){4,}[\s,;]*", re.I)
_MAXIMUM_NAMES = 1024 * 1024
_SNIFFED = 4096
_ROUNDING = 1.001
"""Fractions of tools that round may be a little above 1."""

CONFIDENCE_NOTICE = "A sixth number in a line (a confidence) was left out"
POLYGON_NOTICE = "Polygons were replaced by the boxes around them"


class Yolo(Format):
    """A text file a picture."""

    name = "yolo"
    title = "YOLO: a text file of the same name for each picture, with or without data.yaml"
    kinds = KINDS

    def recognise(self, listing: Listing) -> Evidence | None:
        texts = {
            path: copy
            for path, copy in listing.tables.items()
            if ending(path) == ".txt" and _is_document(listing, path)
        }
        good, empty = 0, 0
        for path, copy in texts.items():
            start = _start(copy)
            lines = [line for line in start if line.strip()]
            fits = all(_LINE.fullmatch(line.strip()) for line in lines)
            if fits and picture_of(listing, path) is not None:
                good, empty = good + bool(lines), empty + (not lines)
        names, notices = _names(listing)
        if not good and not (empty and names is not None):
            return None
        if names is None:
            notices.append("No file names the classes; their numbers are taken for names")
        reason = f"text files with boxes as fractions for {listing.samples:,} pictures"
        share = (good + empty) / max(len(texts), 1)
        return Evidence(0.92 * share, reason, tuple(notices), names)

    def read(self, listing: Listing, evidence: Evidence) -> Reading:
        return _YoloReading(listing, evidence, document_ending=".txt", names=evidence.facts)


@dataclass
class _YoloReading(BoxReading):
    names: Mapping[int, str] | None = field(default=None)

    def role(self, path: str) -> Role:
        if ending(path) == ".txt" and not _is_document(self.listing, path):
            return Role.OTHER
        return super().role(path)

    def document(self, path: str, payload: bytes) -> Iterable[Label | Refusal]:
        picture = picture_of(self.listing, path)
        if picture is None:
            return (Refusal(path, "no_picture", "There is no picture of the same name"),)
        boxes = []
        text = payload.decode("utf-8-sig", errors="replace")
        for line, content in enumerate(text.splitlines(), start=1):
            if not content.strip():
                continue
            try:
                boxes.append(self._box(content))
            except UnusableLabel as error:
                return (Refusal(picture, error.code, f"{error}: line {line} of {path}"),)
        return (Label(picture, annotation(boxes, fraction=True), None, path),)

    def _box(self, content: str) -> dict[str, Any]:
        """The box of a line. Raises UnusableLabel with what is wrong with it."""
        words = content.split()
        if len(words) < 5 and ("," in content or ";" in content):
            raise UnusableLabel(
                "bad_row", "It is separated by commas, and YOLO's numbers by spaces"
            )
        polygon = len(words) >= 7 and len(words) % 2 == 1
        if len(words) not in (5, 6) and not polygon:
            raise UnusableLabel(
                "bad_row",
                f"It has {len(words)} numbers, and YOLO's lines have 5: class, centre, size",
            )
        name = self._name(words[0])
        values = [number(word) for word in words[1:]]
        if any(
            value is not None and value > _ROUNDING for value in (values if polygon else values[:4])
        ):
            raise UnusableLabel(
                "pixel_numbers",
                "Its numbers are above 1, so they look like pixels; YOLO's are fractions of the "
                "picture's width and height. Divide them, or bring the boxes as Pascal VOC, COCO or CSV",
            )
        if polygon:
            self.notices[POLYGON_NOTICE] += 1
            return around(name, list(zip(values[::2], values[1::2], strict=True)))
        if len(words) == 6:
            self.notices[CONFIDENCE_NOTICE] += 1
        return centred(name, *values[:4])

    def _name(self, word: str) -> str:
        found = number(word)
        if found is None or not found.is_integer() or found < 0:
            raise UnusableLabel("unknown_class", f"Its class {word[:40]!r} is no whole number")
        if self.names is None:
            return str(int(found))
        if int(found) not in self.names:
            raise UnusableLabel(
                "unknown_class", f"Class {int(found)} is not among the {len(self.names)} names"
            )
        return self.names[int(found)]


def _is_document(listing: Listing, path: str) -> bool:
    """Whether a text file may be the labels of a picture."""
    if listing.sample_of(stem(path)) is not None:
        return True
    leaf = path.rsplit("/", 1)[-1].lower()
    return not (is_paper(path) or is_list(path) or names_classes(path) or "readme" in leaf)


def _names(listing: Listing) -> tuple[dict[int, str] | None, list[str]]:
    """Class names by their number, from data.yaml or a list of names; None without either."""
    found: dict[str, dict[int, str]] = {}
    files = sorted({**listing.documents, **listing.tables}.items(), key=lambda pair: _rank(pair[0]))
    for path, copy in files:
        names = None
        if ending(path) in (".yaml", ".yml"):
            names = _yaml_names(copy)
        elif names_classes(path):
            names = _listed_names(copy)
        if names:
            found[path] = names
    if not found:
        return None, []
    first = next(iter(found))
    others = [path for path, names in found.items() if names != found[first]]
    notices = [f"{path} names other classes than {first}, which is used" for path in others]
    return found[first], notices


def _rank(path: str) -> tuple[bool, int, str]:
    return ending(path) not in (".yaml", ".yml"), path.count("/"), path


def _yaml_names(copy: Path) -> dict[int, str] | None:
    if copy.stat().st_size > _MAXIMUM_NAMES:
        return None
    try:
        content = yaml.safe_load(copy.read_bytes())
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    names = content.get("names") if isinstance(content, dict) else None
    pairs = names.items() if isinstance(names, dict) else enumerate(names or ())
    try:
        return {int(at): label_of(name) for at, name in pairs}
    except (ValueError, TypeError):
        return None


def _listed_names(copy: Path) -> dict[int, str] | None:
    if copy.stat().st_size > _MAXIMUM_NAMES:
        return None
    text = copy.read_text(encoding_of(copy), errors="replace")
    return {at: line.strip() for at, line in enumerate(text.rstrip().splitlines())} or None


def _start(copy: Path) -> list[str]:
    """The first whole lines of a text."""
    with copy.open(encoding="utf-8-sig", errors="replace") as file:
        text = file.read(_SNIFFED)
    lines = text.splitlines()
    return lines[:-1] if len(text) == _SNIFFED else lines
