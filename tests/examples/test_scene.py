"""Scenes with boxes: what the boxes hold is what is seen."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image, ImageDraw

from examples import floor, meter, scene, shelf
from examples.scene import Box, Layer, Scene

SIZE = (320, 240)
DRAWN = {"floor_boxes": floor.draw_boxes, "meter": meter.draw, "shelf": shelf.draw}
CLASSES = {"floor_boxes": floor.CLASSES, "meter": meter.CLASSES, "shelf": shelf.CLASSES}


@pytest.fixture(scope="module", params=sorted(DRAWN))
def drawn(request: pytest.FixtureRequest) -> tuple[str, list[Scene]]:
    """A set's name and some of its scenes."""
    name = str(request.param)
    count = {"floor_boxes": 16, "meter": 14, "shelf": 7}[name]
    return name, [DRAWN[name](np.random.default_rng([1, seed]), SIZE) for seed in range(count)]


def sprite(colour: tuple[int, int, int], size: tuple[int, int]) -> Image.Image:
    """An ellipse that reaches each side of the picture."""
    picture = Image.new("L", (size[0] * 4, size[1] * 4), 0)
    ImageDraw.Draw(picture).ellipse((0, 0, size[0] * 4 - 1, size[1] * 4 - 1), fill=255)
    whole = Image.new("RGBA", size, (*colour, 0))
    whole.putalpha(picture.reduce(4))
    return whole


def extent(mask: np.ndarray) -> tuple[int, int, int, int]:
    rows, columns = np.nonzero(mask)
    return columns.min(), rows.min(), columns.max() + 1, rows.max() + 1


@pytest.mark.parametrize("seed", range(8))
def test_a_box_fits_the_pixels_that_are_seen(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sheet = Image.new("RGB", (800, 600), (128, 128, 128))
    layers = [
        Layer(sprite((255, 0, 0), (120, 90)), (160, 130), "red"),
        Layer(sprite((0, 255, 0), (90, 150)), (230, 140), "green"),
        Layer(sprite((0, 0, 255), (100, 100)), (480, 380), "blue"),
        Layer(sprite((0, 0, 0), (50, 50)), (450, 400)),
    ]
    view = scene.view(rng, sheet.size, 0.93, 2.0, 0.1, SIZE)
    seen = scene.look(sheet, layers, view, SIZE)
    pixels = np.asarray(seen.picture, dtype=np.int64)
    boxes = {box.name: box for box in seen.boxes()}
    assert list(boxes) == ["red", "green", "blue"]
    for channel, name in enumerate(boxes):
        box = boxes[name]
        painted = pixels[..., channel] - pixels.sum(axis=2) / 3 > 60
        edges = (box.left, box.top, box.right, box.bottom)
        assert np.abs(np.subtract(edges, extent(painted))).max() <= 2


def test_what_is_hidden_cut_off_or_small_is_not_in_the_picture() -> None:
    sheet = Image.new("RGB", (640, 480), (128, 128, 128))
    layers = [
        Layer(sprite((255, 0, 0), (80, 80)), (100, 100), "hidden"),
        Layer(sprite((0, 0, 0), (80, 80)), (110, 100)),
        Layer(sprite((255, 0, 0), (80, 80)), (600, 300), "cut off"),
        Layer(sprite((255, 0, 0), (80, 8)), (300, 300), "small"),
        Layer(sprite((0, 255, 0), (80, 80)), (300, 100), "seen"),
    ]
    corners = [(0.0, 0.0), (640.0, 0.0), (640.0, 480.0), (0.0, 480.0)]
    seen = scene.look(sheet, layers, corners, (640, 480))
    assert seen.boxes() == (Box("seen", 300, 100, 380, 180),)
    pixels = np.asarray(seen.picture, dtype=np.int64)
    assert not ((pixels[..., 0] > 200) & (pixels[..., 1] < 60)).any()


def test_boxes_lie_in_the_picture_and_are_tight(drawn: tuple[str, list[Scene]]) -> None:
    name, scenes = drawn
    for seen in scenes:
        assert seen.picture.size == SIZE
        assert seen.owners.shape == (SIZE[1], SIZE[0])
        for number, box in enumerate(seen.boxes(), start=1):
            assert 0 <= box.left < box.right <= SIZE[0]
            assert 0 <= box.top < box.bottom <= SIZE[1]
            least = scene.SMALLEST * SIZE[0]
            assert min(box.right - box.left, box.bottom - box.top) >= least
            edges = (box.left, box.top, box.right, box.bottom)
            assert np.abs(np.subtract(edges, extent(seen.owners == number))).max() <= 2


def test_each_class_occurs(drawn: tuple[str, list[Scene]]) -> None:
    name, scenes = drawn
    assert {label for seen in scenes for label in seen.names} == set(CLASSES[name])


def test_as_many_objects_as_the_set_says(drawn: tuple[str, list[Scene]]) -> None:
    name, scenes = drawn
    low, high = {"floor_boxes": (0, 4), "meter": (4, 7), "shelf": (5, 25)}[name]
    counts = [len(seen.names) for seen in scenes]
    assert low <= min(counts) and max(counts) <= high
    assert len(set(counts)) >= 3
    if name == "floor_boxes":
        assert 0 < counts.count(0) < len(counts) / 2


def test_the_number_of_a_meter_reads_from_left_to_right() -> None:
    for seed in range(12):
        seen = meter.draw(np.random.default_rng([2, seed]), SIZE)
        boxes = seen.boxes()
        assert list(boxes) == sorted(boxes, key=lambda box: (box.left + box.right) / 2)
        middles = [(box.left + box.right) / 2 for box in boxes]
        assert min(np.diff(middles)) > scene.SMALLEST * SIZE[0]


def test_products_hide_each_other_in_part() -> None:
    touching = 0
    for seed in range(6):
        boxes = shelf.draw(np.random.default_rng([3, seed]), SIZE).boxes()
        for place, one in enumerate(boxes):
            for other in boxes[place + 1 :]:
                wide = min(one.right, other.right) - max(one.left, other.left)
                tall = min(one.bottom, other.bottom) - max(one.top, other.top)
                touching += wide > 1 and tall > 1
    assert touching >= 3


def test_a_document_names_size_objects_and_corners() -> None:
    boxes = (Box("a & b", 1, 2, 30, 40), Box("c", 0, 0, 5, 6))
    root = ElementTree.fromstring(scene.pascal_voc((64, 48), boxes))
    assert root.tag == "annotation"
    assert (root.findtext("size/width"), root.findtext("size/height")) == ("64", "48")
    found = [
        Box(
            str(item.findtext("name")),
            *(int(item.findtext(f"bndbox/{s}", "")) for s in ("xmin", "ymin", "xmax", "ymax")),
        )
        for item in root.findall("object")
    ]
    assert tuple(found) == boxes


def test_a_picture_without_objects_has_a_document_that_says_so() -> None:
    root = ElementTree.fromstring(scene.pascal_voc((64, 48), ()))
    assert root.find("size") is not None
    assert root.findall("object") == []
