"""Small real bundles: a graph that tells red, green and blue pictures by their mean colour."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from orchard import bundle as bundles
from orchard import preprocess
from orchard.inference import golden_vectors

LABELS = ("blue", "green", "red")
COLOURS = {"red": (220, 30, 30), "green": (30, 220, 30), "blue": (30, 30, 220)}
TOKEN = "a-token-of-the-tests"
SIZE = 32


def picture(colour: str, size: tuple[int, int] = (40, 30), kind: str = "PNG") -> bytes:
    """A picture of one colour."""
    buffer = io.BytesIO()
    Image.new("RGB", size, COLOURS[colour]).save(buffer, kind)
    return buffer.getvalue()


def make_bundle(folder: Path, *, sharpness: float = 4.0, layers: int = 0, side: int = SIZE) -> str:
    """Write a bundle below `folder`, named by its hash. Returns the hash.

    Args:
        sharpness: factor of the logits; another one gives another bundle.
        layers: 3×3 convolutions that cost time and change nothing of note.
    """
    operations = preprocess.standard(side, "squash")
    graph = folder / f"graph-{sharpness}-{layers}.onnx"
    folder.mkdir(parents=True, exist_ok=True)
    graph.write_bytes(_graph(sharpness, layers))
    card: dict[str, Any] = {
        "task": "image_classification",
        "labels": list(LABELS),
        "preprocessing": operations,
        "backbone": "mean-colour",
        "thresholds": {"per_class": {label: 0.5 for label in LABELS}, "not_sure": 0.6},
        "temperature": 1.0,
        "data": {"dataset": "colours", "version": "0" * 16},
        "validation": {"accuracy": 1.0},
        "objective": "accuracy",
        "code_version": "test",
        "winner": {"sharpness": sharpness},
    }
    golden = golden_vectors(graph, "image_classification", operations)
    written = bundles.write(
        folder / f"bundle-{sharpness}-{layers}", card, {"model.onnx": graph}, golden
    )
    goal = folder / written.hash
    if not goal.exists():
        written.folder.rename(goal)
    graph.unlink()
    return written.hash


def deploy(
    root: Path,
    endpoint: str,
    shares: Sequence[tuple[str, float]],
    *,
    revision: int = 1,
    token: str = TOKEN,
    task: str = "image_classification",
) -> None:
    """Write the `deployment.json` of an endpoint, replaced whole."""
    folder = root / endpoint
    folder.mkdir(parents=True, exist_ok=True)
    document = {
        "endpoint": endpoint,
        "owner": "local",
        "project": "colours",
        "task": task,
        "revision": revision,
        "bundles": [{"bundle": name, "weight": weight} for name, weight in shares],
        "previous": [],
        "settings": {},
        "token_hashes": [hashlib.sha256(token.encode()).hexdigest()],
    }
    temporary = folder / "deployment.json.tmp"
    temporary.write_text(json.dumps(document), encoding="utf-8")
    temporary.replace(folder / "deployment.json")


def _graph(sharpness: float, layers: int) -> bytes:
    # The colours' order is blue, green, red; the input's planes are red, green, blue.
    weight = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0]], np.float32).T * np.float32(sharpness)
    nodes = []
    constants = [numpy_helper.from_array(weight, "weight")]
    name = "input"
    for layer in range(layers):
        kernel = np.zeros((3, 3, 3, 3), np.float32)
        kernel[range(3), range(3), 1, 1] = 1.0
        constants.append(numpy_helper.from_array(kernel, f"kernel{layer}"))
        nodes.append(
            helper.make_node(
                "Conv",
                [name, f"kernel{layer}"],
                [f"conv{layer}"],
                kernel_shape=[3, 3],
                pads=[1] * 4,
            )
        )
        name = f"conv{layer}"
    nodes += [
        helper.make_node("GlobalAveragePool", [name], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weight"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["scores"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "mean-colour",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["N", 3, "H", "W"])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", 3])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    serialized: bytes = model.SerializeToString()
    return serialized
