"""Random sets of boxes and what pycocotools says about them."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
from hypothesis import strategies as st
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from orchard.tasks.base import Answers


@st.composite
def answered(draw: st.DrawFn) -> Answers:
    """0 to 8 boxes in each of 1 to 8 pictures of 1 to 4 classes, found more or less well.

    There are crowds, empty pictures, classes without truth or answer, equal boxes, equal scores.
    """
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    classes, pictures = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    noise = draw(st.sampled_from([0.0, 0.02, 0.1, 0.3]))
    crowds = draw(st.sampled_from([0.0, 0.0, 0.3]))
    levels = draw(st.sampled_from([3, 10, 10_000]))
    most = draw(st.sampled_from([2, 8]))
    true_classes = draw(st.integers(1, classes))
    whole = draw(st.booleans())
    labels = tuple(f"class {number}" for number in range(classes))
    answers, truths = [], []
    for _ in range(pictures):
        boxes = [
            _truth(random, labels[:true_classes], crowds, whole)
            for _ in range(random.integers(0, most))
        ]
        rows = []
        for box in boxes:
            for _ in range(random.choice([0, 1, 1, 1, 2])):
                rows.append(_found(random, box, labels, noise, levels))
        for _ in range(random.integers(0, 3)):
            stray = _truth(random, labels, 0.0, whole)
            rows.append(_found(random, stray, labels, noise, levels))
        answer = np.array(rows, np.float32).reshape(-1, 6)
        answers.append(answer[np.argsort(-answer[:, 1], kind="stable")])
        truths.append({"boxes": boxes})
    return Answers(labels, answers, truths)


def _truth(random: np.random.Generator, labels: Any, crowds: float, whole: bool) -> dict[str, Any]:
    side = float(random.choice([20, 32, 60, 96, 140]))
    width, height = side * random.choice([0.5, 1.0, 1.0]), side
    left, top = random.uniform(0, 60, 2)
    if whole:
        left, top, width, height = (float(round(value)) for value in (left, top, width, height))
    box = {"label": str(random.choice(labels)), "left": float(left), "top": float(top)}
    box |= {"width": float(width), "height": float(height)}
    return box | ({"crowd": True} if random.random() < crowds else {})


def _found(random: np.random.Generator, box: Any, labels: Any, noise: float, levels: int) -> Any:
    number = labels.index(box["label"])
    if random.random() < 0.15:
        number = int(random.integers(0, len(labels)))
    shift = random.normal(size=4) * noise * np.array([box["width"], box["height"]] * 2)
    place = np.array([box["left"], box["top"], box["width"], box["height"]]) + shift
    place[2:] = np.maximum(place[2:], 1)
    return [number, max(0.01, random.integers(1, levels + 1) / levels), *place]


def coco(answers: Answers) -> dict[str, Any]:
    """AP figures of pycocotools; None where it has −1. Per class: {label: (ap, ap50)}."""
    truth = COCO()
    ids = range(1, len(answers.truths) + 1)
    annotations = []
    for picture, annotation in zip(ids, answers.truths, strict=True):
        for box in annotation["boxes"]:
            place = [box["left"], box["top"], box["width"], box["height"]]
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": picture,
                    "category_id": answers.labels.index(box["label"]) + 1,
                    "bbox": place,
                    "area": place[2] * place[3],
                    "iscrowd": int(bool(box.get("crowd"))),
                }
            )
    truth.dataset = {
        "images": [{"id": picture} for picture in ids],
        "categories": [{"id": n + 1, "name": name} for n, name in enumerate(answers.labels)],
        "annotations": annotations,
    }
    found = [
        {
            "image_id": picture,
            "category_id": int(row[0]) + 1,
            "score": float(row[1]),
            "bbox": [float(value) for value in row[2:]],
        }
        for picture, answer in zip(ids, answers.answers, strict=True)
        for row in answer
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        truth.createIndex()
        results = truth.loadRes(found) if found else COCO()
        if not found:
            results.dataset = {**truth.dataset, "annotations": []}
            results.createIndex()
        evaluation = COCOeval(truth, results, "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    names = ("ap", "ap50", "ap75", "ap_small", "ap_medium", "ap_large")
    figures = {name: _known(evaluation.stats[place]) for place, name in enumerate(names)}
    # precision: (overlap, recall, class, size, most boxes)
    precision = evaluation.eval["precision"][:, :, :, 0, -1]
    figures["per_class"] = {
        label: (_mean(precision[:, :, number]), _mean(precision[0, :, number]))
        for number, label in enumerate(answers.labels)
    }
    return figures


def _known(value: float) -> float | None:
    return None if value < 0 else float(value)


def _mean(values: Any) -> float | None:
    return float(values.mean()) if (values > -1).all() else None
