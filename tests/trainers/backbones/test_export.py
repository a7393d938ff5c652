from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from PIL import Image
from sklearn.datasets import load_sample_image

from orchard.errors import BadInput, OrchardError
from trainers.backbones import Backbone, get_backbone
from trainers.backbones.efficientnet_lite import imagenet_classifier
from trainers.backbones.export import (
    export_classifier,
    load_classifier,
    onnx_scores,
    paddle_scores,
    prove_equal,
)
from trainers.backbones.feature_graph import feature_graph
from trainers.backbones.network import build_network
from trainers.engine import paddle
from trainers.head_weights import HeadWeights

Array = NDArray[np.float32]
ROOT = Path(__file__).parents[3]


def random_head(features: int, sizes: tuple[int, ...], temperature: float = 1.0) -> HeadWeights:
    random = np.random.default_rng(1)
    layers, inputs = [], features
    for outputs in sizes:
        weight = random.standard_normal((inputs, outputs)) / np.sqrt(inputs)
        layers.append((weight.astype("f4"), random.standard_normal(outputs).astype("f4")))
        inputs = outputs
    mean = random.standard_normal(features).astype("f4")
    return HeadWeights(mean, random.uniform(0.5, 2, features).astype("f4"), layers, temperature)


def pictures(count: int, height: int, width: int) -> Array:
    random = np.random.default_rng(2)
    return random.uniform(-1, 1, (count, 3, height, width)).astype("f4")


@pytest.mark.parametrize(("height", "width", "count"), [(64, 96, 1), (32, 32, 3)])
def test_features_are_the_same_in_paddle_and_onnx(
    tmp_path: Path, tiny: Backbone, height: int, width: int, count: int
) -> None:
    path = tmp_path / "tiny.onnx"
    path.write_bytes(feature_graph(tiny))
    inputs = pictures(count, height, width)
    network = build_network(tiny)
    with paddle.no_grad():
        expected = network.features(paddle.to_tensor(inputs)).numpy()
    assert expected.shape == (count, tiny.feature_count)
    np.testing.assert_allclose(onnx_scores(path, inputs), expected, atol=1e-5)
    folded = build_network(tiny, folded=True)
    with paddle.no_grad():
        np.testing.assert_allclose(
            folded.features(paddle.to_tensor(inputs)).numpy(), expected, atol=1e-5
        )


def imagenet_head(variant: int, backbone: Backbone) -> HeadWeights:
    weight, bias = imagenet_classifier(variant)
    span = next(s for s in backbone.layout if (s.block, s.pooling) == ("head", "mean"))
    rows = np.zeros((backbone.feature_count, 1000), np.float32)
    rows[span.start : span.stop] = weight
    zeros = np.zeros(backbone.feature_count, np.float32)
    return HeadWeights(zeros, zeros + 1, [(rows, bias)])


def sample(name: str) -> Array:
    picture = Image.fromarray(load_sample_image(name)).resize((256, 256), Image.Resampling.BICUBIC)
    pixels = np.asarray(picture.crop((16, 16, 240, 240)), np.float32)
    return (pixels.transpose(2, 0, 1) - 127) / 128


@pytest.mark.parametrize(
    ("variant", "expected"),
    # bell cote and daisy; palace and honeycomb, which is what the larger ones see in them
    [(0, [442, 985]), (1, [698, 599]), (2, [698, 599])],
)
def test_pretrained_weights_recognise_sample_pictures(
    tmp_path: Path, variant: int, expected: list[int]
) -> None:
    backbone = get_backbone(f"efficientnet-lite{variant}")
    path = export_classifier(tmp_path, backbone, imagenet_head(variant, backbone))
    inputs = np.stack([sample("china.jpg"), sample("flower.jpg")])
    layer = load_classifier(tmp_path)
    assert paddle_scores(layer, inputs).argmax(1).tolist() == expected
    assert onnx_scores(path, inputs).argmax(1).tolist() == expected
    assert prove_equal(path, layer, inputs) < 1e-4


@pytest.mark.parametrize("sizes", [(4,), (7, 4), (9, 7, 4)], ids=str)
@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_an_exported_classifier_scores_as_its_parts_do(
    tmp_path: Path, tiny: Backbone, sizes: tuple[int, ...], temperature: float
) -> None:
    head = random_head(tiny.feature_count, sizes, temperature)
    inputs = pictures(5, 32, 48)
    path = export_classifier(tmp_path, tiny, head)
    with paddle.no_grad():
        value = build_network(tiny).features(paddle.to_tensor(inputs)).numpy()
    value = (value - head.mean) / head.scale
    for index, (weight, bias) in enumerate(head.layers):
        value = (np.maximum(value, 0) if index else value) @ weight + bias
    value = np.exp(value / temperature)
    expected = value / value.sum(1, keepdims=True)
    np.testing.assert_allclose(onnx_scores(path, inputs), expected, atol=1e-5)
    assert prove_equal(path, load_classifier(tmp_path), inputs, 1e-5) < 1e-5


def test_what_the_head_ignores_is_left_out(tmp_path: Path, tiny: Backbone) -> None:
    head = random_head(tiny.feature_count, (4,))
    used = next(s for s in tiny.layout if (s.block, s.pooling) == ("block0", "max"))
    weight = np.zeros_like(head.layers[0][0])
    weight[used.start : used.stop] = head.layers[0][0][used.start : used.stop]
    sparse = HeadWeights(head.mean, head.scale, [(weight, head.layers[0][1])])
    path = export_classifier(tmp_path, tiny, sparse)
    operations = [node.op_type for node in onnx.load(path).graph.node]
    assert operations.count("Conv") == 3
    assert "GlobalAveragePool" not in operations
    prove_equal(path, load_classifier(tmp_path), pictures(2, 16, 16), 1e-5)


def test_a_head_that_ignores_everything_still_exports(tmp_path: Path, tiny: Backbone) -> None:
    head = random_head(tiny.feature_count, (4,))
    constant = HeadWeights(head.mean, head.scale, [(head.layers[0][0] * 0, head.layers[0][1])])
    path = export_classifier(tmp_path, tiny, constant)
    scores = onnx_scores(path, pictures(2, 16, 16))
    np.testing.assert_allclose(scores[0], scores[1])


def test_a_difference_is_refused_with_its_size(tmp_path: Path, tiny: Backbone) -> None:
    path = export_classifier(tmp_path / "a", tiny, random_head(tiny.feature_count, (4,)))
    export_classifier(tmp_path / "b", tiny, random_head(tiny.feature_count, (4,), temperature=2.0))
    with pytest.raises(OrchardError, match="differ by more than 0.0001"):
        prove_equal(path, load_classifier(tmp_path / "b"), pictures(2, 16, 16))


def test_onnx_runtime_joins_convolution_and_relu6(tmp_path: Path, tiny: Backbone) -> None:
    path, optimised = tmp_path / "tiny.onnx", tmp_path / "optimised.onnx"
    path.write_bytes(feature_graph(tiny))
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(optimised)
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    assert not {"Clip", "Identity"} & {node.op_type for node in onnx.load(optimised).graph.node}


def export_lite0(folder: Path) -> None:
    rows = np.sin(np.arange(4048 * 3, dtype=np.float32)).reshape(4048, 3)
    zeros = np.zeros(4048, np.float32)
    head = HeadWeights(zeros, zeros + 2, [(rows, zeros[:3])], 1.5)
    export_classifier(folder, "efficientnet-lite0", head)


PROGRAM = """
import sys
from pathlib import Path
from tests.trainers.backbones.test_export import export_lite0
export_lite0(Path(sys.argv[1]))
"""


def test_the_bytes_are_the_same_in_any_process(tmp_path: Path) -> None:
    paddle.nn.Linear(3, 3)  # a history: Paddle counts the names of its parameters
    export_lite0(tmp_path / "here")
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path / "there")],
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7"},
    )
    here, there = (
        {p.name: hashlib.sha256(p.read_bytes()).digest() for p in (tmp_path / f).iterdir()}
        for f in ("here", "there")
    )
    assert set(here) == {"model.onnx", "model.pdparams", "network.json"}
    assert here == there


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"scale": np.zeros(44, "f4")}, "scale must be above zero"),
        ({"mean": np.zeros(3, "f4")}, "mean should be 44"),
        ({"layers": []}, "no layer"),
        ({"layers": [(np.zeros((5, 2), "f4"), np.zeros(2, "f4"))]}, "44 inputs"),
        ({"layers": [(np.full((44, 2), np.inf, "f4"), np.zeros(2, "f4"))]}, "not finite"),
        ({"temperature": 0.0}, "temperature"),
    ],
)
def test_a_head_that_does_not_fit_is_refused(
    tmp_path: Path, tiny: Backbone, change: dict[str, object], text: str
) -> None:
    head = random_head(tiny.feature_count, (4,))
    assert tiny.feature_count == 44
    with pytest.raises(BadInput, match=text):
        export_classifier(tmp_path / "x", tiny, HeadWeights(**{**head.__dict__, **change}))
    assert not (tmp_path / "x").exists()


def test_a_broken_folder_is_refused(tmp_path: Path, tiny: Backbone) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        load_classifier(tmp_path)
    export_classifier(tmp_path, tiny, random_head(tiny.feature_count, (4,)))
    description = json.loads((tmp_path / "network.json").read_text())
    (tmp_path / "network.json").write_text(json.dumps({**description, "format": 99}))
    with pytest.raises(BadInput, match="99"):
        load_classifier(tmp_path)
    (tmp_path / "network.json").write_text(json.dumps({**description, "layers": [[44, 5]]}))
    with pytest.raises(BadInput):
        load_classifier(tmp_path)
