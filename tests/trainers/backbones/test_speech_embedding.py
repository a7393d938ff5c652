"""The speech embedding: the carried network, written anew for ONNX and for Paddle."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from orchard.errors import OrchardError
from trainers.backbones import speech_embedding
from trainers.backbones.speech_embedding import (
    FEATURE_COUNT,
    LEAST_SAMPLES,
    facts,
    layout,
    load_weights,
    parameter_shapes,
)
from trainers.backbones.speech_graph import feature_graph
from trainers.backbones.speech_network import SpeechNetwork
from trainers.engine import paddle


@pytest.fixture(scope="module")
def session() -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(feature_graph(), providers=["CPUExecutionProvider"])


def samples(rows: int = 3, count: int = 20_000) -> np.ndarray:
    """Rows of noise of different loudness."""
    generator = np.random.default_rng(0)
    loudness = 10 ** np.linspace(-3, -0.5, rows)[:, None]
    return (generator.normal(size=(rows, count)) * loudness).astype(np.float32)


def carried(name: str) -> onnxruntime.InferenceSession:
    found = importlib.util.find_spec("openwakeword")
    assert found and found.submodule_search_locations
    path = Path(found.submodule_search_locations[0], "resources/models", name)
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def test_features_are_those_of_the_carried_graphs(session: onnxruntime.InferenceSession) -> None:
    mel, network = carried("melspectrogram.onnx"), carried("embedding_model.onnx")
    spans = {(s.block, s.pooling): slice(s.start, s.stop) for s in layout()}
    for row in samples():
        spectrogram = mel.run(None, {"input": row[None] * 32_768})[0].squeeze() / 10 + 2
        windows = [spectrogram[i : i + 76] for i in range(0, len(spectrogram) - 75, 4)]
        inputs = np.stack(windows)[..., None].astype(np.float32)
        each = network.run(None, {"input_1": inputs})[0].reshape(len(windows), 96)
        (found,) = session.run(None, {"input": row[None]})
        for pooling, wanted in (
            ("mean", each.mean(0)),
            ("max", each.max(0)),
            ("deviation", each.std(0)),
        ):
            assert found[0, spans["embedding", pooling]] == pytest.approx(wanted, abs=2e-3)


def test_a_row_does_not_depend_on_its_batch(session: onnxruntime.InferenceSession) -> None:
    rows = samples()
    (together,) = session.run(None, {"input": rows})
    assert together.shape == (3, FEATURE_COUNT)
    for row, wanted in zip(rows, together, strict=True):
        assert session.run(None, {"input": row[None]})[0][0] == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("kept", [("embedding",), ("conv18",), ("conv18", "embedding")])
def test_paddle_and_onnx_agree(
    session: onnxruntime.InferenceSession, kept: tuple[str, ...]
) -> None:
    spans = [span for span in layout() if span.block in kept]
    network = SpeechNetwork(spans)
    for name in parameter_shapes(spans):
        getattr(network, name.replace(".", "_")).set_value(load_weights()[name])
    network.eval()
    rows = samples()
    found = network(paddle.to_tensor(rows)).numpy()
    columns = np.concatenate([np.arange(span.start, span.stop) for span in spans])
    wanted = session.run(None, {"input": rows})[0][:, columns]
    assert np.abs(found - wanted).max() < 1e-3


def test_silence_and_the_shortest_window_give_numbers(
    session: onnxruntime.InferenceSession,
) -> None:
    assert np.isfinite(session.run(None, {"input": np.zeros((1, 16_000), np.float32)})[0]).all()
    shortest = samples(1, LEAST_SAMPLES)
    assert np.isfinite(session.run(None, {"input": shortest})[0]).all()


def test_equal_weights_give_equal_bytes() -> None:
    graph = feature_graph()
    assert graph == feature_graph()
    said = json.loads(json.dumps(facts(graph)))
    assert said["feature_count"] == said["layout"][-1][3] == FEATURE_COUNT
    assert said["bytes"] == len(graph)


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "openwakeword"
    (folder / "resources" / "models").mkdir(parents=True)
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    load = load_weights.__wrapped__
    with pytest.raises(OrchardError, match="not installed"):
        load()
    (folder / "resources" / "models" / "melspectrogram.onnx").write_bytes(b"other")
    with pytest.raises(OrchardError, match="not those that are known"):
        load()
    monkeypatch.setattr(speech_embedding, "_PACKAGE", "no_such_package")
    with pytest.raises(OrchardError, match="not installed"):
        load()
