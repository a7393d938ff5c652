"""Real sets of pictures with boxes for the measurements of detection."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "object_detection"


@dataclass(frozen=True)
class BoxSet:
    """Pictures with boxes.

    Attributes:
        files: N paths, sorted.
        annotations: N, {"boxes": [{"label", "left", "top", "width", "height"}]}.
        sizes: (N, 2) width and height.
        labels: K names.
    """

    name: str
    files: list[Path]
    annotations: list[dict[str, Any]]
    sizes: NDArray[np.int64]
    labels: list[str]


def box_set(name: str, data: Path = DATA) -> BoxSet:
    """A set below `../shared/data/object_detection`."""
    folder = data / name
    files = sorted(path for path in (folder / "images").iterdir() if path.suffix == ".jpg")
    sizes = [Image.open(path).size for path in files]
    boxes_of = READERS[name](folder)
    annotations = [
        {
            "boxes": [
                _box(*row) for row in boxes_of(path, size) if row[3] > row[1] and row[4] > row[2]
            ]
        }
        for path, size in zip(files, sizes, strict=True)
    ]
    labels = sorted({box["label"] for each in annotations for box in each["boxes"]})
    return BoxSet(name, files, annotations, np.array(sizes, np.int64), labels)


Row = tuple[str, float, float, float, float]
"""Label, left, top, right, bottom in pixels."""
Reader = Callable[[Path, tuple[int, int]], list[Row]]


def _box(label: str, left: float, top: float, right: float, bottom: float) -> dict[str, Any]:
    return {
        "label": label,
        "left": left,
        "top": top,
        "width": right - left,
        "height": bottom - top,
    }


def _voc(folder: Path) -> Reader:
    """Pascal VOC: one XML a picture."""

    def read(path: Path, size: tuple[int, int]) -> list[Row]:
        tree = ElementTree.parse(folder / "annotations" / f"{path.stem}.xml")
        rows = []
        for item in tree.iter("object"):
            sides = [float(item.findtext(f"bndbox/{side}") or 0) for side in _SIDES]
            rows.append((str(item.findtext("name")), *sides))
        return rows  # type: ignore[return-value]

    return read


def _yolo(folder: Path) -> Reader:
    """YOLO: a text file a picture, class number and middle, width and height as shares."""

    def read(path: Path, size: tuple[int, int]) -> list[Row]:
        rows: list[Row] = []
        for line in (folder / "labels" / f"{path.stem}.txt").read_text().splitlines():
            number, x, y, w, h = line.split()[:5]
            middle_x, middle_y = float(x) * size[0], float(y) * size[1]
            half_w, half_h = float(w) * size[0] / 2, float(h) * size[1] / 2
            edges = (middle_x - half_w, middle_y - half_h, middle_x + half_w, middle_y + half_h)
            rows.append((f"class {number}", *edges))
        return rows

    return read


def _csv(folder: Path) -> Reader:
    """TensorFlow's object detection API: one table, a row a box."""
    by_name: dict[str, list[Row]] = {}
    for path in sorted((folder / "annotations").glob("*.csv")):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                sides = [float(row[side]) for side in _SIDES]
                by_name.setdefault(row["filename"], []).append((row["class"], *sides))  # type: ignore[arg-type]

    def read(path: Path, size: tuple[int, int]) -> list[Row]:
        return by_name.get(path.name, [])

    return read


_SIDES = ("xmin", "ymin", "xmax", "ymax")
READERS: dict[str, Callable[[Path], Reader]] = {
    "bccd": _voc,
    "microcontrollers": _voc,
    "wind_turbines": _csv,
    "egg_quality": _yolo,
}
