"""Label formats: recognition and readers. A new format is a file here and an entry in `FORMATS`."""

from __future__ import annotations

from orchard.errors import BadInput
from orchard.formats.base import Evidence, Format, Label, Reading, Role
from orchard.formats.box_tables import BoxTables
from orchard.formats.class_folders import ClassFolders
from orchard.formats.coco import Coco
from orchard.formats.createml import CreateML
from orchard.formats.easydl import EasyDL
from orchard.formats.easydl_boxes import EasyDLBoxes
from orchard.formats.json_lines import JsonLines
from orchard.formats.labelme import LabelMe
from orchard.formats.pascal_voc import PascalVOC
from orchard.formats.tables import Tables
from orchard.formats.yolo import Yolo
from orchard.sources.listing import Listing

FORMATS: tuple[Format, ...] = (
    EasyDL(),
    Tables(),
    JsonLines(),
    ClassFolders(),
    PascalVOC(),
    Coco(),
    Yolo(),
    BoxTables(),
    LabelMe(),
    CreateML(),
    EasyDLBoxes(),
)

__all__ = ["FORMATS", "Evidence", "Format", "Label", "Reading", "Role", "recognise"]


def recognise(
    listing: Listing, kind: str, formats: tuple[Format, ...] = FORMATS
) -> tuple[Format, Evidence, list[str]]:
    """The format that is surest of a source, its evidence, and notices about the choice.

    Args:
        kind: the kind of labels that is asked for, "class" or "boxes".

    Raises BadInput that says what was seen and what would be accepted.
    """
    serving = [each for each in formats if kind in each.kinds]
    asked = [each for each in serving if listing.preferred is None or each.reads_tables]
    found = [(each, evidence) for each in asked if (evidence := each.recognise(listing))]
    if not found:
        raise _not_recognised(listing, asked)
    found.sort(key=lambda pair: -pair[1].confidence)
    best, evidence = found[0]
    notices = list(evidence.notices)
    for other, _ in found[1:]:
        notices.append(f"The labels could also be read as {other.name}; {best.name} was surer")
    return best, evidence, notices


def _not_recognised(listing: Listing, formats: list[Format]) -> BadInput:
    endings = ", ".join(
        f"{count:,} × {extension or 'no extension'}"
        for extension, count in listing.endings.most_common(10)
    )
    first = "; ".join(listing.first) or "none"
    refused = ", ".join(f"{count:,} × {code}" for code, count in listing.refused.most_common())
    seen = f"{listing.preferred or listing.title}: {listing.files:,} files ({endings or 'none'})"
    accepted = "; ".join(each.title for each in formats) or "nothing yet"
    mistaken = [sentence for each in formats for sentence in each.mistaken(listing)]
    return BadInput(
        f"No labelled {listing.sample_word}s were recognised",
        value=f"{seen}, first {first}{f'; refused {refused}' if refused else ''}"
        + "".join(f". {sentence}" for sentence in mistaken),
        way_out=f"Accepted are, as a folder or packed as zip, tar, tar.gz or 7z: {accepted}",
    )
