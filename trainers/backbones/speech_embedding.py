"""A pretrained speech embedding as a backbone for sound.

The network is Google's speech embedding (Lin et al. 2020, arXiv:2002.01322; TensorFlow Hub
google/speech_embedding/1, Apache-2.0) in the ONNX form that the package `openwakeword` carries as
`embedding_model.onnx`, beside `melspectrogram.onnx`, which makes its input. Only these two files
are read; the package itself is not imported.

Its convolutions along time have no padding, so running it once over a whole spectrogram gives what
it gives for every window of 76 frames at a stride of 8; a second run 4 frames later halves the
stride. Convolutions, activations and pooling are written anew, for ONNX (`speech_graph`) and for
Paddle (`speech_network`), so that samples are the input, a row does not depend on the others of its batch (the carried spectrogram
takes its maximum over the batch), and equal weights give equal bytes.

Input: (rows, samples) float32 at 16,000 samples a second, full scale 1, at least `LEAST_SAMPLES`.
Features: for each tap the mean, the largest value and the standard deviation over time.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from orchard.errors import OrchardError
from trainers.backbones.architecture import FeatureSpan

Array = NDArray[np.float32]
Weights = Mapping[str, Array]

NAME = "speech-embedding"
TITLE = "Speech embedding"
LICENCE = "Apache-2.0"
SOURCE = "PyPI openwakeword 0.4.0 (embedding_model.onnx, melspectrogram.onnx)"

FULL_SCALE = 32_768.0
SIZE, HOP, BINS, BANDS = 512, 160, 257, 32
SMALLEST_POWER = 1e-10
RANGE = 80.0
TENTH, SHIFT = 0.1, 2.0
"""The network takes decibels / 10 + 2."""
FRAMES, OFFSETS = 76, (0, 4)
SLOPE, FLOOR = 0.2, -0.4
EPSILON = 1e-3
LEAST_SAMPLES = SIZE + (FRAMES + OFFSETS[-1] - 1) * HOP
MILLISECONDS_PER_SECOND = 10.0
"""Time of the feature graph in ONNX Runtime on one thread for a second of sound; a fixed reference
figure for plans, not a measurement of this machine."""

POOLINGS = ("mean", "max", "deviation")
TAPS = (("conv18", 96 * 2), ("embedding", 96))
"""Outputs that are pooled, and their numbers at one time: channels by bands."""

_PACKAGE, _FOLDER = "openwakeword", "resources/models"
_MEL_FILE, _NETWORK_FILE = "melspectrogram.onnx", "embedding_model.onnx"
_SHA256 = {
    _MEL_FILE: "ba2b0e0f8b7b875369a2c89cb13360ff53bac436f2895cced9f479fa65eb176f",
    _NETWORK_FILE: "ba754db3cd768a524c655ea90655ee5e6055a43b8dfd29366a11e93716ae9e51",
}


@dataclass(frozen=True)
class Layer:
    """A convolution over (time, band) and the max pooling after its activation.

    Attributes:
        kernel: (frames, bands); bands are padded to keep their number, frames are not.
        pool: (frames, bands), or None.
    """

    name: str
    inputs: int
    outputs: int
    kernel: tuple[int, int]
    pool: tuple[int, int] | None = None


def _layers() -> tuple[Layer, ...]:
    layers = [Layer("conv0", 1, 24, (3, 3))]
    for outputs, count, pool in (
        (24, 2, (2, 2)),
        (48, 4, (1, 2)),
        (72, 4, (2, 2)),
        (96, 4, (1, 2)),
        (96, 4, (2, 2)),
    ):
        for index in range(count):
            kernel = (1, 3) if index % 2 == 0 else (3, 1)
            after = pool if index == count - 1 else None
            before = layers[-1].outputs
            layers.append(Layer(f"conv{len(layers)}", before, outputs, kernel, after))
    return (*layers, Layer("embedding", 96, 96, (3, 1)))


LAYERS = _layers()


def layout() -> list[FeatureSpan]:
    """Where each pooled tap stands in the feature vector."""
    spans, start = [], 0
    for tap, width in TAPS:
        for pooling in POOLINGS:
            spans.append(FeatureSpan(tap, pooling, start, start + width))
            start += width
    return spans


FEATURE_COUNT = layout()[-1].stop


@cache
def load_weights() -> dict[str, Array]:
    """The weights by name: `mel.real`, `mel.imaginary` (257, 1, 512), `mel.bands` (257, 32), and of
    each layer `weight` (out, in, frames, bands) with `bias`, of the first one `scale` and `shift`
    after its ReLU.

    Raises:
        OrchardError: the package is missing or holds other files.
    """
    mel = _constants(_MEL_FILE)[1]
    nodes, constants = _constants(_NETWORK_FILE)
    weights = {
        "mel.real": mel["0.stft.conv_real.weight"],
        "mel.imaginary": mel["0.stft.conv_imag.weight"],
        "mel.bands": mel["1.melW"],
    }
    convolutions = [node for node in nodes if node.op_type == "Conv"]
    for layer, node in zip(LAYERS, convolutions, strict=True):
        weights[f"{layer.name}.weight"] = constants[node.input[1]]
        if len(node.input) > 2:
            weights[f"{layer.name}.bias"] = constants[node.input[2]]
    (normalisation,) = (node for node in nodes if node.op_type == "BatchNormalization")
    gain, offset, mean, variance = (
        constants[name].astype(np.float64) for name in normalisation.input[1:]
    )
    scale = gain / np.sqrt(variance + EPSILON)
    weights["conv0.scale"] = scale.astype(np.float32)
    weights["conv0.shift"] = (offset - mean * scale).astype(np.float32)
    for layer in LAYERS:
        shape = (layer.outputs, layer.inputs, *layer.kernel)
        if weights[f"{layer.name}.weight"].shape != shape:
            raise OrchardError(
                f"The weights {layer.name} should have the shape {shape}",
                value=weights[f"{layer.name}.weight"].shape,
            )
    return weights


def _constants(name: str) -> tuple[Sequence[onnx.NodeProto], dict[str, Array]]:
    """The operations and the arrays of one of the carried files."""
    found = importlib.util.find_spec(_PACKAGE)
    places = list(found.submodule_search_locations or ()) if found else []
    path = Path(places[0], _FOLDER, name) if places else None
    if path is None or not path.is_file():
        raise OrchardError(
            "The weights of the speech embedding are not installed",
            value=name,
            way_out="Install the requirements: openwakeword 0.4.0 carries them",
        )
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != _SHA256[name]:
        raise OrchardError(
            "The weights of the speech embedding are not those that are known",
            value=hashlib.sha256(data).hexdigest(),
            way_out="Install openwakeword 0.4.0; later versions carry other files",
        )
    graph = onnx.load_from_string(data).graph
    return graph.node, {each.name: numpy_helper.to_array(each) for each in graph.initializer}


def used_layers(spans: Sequence[FeatureSpan]) -> Sequence[Layer]:
    """The layers up to the last one that is pooled."""
    last = max(i for i, layer in enumerate(LAYERS) if layer.name in {s.block for s in spans})
    return LAYERS[: last + 1]


def parameter_shapes(spans: Sequence[FeatureSpan]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights that the network with these spans holds."""
    shapes: dict[str, tuple[int, ...]] = {
        "mel.real": (BINS, 1, SIZE),
        "mel.imaginary": (BINS, 1, SIZE),
        "mel.bands": (BINS, BANDS),
    }
    for layer in used_layers(spans):
        shapes[f"{layer.name}.weight"] = (layer.outputs, layer.inputs, *layer.kernel)
        after = {"conv0": ("scale", "shift"), "embedding": ()}.get(layer.name, ("bias",))
        shapes.update({f"{layer.name}.{part}": (layer.outputs,) for part in after})
    return shapes


def facts(graph: bytes) -> dict[str, Any]:
    """What others need to know of the feature graph, as JSON."""
    return {
        "name": NAME,
        "title": TITLE,
        "kind": "sound",
        "licence": LICENCE,
        "source": SOURCE,
        "layout": [[s.block, s.pooling, s.start, s.stop] for s in layout()],
        "feature_count": FEATURE_COUNT,
        "least_samples": LEAST_SAMPLES,
        "parameters": int(sum(each.size for each in load_weights().values())),
        "milliseconds_per_second": MILLISECONDS_PER_SECOND,
        "sha256": hashlib.sha256(graph).hexdigest(),
        "bytes": len(graph),
    }
