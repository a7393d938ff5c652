"""Exports a trained classifier and proves that its two forms give the same scores."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from orchard.errors import BadInput, OrchardError
from trainers.backbones.architecture import Weights, check_weights
from trainers.backbones.classifier import (
    FORMAT,
    Classifier,
    ClassifierDescription,
    assemble,
    classifier_graph,
)
from trainers.backbones.graph import write_atomically
from trainers.backbones.registry import Backbone, get_backbone
from trainers.engine import paddle
from trainers.head_weights import HeadWeights

ONNX_FILE = "model.onnx"
PARAMETERS_FILE = "model.pdparams"
NETWORK_FILE = "network.json"
PROOF_BATCH = 8

Network = TypeVar("Network", bound=paddle.nn.Layer)


def export_classifier(
    folder: Path, backbone: str | Backbone, head: HeadWeights, weights: Weights | None = None
) -> Path:
    """Write the classifier as ONNX and as Paddle parameters with their description.

    `folder` (made where it is missing) gets `model.onnx` ("input" (N, 3, H, W) float32 normalised
    as the backbone says → "scores" (N, K) float32), `model.pdparams` and `network.json`. The bytes
    depend on the arguments only.

    Args:
        folder: where the three files go; each is written atomically.
        backbone: the network or its name.
        head: trained on the backbone's whole feature vector.
        weights: the network's weights where they were fine-tuned; else the pretrained ones.

    Returns:
        The path of `model.onnx`.

    Raises:
        BadInput: head or weights do not fit the backbone.
    """
    entry = get_backbone(backbone) if isinstance(backbone, str) else backbone
    weights = entry.load_weights() if weights is None else weights
    check_weights(entry.blocks, weights)
    description, parameters = assemble(entry, weights, head)
    graph = classifier_graph(description, parameters)
    return write_network(folder, description.to_json(), parameters, graph)


def write_network(
    folder: Path, description: Mapping[str, Any], parameters: Mapping[str, Any], graph: bytes
) -> Path:
    """Write `model.pdparams`, `network.json` and `model.onnx`, each atomically; the path of the last."""
    buffer = io.BytesIO()
    paddle.save(cast(Any, parameters), buffer, protocol=4)
    folder = Path(folder)
    write_atomically(folder / PARAMETERS_FILE, buffer.getvalue())
    write_atomically(folder / NETWORK_FILE, _json_bytes(description))
    write_atomically(folder / ONNX_FILE, graph)
    return folder / ONNX_FILE


def load_classifier(folder: Path) -> Classifier:
    """The classifier that `export_classifier` wrote, as a Paddle layer in evaluation mode.

    Raises:
        BadInput: files are missing, of another format, or do not fit together.
    """
    return read_network(
        folder, FORMAT, lambda data: Classifier(ClassifierDescription.from_json(data))
    )


def read_network(
    folder: Path, format_number: int, build: Callable[[dict[str, Any]], Network]
) -> Network:
    """The network that `write_network` wrote, in evaluation mode.

    Args:
        format_number: the `format` that its description must have.
        build: description → the network without parameters.

    Raises:
        BadInput: files are missing, of another format, or do not fit together.
    """
    folder = Path(folder)
    try:
        data = json.loads((folder / NETWORK_FILE).read_text(encoding="utf-8"))
        if data["format"] != format_number:
            raise BadInput(
                "The network's description has a format this version does not know",
                value=data["format"],
                way_out="Export the model again",
            )
        network = build(data)
        parameters = paddle.load(str(folder / PARAMETERS_FILE))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"The exported network cannot be read ({error})") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what does not fit is told below
        missing, unexpected = network.set_state_dict(parameters)
    if missing or unexpected:
        raise BadInput(
            "The parameters do not fit the network's description",
            value=sorted([*missing, *unexpected])[:5],
        )
    network.eval()
    return network


def paddle_scores(layer: paddle.nn.Layer, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
    """Run the layer over (N, 3, H, W) inputs in small batches → (N, K)."""
    layer.eval()
    parts = []
    with paddle.no_grad():
        for start in range(0, len(inputs), PROOF_BATCH):
            parts.append(layer(paddle.to_tensor(inputs[start : start + PROOF_BATCH])).numpy())
    return np.concatenate(parts)


def onnx_scores(
    path: Path, inputs: NDArray[np.float32], *, threads: int = 1
) -> NDArray[np.float32]:
    """Run the first output of an ONNX graph over its input "input" in small batches."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    parts = [
        session.run(None, {"input": inputs[start : start + PROOF_BATCH]})[0]
        for start in range(0, len(inputs), PROOF_BATCH)
    ]
    return np.concatenate(parts)


def prove_equal(
    onnx_path: Path,
    layer: paddle.nn.Layer,
    inputs: NDArray[np.float32],
    tolerance: float = 1e-4,
) -> float:
    """The largest absolute difference between the scores of the two forms over `inputs`.

    Args:
        inputs: (N, 3, H, W) float32, N at least 1.
        tolerance: largest difference that is accepted.

    Raises:
        OrchardError: the scores differ by more, in shape, or are not finite.
    """
    expected, found = paddle_scores(layer, inputs), onnx_scores(onnx_path, inputs)
    if expected.shape != found.shape:
        raise OrchardError(
            "The ONNX graph and the Paddle network give scores of different shapes",
            value=(found.shape, expected.shape),
        )
    difference = float(np.abs(expected - found).max())
    if not difference <= tolerance:
        raise OrchardError(
            f"The ONNX graph and the Paddle network differ by more than {tolerance:g}",
            value=difference,
            way_out="Do not use this export; train the candidate again and report the difference",
        )
    return difference


def _json_bytes(data: Mapping[str, Any]) -> bytes:
    return (json.dumps(data, indent=1, sort_keys=True) + "\n").encode()
