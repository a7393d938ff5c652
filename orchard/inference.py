"""A bundle at work: bytes → scores, with ONNX Runtime. Spark, publishing and the service use it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from orchard import bundle as bundles
from orchard import preprocess
from orchard.blobs import Blobs, keys
from orchard.bundle import Bundle
from orchard.errors import BadInput, OrchardError
from orchard.tasks import task as task_of
from orchard.tasks.base import Limits

_INPUT = "input"
_OUTPUT = "scores"
_ERRORS_ONLY = 3


class Graph:
    """A model's graph as a function of its input.

    Args:
        path: an ONNX file with input "input" (N, 3, H, W) and output "scores" (N, K).
        threads: threads that work on one call.

    Raises:
        BadInput: ONNX Runtime cannot load the file, or its input and output have other names.
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
        names = [node.name for node in (*self._session.get_inputs(), *self._session.get_outputs())]
        if names != [_INPUT, _OUTPUT]:
            raise BadInput("A bundle's graph has other inputs or outputs than it must", value=names)

    def __call__(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """Inputs (N, 3, H, W) float32 → scores (N, K) float32."""
        return cast("NDArray[np.float32]", self._session.run([_OUTPUT], {_INPUT: inputs})[0])


class Model:
    """A bundle that answers. Calls from several threads at once are safe.

    Args:
        bundle: from `orchard.bundle.read`.
        threads: threads that work on one call.
        batch: samples that go through the graph at once; it bounds the memory.
        limits: what `input_of` takes; by default what a task takes.
    """

    def __init__(
        self, bundle: Bundle, threads: int = 1, batch: int = 8, limits: Limits | None = None
    ) -> None:
        self.bundle = bundle
        self.task = task_of(bundle.task)
        self._operations = bundle.preprocessing
        preprocess.validate(self._operations)
        self._graph = Graph(bundle.model, threads)
        self._batch = batch
        self._limits = limits

    def input_of(self, payload: bytes) -> NDArray[np.float32]:
        """Bytes of a sample → the graph's input of one sample, (3, H, W)."""
        return preprocess.apply(self._operations, self.task.decode(payload, self._limits))

    def predict(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """Inputs (N, 3, H, W) → scores (N, K), a batch at a time."""
        parts = [
            self._graph(inputs[start : start + self._batch])
            for start in range(0, len(inputs), self._batch)
        ]
        return (
            np.concatenate(parts) if parts else np.empty((0, len(self.bundle.labels)), np.float32)
        )

    def scores_of_decoded(self, samples: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Decoded samples → scores (N, K); what `Task.decode` gives, so one decoding serves several models."""
        parts = [
            self._graph(preprocess.batch(self._operations, samples[start : start + self._batch]))
            for start in range(0, len(samples), self._batch)
        ]
        return (
            np.concatenate(parts) if parts else np.empty((0, len(self.bundle.labels)), np.float32)
        )

    def scores(self, payloads: Sequence[bytes]) -> NDArray[np.float32]:
        """Bytes of samples → scores (N, K). Raises BadInput for bytes that are no sample."""
        parts = [
            self.scores_of_decoded(
                [self.task.decode(one) for one in payloads[start : start + self._batch]]
            )
            for start in range(0, len(payloads), self._batch)
        ]
        return (
            np.concatenate(parts) if parts else np.empty((0, len(self.bundle.labels)), np.float32)
        )

    def answer(self, scores: NDArray[np.float32], request: dict[str, Any]) -> dict[str, Any]:
        """The service's answer to one sample, scores (K,) → JSON."""
        return self.task.response(scores, self.bundle.card, request)

    def verify(self) -> float:
        """Run the golden vectors. Returns the largest difference of a score; raises OrchardError."""
        return bundles.check_golden(
            self.bundle.folder,
            lambda payload: preprocess.apply(self._operations, self.task.decode(payload)),
            self._graph,
        )


def golden_vectors(
    graph: Path, task: str, preprocessing: list[dict[str, Any]], tolerance: float = 1e-4
) -> bytes:
    """Golden vectors of a graph over the task's own made-up samples, for `orchard.bundle.write`."""
    chosen = task_of(task)
    return bundles.make_golden(
        chosen.golden_payloads(),
        lambda payload: preprocess.apply(preprocessing, chosen.decode(payload)),
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
