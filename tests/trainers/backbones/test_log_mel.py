"""Log-mel spectrograms: the graph, the Paddle layer and the preprocessing say the same."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from orchard.preprocess.sound import log_mel as preprocessed
from trainers.backbones import log_mel
from trainers.engine import paddle

RATE = 16_000


def sounds() -> np.ndarray:
    time = np.arange(RATE) / RATE
    generator = np.random.default_rng(3)
    return np.stack(
        [
            np.sin(2 * np.pi * 1000 * time),
            0.01 * generator.normal(size=RATE),
            np.zeros(RATE),
        ]
    ).astype(np.float32)


def by_graph(samples: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(
        log_mel.feature_graph(), providers=["CPUExecutionProvider"]
    )
    features = session.run(["features"], {"input": samples})[0]
    return features.reshape(len(samples), log_mel.BANDS, -1)


def decibels(values: np.ndarray) -> np.ndarray:
    return values * log_mel.SPREAD + log_mel.MIDDLE


def test_the_graph_gives_the_decibels_of_the_preprocessing() -> None:
    operation = {
        "fft": log_mel.SIZE,
        "hop": log_mel.HOP,
        "bands": log_mel.BANDS,
        "low": log_mel.LOW,
        "high": log_mel.HIGH,
    }
    found = by_graph(sounds())
    assert found.shape == (3, log_mel.BANDS, log_mel.frames(RATE))
    # There a sine of full scale has the power of its window; here it has 1.
    offset = 20 * np.log10(log_mel.SIZE / 4)
    for row, samples in zip(found[:2], sounds()[:2], strict=True):
        wanted = preprocessed(operation, samples, RATE) - offset
        loud = wanted > -70
        assert loud.mean() > 0.05
        assert np.abs(decibels(row) - wanted)[loud].max() < 0.05


def test_full_scale_is_near_zero_decibels_and_silence_is_the_floor() -> None:
    tone, _, silence = decibels(by_graph(sounds()))
    assert -9 < tone[:, 5:-5].max() <= 0.1
    assert silence == pytest.approx(-100, abs=1e-3)


def test_the_paddle_layer_equals_the_graph() -> None:
    layer = log_mel.Spectrogram()
    assert not list(layer.parameters()) and not layer.state_dict()
    found = layer(paddle.to_tensor(sounds())).numpy()[:, 0]
    assert np.abs(found - by_graph(sounds())).max() < 1e-3


def test_a_row_does_not_depend_on_the_others_and_equal_graphs_have_equal_bytes() -> None:
    alone = by_graph(sounds()[1:2])
    assert np.abs(alone[0] - by_graph(sounds())[1]).max() < 1e-5
    assert log_mel.feature_graph() == log_mel.feature_graph()
    assert log_mel.facts(b"graph")["kind"] == "sound"
