"""A detector whose pictures are cut into tiles: each is a picture of its own until answers are joined."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from orchard.preprocess import inputs
from tests.trainers.object_detection.conftest import Trained
from tests.trainers.object_detection.synthetic import (
    LABELS,
    NAME,
    OPERATIONS,
    Scene,
    branch,
    feature_matrix,
    pixels_of,
    registered,
    scene,
    tiled,
)
from trainers.object_detection import trial
from trainers.object_detection.maps import levels_of, pictures_of
from trainers.object_detection.trial import _evenly, _instructive


def specks(seed: int) -> Scene:
    """A picture four times as large as the input with a few bright or dark specks of 9 to 12 pixels."""
    random = np.random.default_rng(seed)
    pixels = random.normal(120, 6, (256, 384, 3))
    boxes: list[dict[str, Any]] = []
    for slot in random.permutation(24)[:6].tolist():
        w, h = (int(side) for side in random.integers(9, 13, 2))
        left = slot % 6 * 64 + int(random.integers(0, 64 - w))
        top = slot // 6 * 64 + int(random.integers(0, 64 - h))
        label = int(random.integers(0, 2))
        pixels[top : top + h, left : left + w] += -90 if label else 90
        boxes.append({"label": LABELS[label], "left": left, "top": top, "width": w, "height": h})
    buffer = io.BytesIO()
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(buffer, "PNG")
    return Scene(buffer.getvalue(), {"boxes": boxes})


def test_the_branch_asks_for_the_features_of_all_tiles() -> None:
    with registered():
        one = trial.feature_width(branch())
        assert trial.feature_width(branch(tiles=2)) == 5 * one
        assert feature_matrix([scene(0)], tiled(2)).shape == (4, 1, 5 * one)


def test_boxes_lie_on_their_things_in_each_tile() -> None:
    made = [specks(seed) for seed in range(3)]
    sizes = np.array([[384, 256]] * 3)
    with registered():
        levels = levels_of(NAME, 64, 96)
    matrix = np.zeros((1, 15, 1), np.float16)
    annotations = [each.annotation for each in made]
    pictures = pictures_of(matrix, ["plain"], levels, tiled(2), annotations, sizes, LABELS)
    assert len(pictures.boxes) == 15
    seen = np.concatenate([inputs(tiled(2), pixels_of(each.payload)) for each in made])
    for values, boxes, classes in zip(seen, pictures.boxes, pictures.classes, strict=True):
        for (left, top, right, bottom), label in zip(boxes, classes, strict=True):
            inner = values[0, round(top) : round(bottom), round(left) : round(right)]
            assert inner.mean() > 0.2 if label == 0 else inner.mean() < -0.3


def test_training_takes_tiles_with_boxes_and_as_many_without() -> None:
    class Few:
        boxes = [np.zeros((int(row in (3, 8)), 4), np.float32) for row in range(20)]

    rows = _instructive(Few(), np.arange(20))  # type: ignore[arg-type]
    assert {3, 8} <= set(rows.tolist()) and len(rows) == 4


def test_measured_tiles_are_not_always_the_same_corner() -> None:
    chosen = _evenly(np.arange(500), 100, tiled=True)
    assert len(set(chosen.tolist())) == 100 and len(set((chosen % 5).tolist())) == 5
    assert _evenly(np.arange(500), 100, tiled=False).tolist() == list(range(0, 500, 5))


@pytest.mark.parametrize("mode", ["frozen", "fine_tuned"])
def test_a_trial_on_tiles_answers_for_whole_pictures(trained: Trained, mode: str) -> None:
    more = {"frozen_to": "block0", "weights": "pretrained", "threads": 1}
    result = trained(
        tiles=2,
        mode=mode,
        members=1,
        rungs=[{"keep": 1, "epochs": 1}],
        epoch_pictures=16,
        **(more if mode == "fine_tuned" else {}),
    )
    assert result.preprocessing == tiled(2)
    assert len(result.answers.answers) == 4  # one member holds out a fourth of 16
    prepared = result.preprocess(result.golden_payloads[0])
    assert prepared.shape == (5, 3, 64, 96) and len(result.predict(prepared)) == 5
    assert result.proof < 1e-4


def test_tiles_find_small_objects_that_the_whole_picture_hides(trained: Trained) -> None:
    work = {
        "members": 1,
        "rungs": [{"keep": 1, "epochs": 12}],
        "mirrored": False,
        "epoch_pictures": 48,
    }
    whole = trained(make=specks, **work).validation["ap50"]
    assert trained(make=specks, tiles=3, **work).validation["ap50"] > whole + 0.1


def test_operations_of_the_tests_have_no_tiles() -> None:
    assert tiled(1) == OPERATIONS
