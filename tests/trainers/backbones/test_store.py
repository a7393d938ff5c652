from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from trainers import __main__ as command_line
from trainers.backbones import backbones, speech_embedding
from trainers.backbones.maps import feature_maps


def test_the_command_writes_every_backbone_and_leaves_it_be(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    assert command_line.main(["backbones", "--folder", str(tmp_path)]) == 0
    written = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    names = [*backbones(), *feature_maps(), speech_embedding.NAME]
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


def test_the_command_measures_the_cores(tmp_path: Path) -> None:
    speed = tmp_path / "core_speed.json"
    folder = str(tmp_path / "backbones")
    assert command_line.main(["backbones", "--folder", folder, "--core-speed", str(speed)]) == 0
    assert 0.2 <= json.loads(speed.read_text()) <= 2.0


@pytest.mark.parametrize("arguments", [[], ["paint"]])
def test_an_unknown_command_is_bad_input(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(arguments) == 64
    assert "backbones" in capsys.readouterr().err
