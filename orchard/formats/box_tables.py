"""CSV and its kin with one line a box: a path, a class and the numbers of the box.

The columns are known by their names in any usual spelling (TensorFlow's `xmin … ymax`, Open
Images' `XMin … YMax`, `left, top, width, height`, …), without a head line in the order of
keras-retinanet: path, x1, y1, x2, y2, class. A line without any number is a picture without
objects. A column may say which source a picture comes of. Whether the numbers are pixels or
fractions is decided over the whole table.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from orchard.formats.base import Evidence, Format, Label, Reading
from orchard.formats.boxes import (
    KINDS,
    BoxReading,
    annotation,
    box,
    centred,
    corners,
    label_of,
    number,
    splits_of_files,
)
from orchard.formats.fields import UnusableLabel, normalised, origin_of, pick
from orchard.formats.paths import Resolver, loose_path
from orchard.formats.splits import split_of
from orchard.formats.tables import ENDINGS, LEAST_SHARE, SNIFFED_ROWS, folder_of, origin_notice
from orchard.formats.text_file import encoding_of, rows, separator_of
from orchard.sources.base import Refusal
from orchard.sources.listing import Listing
from orchard.sources.names import ending

_SPELLINGS = {
    "left": ("xmin", "x_min", "left", "x1", "x0", "bbox_left", "bbox_x1", "bbox_xmin", "box_left",
             "bbox_x", "x"),
    "top": ("ymin", "y_min", "top", "y1", "y0", "bbox_top", "bbox_y1", "bbox_ymin", "box_top",
            "bbox_y", "y"),
    "right": ("xmax", "x_max", "right", "x2", "bbox_right", "bbox_x2", "bbox_xmax", "box_right"),
    "bottom": ("ymax", "y_max", "bottom", "y2", "bbox_bottom", "bbox_y2", "bbox_ymax",
               "box_bottom"),
    "width": ("bbox_width", "box_width", "bbox_w", "box_w", "width", "w"),
    "height": ("bbox_height", "box_height", "bbox_h", "box_h", "height", "h"),
    "centre_x": ("x_center", "x_centre", "xcenter", "center_x", "centre_x", "cx", "xc"),
    "centre_y": ("y_center", "y_centre", "ycenter", "center_y", "centre_y", "cy", "yc"),
    "picture_width": ("image_width", "img_width", "image_w", "img_w", "picture_width", "width"),
    "picture_height": ("image_height", "img_height", "image_h", "img_h", "picture_height",
                       "height"),
    "crowd": ("iscrowd", "is_crowd", "isgroupof", "is_group_of", "crowd"),
}  # fmt: skip
_FORMS = (
    ("left", "top", "right", "bottom"),
    ("centre_x", "centre_y", "width", "height"),
    ("left", "top", "width", "height"),
)
_NOTHING = frozenset({"", "nan", "none", "null", "na", "n/a", "-"})
_YES = frozenset({"1", "1.0", "true", "yes"})
_ROUNDING = 1.001
_WITHOUT_HEAD = {"path": 0, "left": 1, "top": 2, "right": 3, "bottom": 4, "label": 5}


@dataclass(frozen=True)
class BoxTable:
    """How one table is to be read: where it lies, its columns by meaning, their unit, and what the
    column of sources is called ("" without one)."""

    path: str
    copy: Path
    encoding: str
    separator: str
    header: bool
    columns: Mapping[str, int]
    form: tuple[str, str, str, str]
    share: float
    fraction: bool
    origin_name: str = ""

    def content(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and cells of every line below the head. May raise csv.Error."""
        found = rows(self.copy, self.encoding, self.separator)
        return islice(found, 1, None) if self.header else found


class BoxTables(Format):
    """CSV, TSV or text with a box in each line."""

    name = "box_table"
    title = "a CSV or TSV beside the pictures with a path, a class and a box (xmin, ymin, xmax, ymax) in each row"
    kinds = KINDS
    reads_tables = True

    def recognise(self, listing: Listing) -> Evidence | None:
        found = tuple(
            table
            for path, copy in sorted(listing.tables.items())
            if ending(path) in ENDINGS
            and listing.preferred in (None, path)
            and (table := inspect(listing, path, copy)) is not None
        )
        if not found:
            return None
        units = {"fractions" if table.fraction else "pixels" for table in found}
        notices = (
            f"The numbers of the boxes are read as {' or '.join(sorted(units))}",
            *(
                origin_notice("column", table.origin_name, table.path)
                for table in found
                if table.origin_name
            ),
        )
        names = ", ".join(table.path for table in found)
        share = max(table.share for table in found)
        return Evidence(0.5 + 0.45 * share, f"{names} with a box in each row", notices, found)

    def read(self, listing: Listing, evidence: Evidence) -> Reading:
        return _BoxTableReading(listing, evidence)


@dataclass
class _BoxTableReading(BoxReading):
    def tables(self) -> Iterable[Label | Refusal]:
        tables: tuple[BoxTable, ...] = self.evidence.facts
        splits = splits_of_files(table.path for table in tables)
        for table in tables:
            resolver = Resolver(self.listing, folder_of(table.path))
            try:
                for line, cells in table.content():
                    yield _label(resolver, table, line, cells, splits[table.path])
            except csv.Error as error:
                reason = f"The table cannot be read further: {error}"
                yield Refusal(table.path, "bad_table", reason)


def _label(
    resolver: Resolver, table: BoxTable, line: int, cells: list[str], split: str | None
) -> Label | Refusal:
    where = f"line {line} of {table.path}"

    def cell(column: str) -> str:
        at = table.columns.get(column)
        return cells[at].strip() if at is not None and at < len(cells) else ""

    written = cell("path")
    path = resolver.find(written) or loose_path(written) if "\n" not in written else ""
    if not path:
        return Refusal(table.path, "bad_row", f"No path, or an open quote, in {where}")
    sides = [cell(column) for column in table.form]
    boxes = []
    if any(side.lower() not in _NOTHING for side in sides):
        try:
            boxes = [_box(table.form, label_of(cell("label")), sides, cell("crowd"))]
        except UnusableLabel as error:
            return Refusal(path, error.code, f"{error}: {where}")
    size = (cell("picture_width"), cell("picture_height"))
    said = split_of(cell("split")) or split
    made = annotation(boxes, size, fraction=table.fraction)
    return Label(path, made, said, table.path, line, origin_of(cell("origin")))


def _box(form: tuple[str, ...], label: str, sides: list[str], crowd: str) -> dict[str, Any]:
    if form[0] == "centre_x":
        return centred(label, *sides)
    make = corners if form[2] == "right" else box
    return make(label, *sides, crowd=crowd.lower() in _YES)


def inspect(listing: Listing, path: str, copy: Path) -> BoxTable | None:
    """How a table is to be read; None where it has no boxes of pictures of the source."""
    encoding = encoding_of(copy)
    separator = separator_of(copy, encoding)
    try:
        sample = [cells for _, cells in islice(rows(copy, encoding, separator), SNIFFED_ROWS)]
        if not sample:
            return None
        resolver = Resolver(listing, folder_of(path))
        columns = _columns(sample[0])
        header = columns is not None
        if columns is None:
            if not _is_without_head(sample, resolver):
                return None
            columns = _WITHOUT_HEAD
        form = next(each for each in _FORMS if all(name in columns for name in each))
        body = sample[1:] if header else sample
        hits = sum(
            len(cells) > columns["path"] and resolver.find(cells[columns["path"]]) is not None
            for cells in body
        )
        share = hits / max(len(body), 1)
        if share < LEAST_SHARE:
            return None
        origin_name = sample[0][columns["origin"]] if "origin" in columns else ""
        table = BoxTable(
            path, copy, encoding, separator, header, columns, form, share, False, origin_name
        )
        return replace(table, fraction=_are_fractions(table))
    except csv.Error:
        return None


def _columns(first: list[str]) -> dict[str, int] | None:
    """Columns by their meaning; None where a path, a class or the box is not among them."""
    names = list(map(normalised, first))
    columns: dict[str, int] = {}
    for meaning, spellings in _SPELLINGS.items():
        at = next((names.index(spelling) for spelling in spellings if spelling in names), None)
        if at is not None:
            columns[meaning] = at
    form = next((each for each in _FORMS if all(name in columns for name in each)), None)
    if form is None:
        return None
    taken = {columns[name] for name in form}
    # A column "width" is the box's where there are no opposite corners, else the picture's.
    for name in ("picture_width", "picture_height"):
        if columns.get(name) in taken:
            del columns[name]
    rest = ["" if at in taken else name for at, name in enumerate(first)]
    path, label = pick(rest, "path"), pick(rest, "label")
    if path is None or label is None or path == label:
        return None
    further = {name: at for name in ("split", "origin") if (at := pick(rest, name)) is not None}
    return {**columns, "path": path, "label": label, **further}


def _is_without_head(sample: list[list[str]], resolver: Resolver) -> bool:
    """Whether the lines are path, x1, y1, x2, y2, class, the last five empty at times."""

    def fits(cells: list[str]) -> bool:
        sides = [cell.strip() for cell in cells[1:5]]
        empty = all(side.lower() in _NOTHING for side in sides)
        return empty or (cells[5].strip() != "" and all(number(side) is not None for side in sides))

    return (
        all(len(cells) == 6 and fits(cells) for cells in sample)
        and any(number(cells[1]) is not None for cells in sample)
        and resolver.find(sample[0][0]) is not None
    )


def _are_fractions(table: BoxTable) -> bool:
    """Whether no number of any box is above 1."""
    columns = [table.columns[name] for name in table.form]
    seen = False
    for _, cells in table.content():
        for at in columns:
            value = number(cells[at]) if at < len(cells) else None
            if value is not None and value > _ROUNDING:
                return False
            seen = seen or value is not None
    return seen
