"""Pascal VOC: an XML file a picture, beside it or in a folder of its own.

Source: "The PASCAL Visual Object Classes Challenge 2012 Development Kit", section on annotations;
written today by LabelImg, CVAT, Roboflow and others. The corners are taken as they stand, as these
tools mean them: the kit's own counting from 1 with both ends included differs by one pixel.
`<path>` is of the machine on which the labels were made and is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from orchard.formats.base import Evidence, Format, Label, Reading
from orchard.formats.boxes import KINDS, BoxReading, annotation, corners, label_of, picture_of
from orchard.formats.fields import UnusableLabel
from orchard.sources.base import Refusal
from orchard.sources.listing import Listing
from orchard.sources.names import ending

MAXIMUM_BYTES = 8 * 1024 * 1024
_SNIFFED = 4096
_ROOT = re.compile(rb"<annotation[\s>]")
_ENCODING = re.compile(rb"""^\s*<\?xml[^>]*encoding\s*=\s*["'](gb[\w-]*)["']""", re.IGNORECASE)


class UnusableXml(ValueError):
    """A document that is not read; `code` is short, the text a sentence."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class PascalVOC(Format):
    """An XML file a picture."""

    name = "pascal_voc"
    title = "Pascal VOC: an XML file of the same name for each picture"
    kinds = KINDS

    def recognise(self, listing: Listing) -> Evidence | None:
        seen = {path: copy for path, copy in listing.documents.items() if ending(path) == ".xml"}
        good = sum(_ROOT.search(_start(copy)) is not None for copy in seen.values())
        if not good:
            return None
        reason = (
            f"{listing.endings['.xml']:,} XML files with boxes for {listing.samples:,} pictures"
        )
        return Evidence(0.96 * good / len(seen), reason)

    def read(self, listing: Listing, evidence: Evidence) -> Reading:
        return _VocReading(listing, evidence, document_ending=".xml")


@dataclass
class _VocReading(BoxReading):
    def document(self, path: str, payload: bytes) -> Iterable[Label | Refusal]:
        try:
            root = parsed_xml(payload)
        except UnusableXml as error:
            return (Refusal(path, error.code, str(error)),)
        if root.tag != "annotation":
            return (
                Refusal(path, "bad_xml", f"Its first element is <{root.tag}>, not <annotation>"),
            )
        picture = picture_of(self.listing, path, root.findtext("filename"))
        if picture is None:
            return (Refusal(path, "no_picture", "There is no picture of the same name"),)
        try:
            boxes = [_box(each) for each in root.findall("object")]
        except UnusableLabel as error:
            return (Refusal(picture, error.code, f"{error}: {path}"),)
        size = (root.findtext("size/width"), root.findtext("size/height"))
        return (Label(picture, annotation(boxes, size), None, path),)


def _box(element: Element) -> dict[str, Any]:
    sides = [element.findtext(f"bndbox/{side}") for side in ("xmin", "ymin", "xmax", "ymax")]
    return corners(label_of(element.findtext("name")), *sides)


def parsed_xml(payload: bytes) -> Element:
    """The first element of a document without a DTD.

    Entities of a document's own are where XML reads other files and grows without bound, so a
    document that declares any, or a DTD at all, is not read on.

    Raises:
        UnusableXml: a DTD, no well-formed XML, or more than `MAXIMUM_BYTES`.
    """
    if len(payload) > MAXIMUM_BYTES:
        raise UnusableXml("bad_xml", f"The XML has more than {MAXIMUM_BYTES:,} bytes")
    encoding = None
    named = _ENCODING.match(payload)
    if named is not None:
        # expat reads no encoding of several bytes a character but Unicode's.
        payload, encoding = payload.decode("gb18030", "replace").encode(), "utf-8"
    builder = TreeBuilder()
    parser = expat.ParserCreate(encoding)
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = _refuse_dtd
    parser.EntityDeclHandler = _refuse_dtd
    try:
        parser.Parse(payload, True)
    except (expat.ExpatError, ValueError) as error:
        if isinstance(error, UnusableXml):
            raise
        raise UnusableXml("bad_xml", f"The XML is not well-formed: {error}") from error
    return builder.close()


def _refuse_dtd(*declared: Any) -> None:
    raise UnusableXml(
        "xml_with_dtd", "The XML declares a DTD or entities, which are not read; remove them"
    )


def _start(copy: Path) -> bytes:
    with copy.open("rb") as file:
        return file.read(_SNIFFED)
