"""Truth and answer can be seen in a thumbnail."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from orchard.tasks import task
from orchard.tasks.object_detection.pictures import RIGHT, TRUTH, WRONG

TASK = task("object_detection")
CARD = {"labels": ["cup", "plate"], "thresholds": {"default": 0.5}}
BOX = {"label": "cup", "left": 40, "top": 60, "width": 80, "height": 50}


def payload(width: int = 400, height: int = 300) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), (230, 230, 230)).save(buffer, "PNG")
    return buffer.getvalue()


def drawn(truth: Any = None, answer: Any = None, side: int = 320, **size: int) -> Any:
    rows = None if answer is None else np.array(answer, np.float32).reshape(-1, 6)
    image = Image.open(io.BytesIO(TASK.thumbnail(payload(**size), side, truth, rows, CARD)))
    assert image.format == "JPEG" and max(image.size) <= side
    return np.asarray(image).astype(int)


def near(pixels: Any, colour: tuple[int, int, int]) -> Any:
    return np.abs(pixels - np.array(colour)).sum(axis=2) < 120


def test_a_plain_thumbnail_has_nothing_drawn_in() -> None:
    assert (np.abs(drawn() - 230) < 4).all()
    assert drawn(width=30, height=20).shape == (20, 30, 3)


def test_truth_and_answer_look_different_and_lie_where_they_are() -> None:
    scale = 320 / 400
    edges = [round(value * scale) for value in (40, 60, 120, 110)]
    truth = near(drawn({"boxes": [BOX]}), TRUTH)
    answer = near(drawn(None, [[0, 0.9, 40, 60, 80, 50]]), WRONG)
    for mask, solid in ((truth, False), (answer, True)):
        bottom = mask[edges[3] - 3 : edges[3] + 1, edges[0] + 4 : edges[2] - 4].any(axis=0)
        assert bottom.all() == solid
        assert bottom.mean() > 0.4
        assert not mask[edges[1] + 8 : edges[3] - 8, edges[0] + 8 : edges[2] - 8].any()


@pytest.mark.parametrize(
    ("row", "colour"), [([0, 0.9, 42, 60, 80, 50], RIGHT), ([0, 0.9, 250, 200, 80, 50], WRONG)]
)
def test_a_right_box_has_another_colour_than_a_wrong_one(row: list[float], colour: Any) -> None:
    pixels = drawn({"boxes": [BOX]}, [row])
    other = WRONG if colour == RIGHT else RIGHT
    assert near(pixels, colour).sum() > 100 > near(pixels, other).sum()


def test_boxes_below_the_threshold_are_not_drawn() -> None:
    assert not near(drawn(None, [[0, 0.4, 40, 60, 80, 50]]), WRONG).any()


def test_small_pictures_are_enlarged_so_that_boxes_can_be_told_apart() -> None:
    pixels = drawn(
        {"boxes": [{**BOX, "left": 4, "top": 4, "width": 10, "height": 10}]}, width=40, height=30
    )
    assert pixels.shape == (240, 320, 3)


@pytest.mark.parametrize("name", ["x" * 200, "中文", "a\nb", ""])
def test_any_name_and_place_can_be_drawn(name: str) -> None:
    card = {"labels": [name], "thresholds": {"default": 0.5}}
    boxes = [{**BOX, "label": name}, {**BOX, "label": "unknown", "crowd": True}]
    rows = np.array([[0, 0.9, 0, 0, 400, 300], [0, 0.9, 399.5, 299.5, 0.5, 0.5]], np.float32)
    for side in (16, 176, 320):
        image = Image.open(
            io.BytesIO(TASK.thumbnail(payload(), side, {"boxes": boxes}, rows, card))
        )
        assert max(image.size) == side
