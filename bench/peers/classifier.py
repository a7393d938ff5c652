"""The model as every serving peer has it: decode with Pillow, one ONNX Runtime session a worker.

Its input is made in the fewest steps that give the same picture, without the checks of odd files
that `orchard.decode` makes.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from PIL import Image

MODEL = "BENCH_MODEL"
BATCH = "BENCH_BATCH"
WORKERS = "BENCH_WORKERS"
"""Names in the environment by which `bench.peers` tells its servers the graph's path, the largest
batch, and how many workers to run."""

SIZE = 224
MEAN, SCALE = np.float32(127), np.float32(1 / 128)


def number(name: str) -> int:
    """A number that the environment gives."""
    return int(os.environ[name])


def prepared(image: Image.Image) -> NDArray[np.float32]:
    """(3, 224, 224): a picture, squashed and normalised."""
    small = image.convert("RGB").resize((SIZE, SIZE), Image.Resampling.BILINEAR)
    return np.ascontiguousarray(((np.asarray(small, np.float32) - MEAN) * SCALE).transpose(2, 0, 1))


def prepared_base64(text: str) -> NDArray[np.float32]:
    """The same from a file's bytes in base64."""
    return prepared(Image.open(io.BytesIO(base64.b64decode(text))))


class Classifier:
    """(N, 3, 224, 224) → (N, K) scores, on one thread: workers are as many as cores."""

    def __init__(self, path: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, inputs: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        scores: NDArray[np.float32] = self._session.run(None, {"input": np.stack(inputs)})[0]
        return scores


def from_environment() -> Classifier:
    """The classifier of the graph that the environment names."""
    return Classifier(Path(os.environ[MODEL]))
