"""A bundle like those that are trained here, for measurements: EfficientNet-Lite0, 10 classes.

Its head is random, so that its answers mean nothing; its cost is that of a real model.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

from orchard import bundle as bundles
from orchard import preprocess
from orchard.inference import golden_vectors
from trainers.backbones.export import export_classifier
from trainers.backbones.registry import get_backbone
from trainers.head_weights import HeadWeights

BACKBONE = "efficientnet-lite0"
CLASSES = 10
TASK = "image_classification"


def write_bundle(folder: Path, seed: int = 0, size: int = 224) -> str:
    """Write the bundle below `folder`. Returns its hash, which is its folder's name."""
    backbone = get_backbone(BACKBONE)
    random = np.random.default_rng(seed)
    width = backbone.feature_count
    head = HeadWeights(
        mean=np.zeros(width, np.float32),
        scale=np.ones(width, np.float32),
        layers=[
            (
                (random.standard_normal((width, CLASSES)) / width**0.5).astype(np.float32),
                np.zeros(CLASSES, np.float32),
            )
        ],
    )
    graph = export_classifier(folder / "export", backbone, head)
    labels = [f"class-{number}" for number in range(CLASSES)]
    operations = preprocess.standard(size, "squash")
    card: dict[str, Any] = {
        "task": TASK,
        "labels": labels,
        "preprocessing": operations,
        "backbone": BACKBONE,
        "thresholds": {"per_class": {label: 0.5 for label in labels}, "not_sure": 0.3},
        "temperature": 1.0,
        "data": {},
        "validation": {},
        "objective": "accuracy",
        "code_version": "bench",
        "winner": {},
    }
    golden = golden_vectors(graph, TASK, operations)
    written = bundles.write(folder / "new", card, {"model.onnx": graph}, golden)
    goal = folder / written.hash
    if not goal.exists():
        written.folder.rename(goal)
    return written.hash


def photos(count: int, seed: int = 0, size: tuple[int, int] = (640, 480)) -> list[bytes]:
    """JPEG files with the amount of detail of photos, about 50 to 90 kB each."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        coarse = random.integers(0, 256, (12, 16, 3), dtype=np.uint8)
        image = Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)
        noise = random.normal(0, 18, (size[1], size[0], 3))
        noisy = np.clip(np.asarray(image, dtype=np.float64) + noise, 0, 255).astype(np.uint8)
        smooth = Image.fromarray(noisy).filter(ImageFilter.GaussianBlur(0.8))
        buffer = io.BytesIO()
        smooth.save(buffer, "JPEG", quality=88)
        made.append(buffer.getvalue())
    return made
