"""A small build up to its select step, real in all parts: segments, manifest, bundles, results.

Pictures are of one colour with noise, bundles tell classes by the mean colour.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from orchard import bundle as bundles
from orchard import preprocess
from orchard.blobs import Blobs, SegmentWriter, keys
from orchard.catalog import builds, datasets
from orchard.catalog.connection import Documents
from orchard.inference import golden_vectors

OWNER = "local"
TASK = "image_classification"
COLOURS = {
    "amber": (230, 160, 30),
    "blue": (30, 60, 220),
    "green": (40, 200, 60),
    "red": (220, 40, 40),
}
VERSION = "0123456789abcdef"


def picture(colour: Sequence[int], seed: int, size: tuple[int, int] = (48, 36)) -> bytes:
    """A JPEG of one colour with noise that the seed makes its own."""
    random = np.random.Generator(np.random.PCG64(seed))
    pixels = np.clip(random.normal(colour, 12, (size[1], size[0], 3)), 0, 255).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def write_bundle(
    folder: Path, colours: Mapping[str, Sequence[int]], sharpness: float = 8.0
) -> bundles.Bundle:
    """A bundle whose score of a class falls with the distance of the mean colour from the class's."""
    labels = sorted(colours)
    centres = (np.array([colours[label] for label in labels], np.float32) - 127) / 128
    weight = 2 * centres.T * np.float32(sharpness)
    bias = -(centres**2).sum(axis=1) * np.float32(sharpness)
    nodes = [
        helper.make_node("GlobalAveragePool", ["input"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weight"], ["product"]),
        helper.make_node("Add", ["product", "bias"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["scores"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "colours",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["n", 3, "h", "w"])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", len(labels)])],
        [numpy_helper.from_array(weight, "weight"), numpy_helper.from_array(bias, "bias")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "graph.onnx"
    path.write_bytes(model.SerializeToString())
    operations = preprocess.standard(32, "squash")
    card: dict[str, Any] = {
        "task": TASK,
        "labels": labels,
        "preprocessing": operations,
        "backbone": "mean colour",
        "thresholds": {"per_class": {label: 0.5 for label in labels}, "not_sure": 0.6},
        "temperature": 1.0,
        "data": {"dataset": "colours", "version": VERSION},
        "validation": {"accuracy": 1.0},
        "objective": "accuracy",
        "code_version": "test",
        "winner": {"sharpness": sharpness},
    }
    golden = golden_vectors(path, TASK, operations)
    return bundles.write(folder / "bundle", card, {bundles.MODEL: path.read_bytes()}, golden)


@dataclass
class SmallBuild:
    """A build in the making.

    Attributes:
        samples: (path, label, split, payload) of every sample.
    """

    blobs: Blobs
    documents: Documents
    build_id: str = ""
    samples: list[tuple[str, str, str, bytes]] = field(default_factory=list)
    dataset: str = "colours"

    def add(self, label: str, split: str, count: int, *, shows: str | None = None) -> None:
        """Pictures with a label; `shows` is the class they really show, by default the label's."""
        for _ in range(count):
            number = len(self.samples)
            payload = picture(COLOURS[shows or label], number)
            self.samples.append((f"{label}/{number:04d}.jpg", label, split, payload))

    def commit(self, summary: Mapping[str, Any] | None = None) -> None:
        """Segments, manifest and the version's document."""
        rows: list[dict[str, Any]] = []
        with SegmentWriter(self.blobs, OWNER, self.dataset, 64 * 1024) as writer:
            done = [pair for s in self.samples for pair in writer.add(s[3], s)] + writer.close()
        for sample, place in done:
            path, label, split, _ = sample  # type: ignore[misc]
            rows.append(
                {
                    "sample_id": place.sha256,
                    "path": path,
                    "segment": place.segment,
                    "offset": place.offset,
                    "length": place.length,
                    "annotation": json.dumps(label),
                    "label": label,
                    "split": split,
                    "fold": int(place.sha256[0], 16) % 5 if split == "train" else -1,
                }
            )
        rows.sort(key=lambda row: str(row["sample_id"]))
        base = keys.version(OWNER, self.dataset, VERSION)
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), buffer)
        self.blobs.write(f"{base}/manifest/part-0.parquet", buffer.getvalue())
        splits = {name: sum(s[2] == name for s in self.samples) for name in ("train", "test")}
        labels = sorted({sample[1] for sample in self.samples})
        counts = {
            label: {n: sum(s[1] == label and s[2] == n for s in self.samples) for n in splits}
            for label in labels
        }
        datasets.commit_version(
            self.documents,
            OWNER,
            project="colours",
            dataset=self.dataset,
            version=VERSION,
            parent=None,
            build_id=self.build_id,
            summary={"number": 1, "splits": splits, "labels": counts, **(summary or {})},
        )

    def start(self, run_id: str, **parameters: Any) -> str:
        """The build's document and plan. Returns its id."""
        document = builds.create(
            self.documents,
            OWNER,
            dag_id="build_model",
            run_id=run_id,
            project="colours",
            parameters={
                "task": TASK,
                "objective": "accuracy",
                "endpoint": "colours",
                "minutes": 1,
                "dataset": self.dataset,
                **parameters,
            },
        )
        self.build_id = str(document["_id"])
        return self.build_id

    def plan(self, branches: Sequence[Mapping[str, Any]]) -> None:
        """The plan with its branches."""
        self.blobs.write_json(
            keys.plan(OWNER, self.build_id),
            {
                "version": VERSION,
                "dataset": self.dataset,
                "task": TASK,
                "objective": "accuracy",
                "figure": "accuracy",
                "branches": list(branches),
                "reasons": ["three sizes of one backbone fit the budget"],
            },
        )

    def trial(self, index: int, branch: str, folder: Path, **facts: Any) -> str:
        """A trial's bundle folder and result. Returns the bundle's hash."""
        found = bundles.read(folder)
        self.blobs.upload_folder(folder, f"{keys.trial(OWNER, self.build_id, branch)}/bundle")
        self.leave(
            "trial",
            {
                "branch": branch,
                "title": branch.title(),
                "bundle": found.hash,
                "parameters": 3_400_000,
                "support": 100,
                "validation": {"accuracy": 0.9, "log_loss": 0.3, "samples": 100},
                **facts,
            },
            index,
        )
        return found.hash

    def out_of_fold(self, branch: str, bundle: bundles.Bundle, sharp: float = 0.97) -> None:
        """Out-of-fold scores of training: sure of what each picture shows, whatever its label."""
        centres = np.array([COLOURS[label] for label in bundle.labels], np.float64)
        rows = []
        for _, label, split, payload in self.samples:
            if split != "train":
                continue
            mean = np.asarray(Image.open(io.BytesIO(payload))).reshape(-1, 3).mean(axis=0)
            scores = np.full(len(bundle.labels), (1 - sharp) / (len(bundle.labels) - 1))
            scores[int(((centres - mean) ** 2).sum(axis=1).argmin())] = sharp
            sample_id = hashlib.sha256(payload).hexdigest()
            rows.append(
                {
                    "sample_id": sample_id,
                    "annotation": json.dumps(label),
                    "answer": scores.tolist(),
                }
            )
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), buffer)
        trial = keys.trial(OWNER, self.build_id, branch)
        self.blobs.write(f"{trial}/out_of_fold.parquet", buffer.getvalue())

    def leave(self, step: str, facts: Mapping[str, Any], index: int = -1) -> None:
        """A result file of a step that is done."""
        key = keys.result(OWNER, self.build_id, step, index)
        self.blobs.write_json(key, {"exit_code": 0, "facts": dict(facts)})
