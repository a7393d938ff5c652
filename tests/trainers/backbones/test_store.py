from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from orchard.blobs import Blobs, keys
from trainers import __main__ as command_line
from trainers.backbones import backbones, log_mel, speech_embedding, store
from trainers.backbones.maps import feature_maps


def test_the_command_writes_every_backbone_and_leaves_it_be(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    assert command_line.main(["backbones", "--folder", str(tmp_path)]) == 0
    written = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    names = [*backbones(), *feature_maps(), speech_embedding.NAME, log_mel.NAME]
    assert {p.name for p in written} == {f"{n}.{e}" for n in names for e in ("onnx", "json")}
    for name, backbone in backbones().items():
        facts = json.loads((tmp_path / f"{name}.json").read_text())
        graph = (tmp_path / f"{name}.onnx").read_bytes()
        assert facts["sha256"] == hashlib.sha256(graph).hexdigest()
        assert facts["feature_count"] == facts["layout"][-1][3]
        session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
        (features,) = session.run(None, {"input": np.zeros((2, 3, 64, 32), np.float32)})
        assert features.shape == (2, backbone.feature_count)
    broken = tmp_path / "efficientnet-lite1.onnx"
    broken.write_bytes(b"half")
    assert command_line.main(["backbones", "--folder", str(tmp_path)]) == 0
    changed = {p.name for p in tmp_path.iterdir() if p.stat().st_mtime_ns != written.get(p)}
    assert changed == {broken.name}
    assert "efficientnet-lite0: unchanged" in caplog.text


@pytest.mark.parametrize("arguments", [[], ["paint"]])
def test_an_unknown_command_is_bad_input(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(arguments) == 64
    assert "backbones" in capsys.readouterr().err


def test_the_store_gets_what_it_lacks_and_its_list_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = Blobs(f"file://{tmp_path / 'blobs'}")
    written = []

    def write(folder: Path) -> None:
        written.append(folder)
        (folder / "small.onnx").write_bytes(b"graph")
        (folder / "small.json").write_text("{}")

    monkeypatch.setattr(store, "write_backbones", write)
    assert store.store_backbones(blobs) == ["small.json", "small.onnx"]
    assert blobs.read(f"{keys.backbones()}/small.onnx") == b"graph"
    complete = blobs.read_json(keys.backbones_complete())
    assert complete["files"] == ["small.json", "small.onnx"]
    assert not written[0].exists()
    assert store.store_backbones(blobs) == []
    assert len(written) == 1
    blobs.write_json(keys.backbones_complete(), {**complete, "code": "other"})
    assert store.store_backbones(blobs) == ["small.json", "small.onnx"]


def test_the_speed_of_the_cores_is_measured_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = Blobs(f"file://{tmp_path / 'blobs'}")
    monkeypatch.setattr(store, "write_backbones", lambda folder: None)
    store.store_backbones(blobs)
    assert 0.2 <= blobs.read_json(keys.core_speed()) <= 2.0
    blobs.write_json(keys.core_speed(), 0.3)
    store.store_backbones(blobs)
    assert blobs.read_json(keys.core_speed()) == 0.3
