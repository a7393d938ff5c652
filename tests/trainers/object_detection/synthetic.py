"""Made-up pictures with boxes, a tiny backbone of maps, and their features: seconds to train."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from PIL import Image

from orchard.blobs import Blobs, SegmentWriter
from orchard.preprocess import inputs
from tests.trainers.backbones.tiny import random_weights
from trainers.backbones.architecture import Block, Convolution
from trainers.backbones.maps import FeatureMaps, feature_maps, maps_graph
from trainers.backbones.registry import Backbone
from trainers.features import Features
from trainers.object_detection.geometry import VIEWS
from trainers.samples import Samples

HEIGHT, WIDTH = 64, 96
LABELS = ("bright", "dark")
NAME = "tiny-maps"
OPERATIONS: list[dict[str, Any]] = [
    {"operation": "resize", "fit": "pad", "width": WIDTH, "height": HEIGHT, "kernel": "bilinear"},
    {
        "operation": "normalise",
        "mean": 127.0,
        "scale": 0.0078125,
        "layout": "CHW",
        "channels": "RGB",
    },
]
BLOCKS = (
    Block("stem", (Convolution("stem.convolution", 3, 8, kernel=3, stride=2),)),
    Block("block0", (Convolution("block0.project", 8, 12, kernel=3, stride=2),)),
    Block("block1", (Convolution("block1.project", 12, 16, kernel=3, stride=2),)),
    Block("block2", (Convolution("block2.project", 16, 16, kernel=3, stride=2),)),
    Block("block3", (Convolution("block3.project", 16, 12, kernel=3),)),
)
BACKBONE = Backbone(
    name="tiny",
    title="Tiny",
    licence="Apache-2.0",
    source="random numbers",
    mean=(127.0, 127.0, 127.0),
    scale=(128.0, 128.0, 128.0),
    blocks=BLOCKS,
    feature_blocks=("block3",),
    milliseconds_per_megapixel=1.0,
    load_weights=lambda: random_weights(BLOCKS),
    size_multiple=16,
)
TINY_MAPS = FeatureMaps(NAME, BACKBONE, ("block0", "block1", "block2", "block3"), 1.0)


@contextmanager
def registered() -> Iterator[None]:
    """The tiny backbone among the known ones."""
    feature_maps()[NAME] = TINY_MAPS
    try:
        yield
    finally:
        del feature_maps()[NAME]


@dataclass(frozen=True)
class Scene:
    """A picture's bytes and its annotation."""

    payload: bytes
    annotation: dict[str, Any]


def scene(seed: int, width: int = 96, height: int = 60) -> Scene:
    """Grey noise with one to three bright or dark rectangles."""
    random = np.random.default_rng(seed)
    pixels = random.normal(120, 12, (height, width, 3))
    boxes = []
    for slot in random.permutation(3)[: random.integers(1, 4)]:
        w, h = (int(side) for side in random.integers(14, 26, 2))
        left = int(slot * width // 3 + random.integers(0, width // 3 - w + 1))
        top = int(random.integers(0, height - h))
        label = int(random.integers(0, 2))
        pixels[top : top + h, left : left + w] += -90 if label else 90
        boxes.append({"label": LABELS[label], "left": left, "top": top, "width": w, "height": h})
    buffer = io.BytesIO()
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(buffer, "PNG")
    return Scene(buffer.getvalue(), {"boxes": boxes})


def feature_matrix(
    scenes: list[Scene], operations: list[dict[str, Any]] = OPERATIONS
) -> NDArray[np.float16]:
    """(4, N, R · D): the features that the prepare step would leave, in all views."""
    session = onnxruntime.InferenceSession(
        maps_graph(TINY_MAPS), providers=["CPUExecutionProvider"]
    )
    made = np.concatenate([inputs(operations, pixels_of(each.payload)) for each in scenes])
    views = [made, made[..., ::-1], made[..., ::-1, :], made[..., ::-1, ::-1]]
    rows = [session.run(None, {"input": np.ascontiguousarray(view)})[0] for view in views]
    return np.stack(rows).astype(np.float16).reshape(4, len(scenes), -1)


def pixels_of(payload: bytes) -> NDArray[np.uint8]:
    return np.asarray(Image.open(io.BytesIO(payload)).convert("RGB"))


def data(
    root: Path,
    count: int,
    folds: int = 4,
    *,
    labelled: bool = True,
    tiles: int = 1,
    make: Callable[[int], Scene] = scene,
) -> tuple[Blobs, Samples, Features]:
    """A store with `count` pictures, dealt to the folds, and their features.

    Args:
        labelled: otherwise the boxes are at places where nothing is.
        tiles: columns and rows. make: seed → picture.
    """
    blobs = Blobs(str(root))
    scenes = sorted((make(seed) for seed in range(count)), key=lambda each: _name(each.payload))
    if not labelled:
        for each in scenes:
            each.annotation["boxes"] = [
                {"label": LABELS[0], "left": 0, "top": 0, "width": 2, "height": 2}
            ]
    with SegmentWriter(blobs, "local", "shapes", 1 << 20) as writer:
        pairs = [pair for each in scenes for pair in writer.add(each.payload, _name(each.payload))]
        pairs += writer.close()
    places = {name: (r.segment, r.offset, r.length) for name, r in pairs}
    names = [_name(each.payload) for each in scenes]
    samples = Samples(
        names,
        [each.annotation for each in scenes],
        np.arange(count, dtype=np.int64) % folds,
        folds,
        [places[name] for name in names],
        np.array([pixels_of(each.payload).shape[1::-1] for each in scenes], np.int64),
    )
    features = Features(feature_matrix(scenes, tiled(tiles)), VIEWS, np.arange(count), {})
    return blobs, samples, features


def tiled(count: int) -> list[dict[str, Any]]:
    """`OPERATIONS` with so many columns and rows of tiles."""
    tiles = {"operation": "tiles", "columns": count, "rows": count, "overlap": 25}
    return [tiles, *OPERATIONS] if count > 1 else OPERATIONS


def branch(mode: str = "frozen", tiles: int = 1, **work: Any) -> dict[str, Any]:
    """A branch over these pictures; `work` replaces parts of its work."""
    usual = {
        "members": 2,
        "candidates": 1,
        "rungs": [{"keep": 1, "epochs": 12}],
        "patience": 12,
        "width": 16,
        "mirrored": True,
        "processes": 1,
    }
    return {
        "key": "tiny",
        "title": "Tiny",
        "backbone": NAME,
        "mode": mode,
        "views": list(VIEWS),
        "preprocessing": tiled(tiles),
        "work": {**usual, **work},
    }


PLAN: dict[str, Any] = {"labels": list(LABELS), "seed": 5, "objective": "accuracy", "folds": 4}


def _name(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()
