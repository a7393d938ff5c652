"""Outputs of a graph become boxes in pixels of the picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from orchard.errors import BadInput
from orchard.preprocess import Placement, apply, placements, standard
from orchard.tasks import task
from orchard.tasks.object_detection.answers import answer, boxes_found, suppressed
from orchard.tasks.object_detection.boxes import overlaps

TASK = task("object_detection")


def operations(width: int, height: int, fit: str, mirror: bool = False) -> list[dict[str, Any]]:
    found = standard(8, fit)
    found[0] |= {"width": width, "height": height}
    return [found[0], {"operation": "mirror"}, found[1]] if mirror else found


def output(rows: list[tuple[float, ...]]) -> np.ndarray:
    return np.array(rows, np.float32)[np.newaxis]


@pytest.mark.parametrize("fit", ["pad", "squash", "crop"])
@pytest.mark.parametrize("mirror", [False, True])
@pytest.mark.parametrize("size", [(640, 480), (300, 500), (97, 131), (500, 120)])
def test_a_rectangle_is_found_where_it_is_drawn(
    fit: str, mirror: bool, size: tuple[int, int]
) -> None:
    """The box of a bright rectangle in the prepared input comes back at its place in the picture."""
    width, height = size
    left, top, right, bottom = 0.42 * width, 0.4 * height, 0.58 * width, 0.63 * height
    image = Image.new("RGB", size)
    place = [round(left), round(top), round(right), round(bottom)]
    image.paste((255, 255, 255), tuple(place))
    chain = operations(224, 160, fit, mirror)
    bright = apply(chain, np.asarray(image))[0] > 0.4
    if fit == "pad":  # the padding is grey and not bright
        assert not bright[0, 0]
    columns, rows = np.flatnonzero(bright.any(axis=0)), np.flatnonzero(bright.any(axis=1))
    edges = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
    found = TASK.answer(output([(*edges, 0.9)]), (height, width, 3), {"preprocessing": chain})
    expected = [place[0], place[1], place[2] - place[0], place[3] - place[1]]
    pixel = max(width / 224, height / 160, 1.0)
    assert found[0, 2:] == pytest.approx(expected, abs=1.6 * pixel)
    assert found[0, :2] == pytest.approx([0, 0.9])


@given(
    st.sampled_from(["pad", "squash", "crop"]),
    st.booleans(),
    st.tuples(st.integers(1, 900), st.integers(1, 900)),
)
@settings(max_examples=100, deadline=None)
def test_boxes_stay_inside_of_the_picture(fit: str, mirror: bool, size: tuple[int, int]) -> None:
    chain = operations(64, 48, fit, mirror)
    far = output([(-1e6, -1e6, 1e6, 1e6, 0.9), (-3e6, -3e6, -2e6, -2e6, 0.8)])
    found = TASK.answer(far, (size[1], size[0], 3), {"preprocessing": chain})
    # The first covers the whole input and all that lies beyond; the second is outside.
    assert found[:, 2:].tolist() == [[0, 0, *map(float, size)]]


def test_a_weaker_box_on_the_same_object_goes_but_only_of_the_same_class() -> None:
    chain = operations(100, 100, "squash")
    rows = [
        (10, 10, 50, 50, 0.9, 0.0),
        (11, 10, 51, 50, 0.8, 0.0),
        (10, 10, 50, 50, 0.0, 0.7),
        (60, 60, 90, 90, 0.3, 0.005),
    ]
    found = TASK.answer(output(rows), (100, 100, 3), {"preprocessing": chain})
    assert found.tolist() == pytest.approx(
        np.array([[0, 0.9, 10, 10, 40, 40], [1, 0.7, 10, 10, 40, 40], [0, 0.3, 60, 60, 30, 30]])
    )


def test_settings_of_the_card_hold() -> None:
    chain = operations(100, 100, "squash")
    rows = output([(0, 0, 40, 40, 0.9), (0, 10, 40, 50, 0.8), (50, 50, 60, 60, 0.3)])
    card: dict[str, Any] = {"preprocessing": chain}
    assert len(TASK.answer(rows, (100, 100, 3), card)) == 3  # overlap of 0.6 stays
    assert len(TASK.answer(rows, (100, 100, 3), {**card, "thresholds": {"iou": 0.5}})) == 2
    assert len(TASK.answer(rows, (100, 100, 3), {**card, "thresholds": {"least_score": 0.5}})) == 2
    assert len(TASK.answer(rows, (100, 100, 3), {**card, "thresholds": {"most_boxes": 1}})) == 1


def test_rows_of_tiles_are_merged() -> None:
    """Two tiles of 60 × 100 that share 20 columns, each shown at double size."""
    tiles = [
        Placement((0, 0, 60, 100), (0, 0, 120, 200)),
        Placement((40, 0, 60, 100), (0, 0, 120, 200)),
    ]
    outputs = np.zeros((2, 2, 5), np.float32)
    outputs[0, 0] = (82, 20, 118, 60, 0.6)  # 41 … 59 of the picture
    outputs[1, 0] = (2, 20, 38, 60, 0.8)  # the same object
    outputs[1, 1] = (100, 100, 120, 120, 0.5)
    found = boxes_found(outputs, tiles, (100, 100))
    assert found.tolist() == pytest.approx(
        np.array([[0, 0.8, 41, 10, 18, 20], [0, 0.5, 90, 50, 10, 10]])
    )


@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 60, 400]), st.sampled_from([5, 100]))
@settings(max_examples=40, deadline=None)
def test_suppression_is_the_greedy_one(seed: int, count: int, most: int) -> None:
    random = np.random.default_rng(seed)
    boxes = np.hstack([random.uniform(0, 60, (count, 2)), random.uniform(5, 40, (count, 2))])
    boxes, kinds = boxes.astype(np.float32), random.integers(0, 3, count)
    shares = overlaps(boxes.astype(np.float64), boxes.astype(np.float64))
    kept: list[int] = []
    for index in range(count):
        rivals = [other for other in kept if kinds[other] == kinds[index]]
        if all(shares[index, other] <= 0.6 for other in rivals) and len(kept) < most:
            kept.append(index)
    assert suppressed(boxes, kinds, 0.6, most).tolist() == kept


def test_at_most_a_hundred_boxes_the_best_ones() -> None:
    random = np.random.default_rng(0)
    outputs = np.zeros((1, 4032, 9), np.float32)
    outputs[0, :, :2] = random.uniform(0, 500, (4032, 2))
    outputs[0, :, 2:4] = outputs[0, :, :2] + 3
    outputs[0, :, 4:] = random.uniform(0.01, 1, (4032, 5))
    place = [Placement((0, 0, 512, 512), (0, 0, 512, 512))]
    found = boxes_found(outputs, place, (512, 512))
    assert len(found) == 100
    assert (np.diff(found[:, 1]) <= 0).all()
    assert found[0, 1] == outputs[0, :, 4:].max()


def test_what_is_no_number_is_no_box_and_a_wrong_shape_is_refused() -> None:
    chain = operations(100, 100, "squash")
    rows = output([(np.nan, 0, 40, 40, 0.9), (0, 0, 40, 40, np.nan), (50, 50, 50, 60, 0.9)])
    found = TASK.answer(rows, (100, 100, 3), {"preprocessing": chain})
    assert found.shape == (0, 6)
    with pytest.raises(BadInput, match="must be"):
        TASK.answer(rows[0], (100, 100, 3), {"preprocessing": chain})


def test_stored_flat_an_answer_comes_back() -> None:
    answer = np.arange(12, dtype=np.float32).reshape(2, 6)
    assert TASK.unflattened(answer.ravel(), ["a"]).tolist() == answer.tolist()
    assert TASK.unflattened(np.zeros(0, np.float32), ["a"]).shape == (0, 6)


def _tile_outputs(
    boxes: list[tuple[float, float, float, float]], size: tuple[int, int]
) -> np.ndarray:
    """What a perfect model of one class says of a picture: in each input, the parts of the boxes."""
    rows = []
    for place in placements(TILED, *size):
        left, top, width, height = place.source
        x, y, *sides = place.target
        scale = np.array([sides[0] / width, sides[1] / height] * 2)
        row = np.zeros((len(boxes), 5), np.float32)
        for target, box in zip(row, boxes, strict=True):
            cut = np.clip(box, (left, top) * 2, (left + width, top + height) * 2)
            if cut[2] > cut[0] and cut[3] > cut[1]:
                target[:4] = (cut - (left, top) * 2) * scale + (x, y) * 2
                target[4] = 0.9
        rows.append(row)
    return np.stack(rows)


TILED = [
    {"operation": "tiles", "columns": 3, "rows": 2, "overlap": 25},
    *standard(64, "pad"),
]


@given(
    width=st.integers(200, 900),
    height=st.integers(200, 900),
    share=st.tuples(*[st.floats(0, 1)] * 4),
)
def test_an_object_is_found_once_and_whole_wherever_tiles_cut_it(
    width: int, height: int, share: tuple[float, float, float, float]
) -> None:
    across, down = 4 + share[0] * (width - 4), 4 + share[1] * (height - 4)
    left, top = share[2] * (width - across), share[3] * (height - down)
    outputs = _tile_outputs([(left, top, left + across, top + down)], (width, height))
    found = answer(outputs, (height, width, 3), {"preprocessing": TILED})
    assert len(found) == 1
    np.testing.assert_allclose(found[0, 2:], [left, top, across, down], atol=0.05)


def test_objects_of_all_sizes_are_found_in_tiles_and_in_the_whole() -> None:
    boxes = [(0.0, 0.0, 12.0, 9.0), (150.0, 90.0, 158.0, 99.0), (20.0, 30.0, 380.0, 210.0)]
    outputs = _tile_outputs(boxes, (400, 240))
    found = answer(outputs, (240, 400, 3), {"preprocessing": TILED})
    expected = sorted([a, b, c - a, d - b] for a, b, c, d in boxes)
    np.testing.assert_allclose(sorted(found[:, 2:].tolist()), expected, atol=0.05)
