"""Log-mel spectrograms as features, for networks that learn from them from scratch.

No weights are trained here, so this is a backbone only in what it is asked for: a graph from samples
to features, which run once over every recording. The spectrogram is that of `orchard.preprocess.sound`
(windows of Hann, triangular mel bands), its decibels relative to a sine of full scale.

Input: (rows, samples) float32 at 16,000 samples a second, full scale 1, a multiple of `HOP` samples.
Features: (rows, `BANDS` · T) float32, the lowest band first, with T = samples / `HOP`; a value v
stands for v · `SPREAD` + `MIDDLE` decibels, so that sounds lie between −2 and 2.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.decode.sound import SOUND_RATE
from orchard.preprocess.sound import hann, mel_weights
from trainers.backbones.graph import GraphWriter
from trainers.backbones.speech_graph import INPUT_SHAPE
from trainers.engine import paddle

Array = NDArray[np.float32]

NAME = "log-mel"
TITLE = "Log-mel"
KIND = "sound"

SIZE, HOP, BANDS = 512, 250, 64
LOW, HIGH = 50.0, 7800.0
SMALLEST_POWER = 1e-10
MIDDLE, SPREAD = -50.0, 25.0
BEFORE = (SIZE - HOP) // 2
"""Zeros before the first sample and after the last one: a frame's middle is that of its hop."""
MILLISECONDS_PER_SECOND = 1.5
"""Time of the graph in ONNX Runtime on one thread for a second of sound; a fixed reference figure for
plans, not a measurement of this machine."""


def frames(samples: int) -> int:
    """Columns of the spectrogram of a window of so many samples."""
    return samples // HOP


@cache
def waves() -> Array:
    """(2 · (SIZE / 2 + 1), 1, SIZE): cosines, then sines, of each frequency under the window, so
    that a sine of full scale has a power of 1."""
    window = hann(SIZE)
    angles = 2 * np.pi * np.outer(np.arange(SIZE // 2 + 1), np.arange(SIZE)) / SIZE
    both = np.concatenate([np.cos(angles), np.sin(angles)]) * window / (window.sum() / 2)
    return np.asarray(both[:, None], np.float32)


@cache
def bands() -> Array:
    """(SIZE / 2 + 1, BANDS) weights of the bands."""
    return np.ascontiguousarray(mel_weights(SIZE, SOUND_RATE, BANDS, LOW, HIGH).T, np.float32)


def feature_graph() -> bytes:
    """Input "input" (rows, samples) float32 → output "features" (rows, D) float32."""
    graph = GraphWriter(f"{NAME}-features")
    value = add_spectrogram(graph, graph.input("input", INPUT_SHAPE))
    graph.output("features", graph.add("Flatten", value, axis=1), ("rows", "features"))
    return graph.to_bytes()


def add_spectrogram(graph: GraphWriter, samples: str) -> str:
    """Add the spectrogram: (rows, samples) → (rows, 1, BANDS, T)."""
    channel = graph.constant("axis.channel", np.array([1]))
    value = graph.add("Unsqueeze", samples, channel)
    waved = graph.add(
        "Conv", value, graph.constant("waves", waves()), strides=[HOP], pads=[BEFORE, BEFORE]
    )
    squares = graph.add("Mul", waved, waved)
    weights = graph.constant("bands", np.concatenate([bands(), bands()]).T.copy())
    power = graph.add("MatMul", weights, squares)
    least = graph.constant("least", np.full((), SMALLEST_POWER, np.float32))
    logarithm = graph.add("Log", graph.add("Max", power, least))
    factor = graph.constant("factor", np.full((), _FACTOR, np.float32))
    shift = graph.constant("shift", np.full((), _SHIFT, np.float32))
    value = graph.add("Add", graph.add("Mul", logarithm, factor), shift)
    return graph.add("Unsqueeze", value, channel)


_FACTOR = 10 / np.log(10) / SPREAD
_SHIFT = -MIDDLE / SPREAD


class Spectrogram(paddle.nn.Layer):
    """The same as a Paddle layer without parameters: (rows, samples) → (rows, 1, BANDS, T)."""

    def __init__(self) -> None:
        super().__init__()
        self._waves = paddle.to_tensor(waves())
        self._bands = paddle.to_tensor(np.concatenate([bands(), bands()]).T.copy())

    def forward(self, samples: paddle.Tensor) -> paddle.Tensor:
        waved = paddle.nn.functional.conv1d(
            samples.unsqueeze(1), self._waves, stride=HOP, padding=BEFORE
        )
        power = paddle.matmul(self._bands, waved * waved)
        return (power.clip(min=SMALLEST_POWER).log() * _FACTOR + _SHIFT).unsqueeze(1)


def facts(graph: bytes) -> dict[str, Any]:
    """What others need to know of the feature graph, as JSON."""
    return {
        "name": NAME,
        "title": TITLE,
        "kind": KIND,
        "licence": "Apache-2.0",
        "source": "Orchard",
        "bands": BANDS,
        "hop": HOP,
        "parameters": 0,
        "milliseconds_per_second": MILLISECONDS_PER_SECOND,
        "sha256": hashlib.sha256(graph).hexdigest(),
        "bytes": len(graph),
    }
