"""Samples for the suite that every task passes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIZES = ((160, 120), (97, 131), (128, 128), (149, 64))


def samples() -> list[tuple[str, bytes, Any]]:
    """(path, bytes, annotation) of a few samples of two classes."""
    made = []
    for number, (width, height) in enumerate(SIZES):
        random = np.random.default_rng(number)
        buffer = io.BytesIO()
        pixels = random.integers(0, 256, (height, width, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(buffer, "PNG")
        boxes = [
            {"label": "can", "left": 5.0, "top": 6.0, "width": 30.0, "height": 20.0},
            {"label": "jar", "left": 40.0, "top": 10.0, "width": 16.0, "height": 40.0},
        ]
        made.append((f"{number}.png", buffer.getvalue(), {"boxes": boxes[: 1 + number % 2]}))
    return made


def perfect(annotation: Any, labels: Sequence[str]) -> NDArray[np.float32]:
    """The answer of a model that is right."""
    rows = [
        [labels.index(box["label"]), 0.9, box["left"], box["top"], box["width"], box["height"]]
        for box in annotation["boxes"]
    ]
    return np.array(rows, np.float32).reshape(-1, 6)


def outputs(rows: int, labels: Sequence[str], seed: int) -> NDArray[np.float32]:
    """What a graph may give for so many rows of input."""
    random = np.random.default_rng(seed)
    corners = np.sort(random.uniform(0, 128, (rows, 200, 2, 2)), axis=2).reshape(rows, 200, 4)
    scores = random.random((rows, 200, len(labels))) ** 4
    return np.concatenate([corners, scores], axis=2).astype(np.float32)
