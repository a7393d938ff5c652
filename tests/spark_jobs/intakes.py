"""Intakes as `ingest` leaves them, made of small pictures, and the steps that read them."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from orchard.blobs import Blobs, SegmentWriter, keys
from orchard.catalog import builds
from orchard.catalog.connection import documents
from orchard.intake import FILES, LABELS
from orchard.program import Step
from orchard.settings import settings

OWNER = "local"
DATASET = "parts"

Sample = tuple[str, bytes]
Label = tuple[str, Any]


def picture(
    seed: int, *, size: tuple[int, int] = (36, 34), kind: str = "PNG", shade: int = 0
) -> bytes:
    """A picture of 9 × 9 coloured patches that the seed makes its own; `shade` brightens it."""
    random = np.random.Generator(np.random.PCG64(seed))
    patches = random.integers(60, 180, (9, 9, 3), dtype=np.uint8) + np.uint8(shade)
    image = Image.fromarray(patches).resize(size, Image.Resampling.BICUBIC)
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


def step(name: str, run_id: str, **parameters: Any) -> Step:
    """A step of a build of its own, in the settings' folder and database."""
    using = settings()
    build = builds.create(
        documents(),
        OWNER,
        dag_id="build_model",
        run_id=run_id,
        project=DATASET,
        parameters={"task": "image_classification", "dataset": DATASET, **parameters},
    )
    return Step(name, build, -1, 1, using, Blobs(using.blobs_root), documents())


def write_intake(
    of: Step,
    samples: Sequence[Sample],
    labels: Sequence[Label] | None = None,
    splits: Mapping[str, str] | None = None,
    origins: Mapping[str, str] | None = None,
) -> None:
    """Store files and labels; without `labels` the class of a file is its folder."""
    blobs, splits, origins = of.blobs, splits or {}, origins or {}
    if labels is None:
        labels = [(path, path.split("/")[-2]) for path, _ in samples if "/" in path]
    placed = []
    with SegmentWriter(blobs, OWNER, DATASET, 64 * 1024) as writer:
        for path, payload in samples:
            placed += writer.add(payload, path)
        placed += writer.close()
    files = [
        {
            "path": path,
            "segment": reference.segment,
            "offset": reference.offset,
            "length": reference.length,
            "sha256": reference.sha256,
            "split": splits.get(str(path)),
        }
        for path, reference in placed
    ]
    rows = [
        {
            "path": path,
            "annotation": json.dumps(label),
            "source": "test",
            "line": number,
            "origin": origins.get(path),
        }
        for number, (path, label) in enumerate(labels)
    ]
    folder = keys.intake(OWNER, of.build_id)
    write_table(blobs, f"{folder}/files/part-0.parquet", files, FILES)
    write_table(blobs, f"{folder}/labels/part-0.parquet", rows, LABELS)
    result = {"exit_code": 0, "facts": {"format": "class folders"}}
    blobs.write_json(keys.result(OWNER, of.build_id, "ingest"), result)


def write_table(
    blobs: Blobs, key: str, rows: Sequence[Mapping[str, Any]], schema: pa.Schema
) -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), buffer)
    blobs.write(key, buffer.getvalue())


def manifest_of(of: Step, version: str) -> dict[str, dict[str, Any]]:
    """The rows of a version's manifest by path."""
    folder = Path(of.blobs.url(keys.version(OWNER, DATASET, version)).removeprefix("file://"))
    return {row["path"]: row for row in pq.read_table(folder / "manifest").to_pylist()}


def refused_of(of: Step, version: str) -> dict[str, str]:
    """path → code of what did not come into a version."""
    folder = Path(of.blobs.url(keys.version(OWNER, DATASET, version)).removeprefix("file://"))
    return {row["path"]: row["code"] for row in pq.read_table(folder / "refused").to_pylist()}
