"""Computes the features that a plan names: each picture is decoded once for all of them.

A worker writes whole parts below a feature key, each named by the samples in it and moved into
place when it is complete. So what is done stays done whatever happens later, and the same samples
never take room twice.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from orchard import preprocess
from orchard.blobs import Blobs, SegmentReader, keys
from orchard.errors import OrchardError
from orchard.tasks.base import JUDGED, Task

VIEWS = ("plain", "mirror")
BATCH = 8
"""Pictures in one call of the graph."""

PART_SCHEMA = pa.schema(
    [
        ("sample_id", pa.string()),
        ("view", pa.string()),
        ("features", pa.binary()),
        ("failure", pa.string()),
    ]
)
"""`features` are float16 numbers, little-endian; null where the picture failed."""

DONE_SCHEMA = pa.schema(
    [("feature_key", pa.string()), ("computed", pa.int64()), ("failed", pa.int64())]
)

_LARGEST_HALF = 65504

Graph = Callable[[NDArray[np.float32]], NDArray[np.float32]]


@dataclass(frozen=True)
class Recipe:
    """One kind of features.

    Attributes:
        feature_key: name of the folder in the store.
        backbone: name of the graph.
        operations: preprocessing of the plain view.
        views: out of VIEWS.
    """

    feature_key: str
    backbone: str
    operations: tuple[Mapping[str, Any], ...]
    views: tuple[str, ...]


def recipes_of(plan: Mapping[str, Any], blobs: Blobs) -> list[Recipe]:
    """The kinds of features in a plan, sorted by key; branches that share a key share them."""
    views: dict[str, set[str]] = {}
    branches: dict[str, Mapping[str, Any]] = {}
    for branch in plan["branches"]:
        views.setdefault(branch["feature_key"], set()).update(branch["views"])
        branches[branch["feature_key"]] = branch
    return [
        Recipe(
            feature_key=key,
            backbone=branches[key]["backbone"],
            operations=tuple(
                operations_of(
                    branches[key]["size"],
                    branches[key]["fit"],
                    blobs.read_json(keys.backbone_card(branches[key]["backbone"])),
                )
            ),
            views=tuple(view for view in VIEWS if view in views[key]),
        )
        for key in sorted(views)
    ]


def operations_of(size: int, fit: str, card: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The preprocessing for a backbone: its card says how pixels are normalised."""
    operations = preprocess.standard(size, fit)
    normalisation = card["normalisation"]
    operations[-1]["mean"] = _one_or_three(normalisation["mean"])
    operations[-1]["scale"] = _one_or_three([1.0 / value for value in normalisation["scale"]])
    preprocess.validate(operations)
    return operations


def _one_or_three(values: Sequence[float]) -> float | list[float]:
    return float(values[0]) if len(set(values)) == 1 else [float(value) for value in values]


@dataclass(frozen=True)
class Extraction:
    """What a worker needs; travels to it pickled."""

    task: Task
    blobs: Blobs
    owner: str
    recipes: tuple[Recipe, ...]


def extracted(
    batches: Iterable[pa.RecordBatch], extraction: Extraction, count: Callable[[int], None]
) -> Iterator[pa.RecordBatch]:
    """Rows (sample_id, segment, offset, length, wanted: positions of recipes) → DONE_SCHEMA.

    All rows of the call become one part a recipe, so callers keep their number small (hundreds).
    """
    reader = SegmentReader(extraction.blobs)
    parts = [
        _Part(recipe, _graph(extraction.blobs, recipe.backbone)) for recipe in extraction.recipes
    ]
    for batch in batches:
        for row in batch.to_pylist():
            payload = reader.read(row["segment"], row["offset"], row["length"])
            _extract_one(
                row["sample_id"], payload, extraction.task, [parts[i] for i in row["wanted"]]
            )
        count(batch.num_rows)
    reader.close()
    done = [part.store(extraction) for part in parts]
    yield pa.RecordBatch.from_pylist([each for each in done if each], schema=DONE_SCHEMA)


def _extract_one(sample_id: str, payload: bytes, task: Task, parts: Sequence[_Part]) -> None:
    try:
        pixels = task.decode(payload, JUDGED)
    except (OrchardError, MemoryError) as error:
        for part in parts:
            part.fail(sample_id, str(error) or type(error).__name__)
        return
    for part in parts:
        part.add(sample_id, pixels)


class _Part:
    """Collects pictures for one recipe, runs the graph on full batches and keeps the rows."""

    def __init__(self, recipe: Recipe, graph: Graph) -> None:
        self._recipe = recipe
        self._graph = graph
        size = preprocess.output_size(recipe.operations)
        self._inputs = np.empty((BATCH, 3, *size), np.float32)
        self._waiting: list[tuple[str, str]] = []
        self._rows: list[tuple[str, str, bytes | None, str | None]] = []

    def add(self, sample_id: str, pixels: NDArray[np.uint8]) -> None:
        plain = preprocess.apply(self._recipe.operations, pixels)
        for view in self._recipe.views:
            # a mirrored picture normalised is the normalised picture mirrored, bit for bit
            self._inputs[len(self._waiting)] = plain[:, :, ::-1] if view == "mirror" else plain
            self._waiting.append((sample_id, view))
            if len(self._waiting) == BATCH:
                self._run()

    def fail(self, sample_id: str, reason: str) -> None:
        self._rows += [(sample_id, view, None, reason) for view in self._recipe.views]

    def _run(self) -> None:
        if not self._waiting:
            return
        features = self._graph(self._inputs[: len(self._waiting)])
        finite: list[bool] = [bool(np.isfinite(row).all()) for row in features]
        halves = np.clip(features, -_LARGEST_HALF, _LARGEST_HALF).astype("<f2")
        for (sample_id, view), row, usable in zip(self._waiting, halves, finite, strict=True):
            if usable:
                self._rows.append((sample_id, view, row.tobytes(), None))
            else:
                self._rows.append((sample_id, view, None, "The backbone gave no finite number"))
        self._waiting = []

    def store(self, extraction: Extraction) -> dict[str, Any] | None:
        """Write the part; gives its row of DONE_SCHEMA, or None where nothing was asked."""
        self._run()
        if not self._rows:
            return None
        self._rows.sort()
        columns = [list(column) for column in zip(*self._rows, strict=True)]
        table = pa.table(
            [pa.array(c, t) for c, t in zip(columns, PART_SCHEMA.types, strict=True)],
            schema=PART_SCHEMA,
        )
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd", use_dictionary=["view", "failure"])
        self._move_in(extraction, sink.getvalue().to_pybytes())
        failed = {row[0] for row in self._rows if row[3] is not None}
        return {
            "feature_key": self._recipe.feature_key,
            "computed": len({row[0] for row in self._rows} - failed),
            "failed": len(failed),
        }

    def _move_in(self, extraction: Extraction, payload: bytes) -> None:
        ids = "\n".join(f"{sample_id} {view}" for sample_id, view, _, _ in self._rows)
        name = f"part-{hashlib.sha256(ids.encode()).hexdigest()[:16]}"
        folder = keys.features(extraction.owner, self._recipe.feature_key)
        staging = f"{folder}/.{name}.{uuid.uuid4().hex[:8]}.tmp"
        extraction.blobs.write(f"{staging}/rows.parquet", payload)
        if not extraction.blobs.rename_folder(staging, f"{folder}/{name}"):
            extraction.blobs.delete(staging)


_graphs: dict[tuple[str, str], Graph] = {}


def _graph(blobs: Blobs, backbone: str) -> Graph:
    """The backbone's graph on one thread, made once a process."""
    place = (blobs.root, backbone)
    if place not in _graphs:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(
            blobs.read(keys.backbone(backbone)), options, providers=["CPUExecutionProvider"]
        )

        def run(inputs: NDArray[np.float32]) -> NDArray[np.float32]:
            result: NDArray[np.float32] = session.run(["features"], {"input": inputs})[0]
            return result

        _graphs[place] = run
    return _graphs[place]
