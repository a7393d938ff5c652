"""The search's own average precision is pycocotools'."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest

from trainers.object_detection.average_precision import (
    Found,
    Truth,
    average_precisions,
    suppressed,
)


def _case(seed: int) -> tuple[list[Found], list[Truth]]:
    random = np.random.default_rng(seed)
    found, truths = [], []
    for _ in range(6):
        corner = random.uniform(0, 60, (5, 2))
        boxes = np.concatenate([corner, corner + random.uniform(8, 40, (5, 2))], axis=1)
        truths.append(Truth(boxes.astype(np.float32), random.integers(0, 2, 5)))
        near = boxes[random.integers(0, 5, 12)] + random.normal(0, 3, (12, 4))
        near[:, 2:] = np.maximum(near[:, 2:], near[:, :2] + 1)
        scores = np.sort(random.uniform(0, 1, 12).astype(np.float32))[::-1]
        found.append(Found(near.astype(np.float32), random.integers(0, 2, 12), scores))
    return found, truths


@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_pycocotools_says(seed: int) -> None:
    coco = pytest.importorskip("pycocotools.coco")
    evaluation = pytest.importorskip("pycocotools.cocoeval")
    found, truths = _case(seed)
    truth = coco.COCO()
    sides = [
        (n, b, c) for n, t in enumerate(truths) for b, c in zip(t.boxes, t.classes, strict=True)
    ]
    truth.dataset = {
        "images": [{"id": n} for n in range(len(truths))],
        "categories": [{"id": 1}, {"id": 2}],
        "annotations": [
            {
                "id": index + 1,
                "image_id": n,
                "category_id": int(c) + 1,
                "bbox": [float(b[0]), float(b[1]), float(b[2] - b[0]), float(b[3] - b[1])],
                "area": float((b[2] - b[0]) * (b[3] - b[1])),
                "iscrowd": 0,
            }
            for index, (n, b, c) in enumerate(sides)
        ],
    }
    rows = [
        {
            "image_id": n,
            "category_id": int(c) + 1,
            "score": float(s),
            "bbox": [float(b[0]), float(b[1]), float(b[2] - b[0]), float(b[3] - b[1])],
        }
        for n, one in enumerate(found)
        for b, c, s in zip(one.boxes, one.classes, one.scores, strict=True)
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        truth.createIndex()
        judge = evaluation.COCOeval(truth, truth.loadRes(rows), "bbox")
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
    ours = average_precisions(found, truths, 2)
    assert ours.mean() == pytest.approx(judge.stats[0], abs=1e-6)
    assert ours[:, 0].mean() == pytest.approx(judge.stats[1], abs=1e-6)


def test_a_class_without_boxes_has_no_figure() -> None:
    found, truths = _case(0)
    assert np.isnan(average_precisions(found, truths, 3)[2]).all()


def test_of_two_boxes_on_one_thing_the_better_stays() -> None:
    boxes = np.array([[0, 0, 10, 10], [1, 0, 11, 10], [30, 30, 40, 40]], np.float32)
    scores = np.array([[0.6, 0.0], [0.9, 0.5], [0.01, 0.3]], np.float32)
    kept = suppressed(boxes, scores)
    assert kept.scores.tolist() == pytest.approx([0.9, 0.5, 0.3])
    assert kept.classes.tolist() == [0, 1, 1]
