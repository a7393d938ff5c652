"""A bundle at work: bytes → answers, with ONNX Runtime. Spark, publishing and the service use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from orchard import bundle as bundles
from orchard.blobs import Blobs, keys
from orchard.bundle import Bundle
from orchard.errors import BadInput, OrchardError
from orchard.tasks import task as task_of
from orchard.tasks.base import Limits

_INPUT = "input"
_ERRORS_ONLY = 3

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Prepared:
    """A sample as the graph takes it.

    Attributes:
        inputs: (R, …) rows of the graph's input.
        shape: of the decoded sample.
    """

    inputs: Floats
    shape: tuple[int, ...]


class Graph:
    """A model's graph as a function of its input.

    Args:
        path: an ONNX file with one input "input" (R, …) and one output (R, …).
        threads: threads that work on one call.

    Raises:
        BadInput: ONNX Runtime cannot load the file, or it has other inputs or outputs.
    """

    def __init__(self, path: Path, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = _ERRORS_ONLY
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # the library's own exceptions have no common base
            raise BadInput("A bundle's graph cannot be loaded", value=str(error)[:300]) from error
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        names = [node.name for node in inputs]
        if names != [_INPUT] or len(outputs) != 1:
            raise BadInput(
                "A bundle's graph has other inputs or outputs than it must",
                value=[*names, *(node.name for node in outputs)],
            )
        self._output = str(outputs[0].name)

    def __call__(self, inputs: Floats) -> Floats:
        """Inputs (R, …) float32 → outputs (R, …) float32."""
        return cast("Floats", self._session.run([self._output], {_INPUT: inputs})[0])


class Model:
    """A bundle that answers. Calls from several threads at once are safe.

    Args:
        bundle: from `orchard.bundle.read`.
        threads: threads that work on one call.
        batch: rows that go through the graph at once; it bounds the memory.
        limits: what `prepared` takes; by default what a task takes.
    """

    def __init__(
        self, bundle: Bundle, threads: int = 1, batch: int = 8, limits: Limits | None = None
    ) -> None:
        self.bundle = bundle
        self.task = task_of(bundle.task)
        self._graph = Graph(bundle.model, threads)
        self._batch = batch
        self._limits = limits

    def prepared(self, payload: bytes) -> Prepared:
        """Bytes of a sample → the graph's input. Raises BadInput for bytes that are no sample."""
        return self._prepare(self.task.decode(payload, self._limits))

    def outputs(self, inputs: Floats) -> Floats:
        """Inputs (R, …), at least one row → outputs (R, …), a batch at a time."""
        starts = range(0, len(inputs), self._batch)
        parts = [self._graph(inputs[start : start + self._batch]) for start in starts]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def answers_of(self, samples: Sequence[Prepared]) -> list[Floats]:
        """Prepared samples → their answers; their rows run through the graph together."""
        if not samples:
            return []
        rows = [sample.inputs for sample in samples]
        outputs = self.outputs(rows[0] if len(rows) == 1 else np.concatenate(rows))
        ends = np.cumsum([len(each) for each in rows])
        parts = np.split(outputs, ends[:-1])
        return [
            self.task.answer(part, sample.shape, self.bundle.card)
            for part, sample in zip(parts, samples, strict=True)
        ]

    def answers_of_decoded(self, samples: Sequence[NDArray[Any]]) -> list[Floats]:
        """Decoded samples → answers; what `Task.decode` gives, so that one decoding serves several models."""
        found: list[Floats] = []
        waiting: list[Prepared] = []
        for decoded in samples:
            waiting.append(self._prepare(decoded))
            # Rows are what takes memory, and a sample may have many.
            if sum(len(each.inputs) for each in waiting) >= self._batch:
                found += self.answers_of(waiting)
                waiting = []
        return found + self.answers_of(waiting)

    def answers(self, payloads: Sequence[bytes]) -> list[Floats]:
        """Bytes of samples → answers. Raises BadInput for bytes that are no sample."""
        found: list[Floats] = []
        for start in range(0, len(payloads), self._batch):
            part = payloads[start : start + self._batch]
            found += self.answers_of_decoded([self.task.decode(payload) for payload in part])
        return found

    def response(self, answer: Floats, request: Mapping[str, Any]) -> dict[str, Any]:
        """The service's response for one sample. Raises BadInput for a bad parameter."""
        return self.task.response(answer, self.bundle.card, request)

    def _prepare(self, decoded: NDArray[Any]) -> Prepared:
        return Prepared(self.task.inputs(self.bundle.preprocessing, decoded), tuple(decoded.shape))

    def verify(self) -> float:
        """Run the golden vectors. Returns the largest difference; raises OrchardError."""
        return bundles.check_golden(
            self.bundle.folder,
            lambda payload: self._prepare(self.task.decode(payload)).inputs,
            self._graph,
        )


def golden_vectors(
    graph: Path, task: str, preprocessing: list[dict[str, Any]], tolerance: float = 1e-4
) -> bytes:
    """Golden vectors of a graph over the task's own made-up samples, for `orchard.bundle.write`."""
    chosen = task_of(task)
    return bundles.make_golden(
        chosen.golden_payloads(),
        lambda payload: chosen.inputs(preprocessing, chosen.decode(payload)),
        Graph(graph),
        tolerance,
    )


def fetch(blobs: Blobs, owner: str, bundle_hash: str, folder: Path) -> Bundle:
    """Copy a bundle from the store to `folder`/<hash>, unless it is there, and verify its content.

    Raises:
        NotFound: the store has no such bundle.
        OrchardError: its content is not the one that its name says.
    """
    goal = folder / bundle_hash
    blobs.download_folder(keys.bundle(owner, bundle_hash), goal)
    found = bundles.read(goal, bundle_hash)
    if not found.labels:
        raise OrchardError("A bundle has no labels", value=bundle_hash)
    return found
