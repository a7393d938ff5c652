"""A small store for the trainers' tests: generated pictures, their real features, a manifest."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
import pyarrow
import pyarrow.parquet as parquet
from PIL import Image

from orchard.blobs import Blobs, SegmentWriter, keys
from orchard.preprocess import apply, standard
from orchard.tasks import task
from trainers.backbones.feature_graph import feature_graph
from trainers.backbones.registry import get_backbone
from trainers.backbones.store import backbone_facts

OWNER = "local"
BUILD = "0123456789abcdef"
DATASET = "shapes"
VERSION = "fedcba9876543210"
BACKBONE = "efficientnet-lite0"
SIZE = 64
LABELS = ("blue", "green", "red")


@dataclass(frozen=True)
class Sample:
    """A generated sample as the manifest has it."""

    sample_id: str
    payload: bytes
    label: str
    split: str
    fold: int


def picture(label: int, seed: int, side: int = 72) -> bytes:
    """A noisy picture whose tint tells the class, more or less."""
    generator = np.random.default_rng([label, seed])
    pixels = generator.normal(120, 45, (side, side, 3))
    pixels[..., 2 - label] += 12 + 8 * generator.standard_normal()
    buffer = io.BytesIO()
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def samples(per_class: int) -> list[Sample]:
    """`per_class` training samples of each class, dealt to five folds."""
    made = []
    for label, name in enumerate(LABELS):
        for seed in range(per_class):
            payload = picture(label, seed)
            made.append(
                Sample(hashlib.sha256(payload).hexdigest(), payload, name, "train", seed % 5)
            )
    return sorted(made, key=lambda sample: sample.sample_id)


def write_manifest(blobs: Blobs, made: Sequence[Sample]) -> None:
    """The samples' bytes into segments and their rows into the version's manifest."""
    with SegmentWriter(blobs, OWNER, DATASET, 1 << 20) as writer:
        pairs = [pair for sample in made for pair in writer.add(sample.payload, sample)]
        pairs += writer.close()
    rows = [
        {
            "sample_id": sample.sample_id,
            "segment": reference.segment,
            "offset": reference.offset,
            "length": reference.length,
            "annotation": json.dumps(sample.label),
            "label": sample.label,
            "split": sample.split,
            "fold": sample.fold,
            "width": 72,
            "height": 72,
        }
        for sample, reference in pairs
    ]
    key = f"{keys.version(OWNER, DATASET, VERSION)}/manifest/part-0.parquet"
    with blobs.writing(key) as file:
        parquet.write_table(pyarrow.Table.from_pylist(rows), file)


def feature_key() -> str:
    """The key under which `write_features` writes."""
    return f"{BACKBONE}-{SIZE}-squash-p1-00000000"


def write_features(blobs: Blobs, made: Sequence[Sample], views: Sequence[str]) -> None:
    """The real features of the samples, as the prepare step leaves them."""
    graph = feature_graph(get_backbone(BACKBONE))
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    operations = standard(SIZE, "squash")
    decode = task("image_classification").decode
    rows: list[dict[str, Any]] = []
    for start in range(0, len(made), 16):
        part = made[start : start + 16]
        inputs = np.stack([apply(operations, decode(sample.payload)) for sample in part])
        for view in views:
            values = inputs if view == "plain" else np.ascontiguousarray(inputs[..., ::-1])
            vectors = session.run(None, {"input": values})[0].astype("<f2")
            rows += [
                {
                    "sample_id": sample.sample_id,
                    "view": view,
                    "features": vector.tobytes(),
                    "failure": None,
                }
                for sample, vector in zip(part, vectors, strict=True)
            ]
    schema = pyarrow.schema(
        [
            ("sample_id", pyarrow.string()),
            ("view", pyarrow.string()),
            ("features", pyarrow.binary()),
            ("failure", pyarrow.string()),
        ]
    )
    for number, part_rows in enumerate((rows[::2], rows[1::2])):
        folder = f"{keys.features(OWNER, feature_key())}/part-{number:016x}"
        with blobs.writing(f"{folder}/part-0.parquet") as file:
            parquet.write_table(pyarrow.Table.from_pylist(part_rows, schema=schema), file)


def plan(work: dict[str, Any], views: Sequence[str], folds: int = 5) -> dict[str, Any]:
    """A plan with one branch of this store."""
    return {
        "version": VERSION,
        "dataset": DATASET,
        "task": "image_classification",
        "folds": folds,
        "objective": "accuracy",
        "figure": "accuracy",
        "seed": 7,
        "labels": list(LABELS),
        "branches": [
            {
                "key": f"lite0-{SIZE}-squash",
                "title": f"Lite0 · {SIZE} px · squash",
                "backbone": BACKBONE,
                "size": SIZE,
                "fit": "squash",
                "mode": "frozen",
                "views": list(views),
                "preprocessing": standard(SIZE, "squash"),
                "feature_key": feature_key(),
                "work": work,
                "seconds": 5.0,
            }
        ],
        "reasons": [],
        "seconds": {},
    }


def cards() -> dict[str, dict[str, Any]]:
    """Facts of the backbones, without their graphs' hashes."""
    return {
        f"efficientnet-lite{number}": backbone_facts(
            get_backbone(f"efficientnet-lite{number}"), b"graph"
        )
        for number in range(3)
    }
