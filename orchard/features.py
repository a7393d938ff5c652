"""Computes the features that a plan names: each sample is decoded once for all of them.

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

from orchard.blobs import Blobs, SegmentReader, keys
from orchard.errors import OrchardError
from orchard.tasks.base import JUDGED, Task

BATCH = 8
"""Rows in one call of the graph."""
PART_BYTES = 64 * 2**20
"""A part is written when its features take that much memory."""

PART_SCHEMA = pa.schema(
    [
        ("sample_id", pa.string()),
        ("view", pa.string()),
        ("features", pa.binary()),
        ("failure", pa.string()),
    ]
)
"""`features` are float16 numbers, little-endian, of all rows of the sample one after the other; null
where the sample failed."""

DONE_SCHEMA = pa.schema(
    [("feature_key", pa.string()), ("computed", pa.int64()), ("failed", pa.int64())]
)

_LARGEST_HALF = 65504
_GROUP_BYTES = 16 * 2**20

Graph = Callable[[NDArray[np.float32]], NDArray[np.float32]]


@dataclass(frozen=True)
class Recipe:
    """One kind of features.

    Attributes:
        feature_key: name of the folder in the store.
        backbone: name of the graph.
        operations: preprocessing of the plain view.
        views: out of the task's views.
    """

    feature_key: str
    backbone: str
    operations: tuple[Mapping[str, Any], ...]
    views: tuple[str, ...]


def recipes_of(plan: Mapping[str, Any], task: Task) -> list[Recipe]:
    """The kinds of features in a plan, sorted by key; branches that share a key share them.

    A branch that learns from the samples themselves names no backbone and has none.
    """
    views: dict[str, set[str]] = {}
    branches: dict[str, Mapping[str, Any]] = {}
    for branch in plan["branches"]:
        if branch["feature_key"]:
            views.setdefault(branch["feature_key"], set()).update(branch["views"])
            branches[branch["feature_key"]] = branch
    return [
        Recipe(
            feature_key=key,
            backbone=branches[key]["backbone"],
            operations=tuple(branches[key]["preprocessing"]),
            views=tuple(view for view in task.views if view in views[key]),
        )
        for key in sorted(views)
    ]


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

    Rows of a call become one part a recipe, or several where their features are large.
    """
    reader = SegmentReader(extraction.blobs)
    parts = [
        _Part(recipe, _graph(extraction.blobs, recipe.backbone), extraction)
        for recipe in extraction.recipes
    ]
    for batch in batches:
        for row in batch.to_pylist():
            payload = reader.read(row["segment"], row["offset"], row["length"])
            _extract_one(
                row["sample_id"], payload, extraction.task, [parts[i] for i in row["wanted"]]
            )
        count(batch.num_rows)
    reader.close()
    done = [part.finish() for part in parts]
    yield pa.RecordBatch.from_pylist([each for each in done if each], schema=DONE_SCHEMA)


def _extract_one(sample_id: str, payload: bytes, task: Task, parts: Sequence[_Part]) -> None:
    try:
        decoded = task.decode(payload, JUDGED)
    except (OrchardError, MemoryError) as error:
        for part in parts:
            part.fail(sample_id, str(error) or type(error).__name__)
        return
    for part in parts:
        part.add(sample_id, decoded)


class _Part:
    """Collects samples for one recipe, runs the graph on full batches and keeps the rows."""

    def __init__(self, recipe: Recipe, graph: Graph, extraction: Extraction) -> None:
        self._recipe = recipe
        self._graph = graph
        self._extraction = extraction
        self._waiting: list[tuple[str, str, NDArray[np.float32]]] = []
        self._rows: list[tuple[str, str, bytes | None, str | None]] = []
        self._bytes = 0
        self._computed: set[str] = set()
        self._failed: set[str] = set()

    def add(self, sample_id: str, decoded: NDArray[Any]) -> None:
        task = self._extraction.task
        plain = task.inputs(self._recipe.operations, decoded)
        for view in self._recipe.views:
            self._waiting.append((sample_id, view, task.view(plain, view)))
            if sum(len(inputs) for *_, inputs in self._waiting) >= BATCH:
                self._run()
        if self._bytes >= PART_BYTES:
            self._run()
            self._store()

    def fail(self, sample_id: str, reason: str) -> None:
        self._rows += [(sample_id, view, None, reason) for view in self._recipe.views]
        self._failed.add(sample_id)

    def _run(self) -> None:
        if not self._waiting:
            return
        inputs = np.concatenate([inputs for *_, inputs in self._waiting])
        features = np.concatenate(
            [self._graph(inputs[start : start + BATCH]) for start in range(0, len(inputs), BATCH)]
        )
        start = 0
        for sample_id, view, own in self._waiting:
            row = features[start : start + len(own)]
            start += len(own)
            if np.isfinite(row).all():
                halves = np.clip(row, -_LARGEST_HALF, _LARGEST_HALF).astype("<f2").tobytes()
                self._rows.append((sample_id, view, halves, None))
                self._bytes += len(halves)
                self._computed.add(sample_id)
            else:
                self._rows.append((sample_id, view, None, "The backbone gave no finite number"))
                self._failed.add(sample_id)
        self._waiting = []

    def finish(self) -> dict[str, Any] | None:
        """Write what is left; gives the row of DONE_SCHEMA, or None where nothing was asked."""
        self._run()
        self._store()
        if not self._computed and not self._failed:
            return None
        return {
            "feature_key": self._recipe.feature_key,
            "computed": len(self._computed - self._failed),
            "failed": len(self._failed),
        }

    def _store(self) -> None:
        if not self._rows:
            return
        self._rows.sort(key=lambda row: row[:2])
        columns = [list(column) for column in zip(*self._rows, strict=True)]
        table = pa.table(
            [pa.array(c, t) for c, t in zip(columns, PART_SCHEMA.types, strict=True)],
            schema=PART_SCHEMA,
        )
        sink = pa.BufferOutputStream()
        pq.write_table(
            table,
            sink,
            compression="zstd",
            use_dictionary=["view", "failure"],
            row_group_size=_group_rows(self._bytes, len(self._rows)),
        )
        self._move_in(sink.getvalue().to_pybytes())
        self._rows, self._bytes = [], 0

    def _move_in(self, payload: bytes) -> None:
        ids = "\n".join(f"{sample_id} {view}" for sample_id, view, _, _ in self._rows)
        name = f"part-{hashlib.sha256(ids.encode()).hexdigest()[:16]}"
        blobs = self._extraction.blobs
        folder = keys.features(self._extraction.owner, self._recipe.feature_key)
        staging = f"{folder}/.{name}.{uuid.uuid4().hex[:8]}.tmp"
        blobs.write(f"{staging}/rows.parquet", payload)
        if not blobs.rename_folder(staging, f"{folder}/{name}"):
            blobs.delete(staging)


def _group_rows(size: int, rows: int) -> int:
    """Rows of a group of the file, so that a reader holds few megabytes of large features."""
    return max(1, min(rows, _GROUP_BYTES * rows // max(size, 1)))


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
