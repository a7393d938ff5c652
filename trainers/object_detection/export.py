"""Writes a trained detector in its two forms and proves that they find the same."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from orchard.errors import BadInput, OrchardError
from trainers.backbones.export import (
    NETWORK_FILE,
    ONNX_FILE,
    PARAMETERS_FILE,
    onnx_scores,
    paddle_scores,
)
from trainers.backbones.graph import write_atomically
from trainers.backbones.maps import FeatureMaps
from trainers.engine import paddle
from trainers.object_detection.detector import FORMAT, Detector, DetectorDescription, assemble
from trainers.object_detection.geometry import Array
from trainers.object_detection.graph import detector_graph
from trainers.object_detection.network import Shape

SCORE_TOLERANCE = 1e-3
PIXEL_TOLERANCE = 0.1
"""Positions of no interest may have boxes that are far from certain; these bounds hold for all."""


def export_detector(
    folder: Path,
    maps: FeatureMaps,
    heads: Sequence[Mapping[str, Array]],
    shapes: Sequence[Shape],
    *,
    mirrored: bool,
) -> Path:
    """Write `model.onnx`, `model.pdparams` and `network.json`; the path of the first.

    The bytes depend on the arguments only.

    Args:
        heads: folded heads (see `folded_head`) with their shapes.
        mirrored: whether the detector looks at the mirrored picture too.
    """
    description, parameters = assemble(maps, heads, shapes, mirrored)
    buffer = io.BytesIO()
    paddle.save(cast(Any, parameters), buffer, protocol=4)
    folder = Path(folder)
    text = json.dumps(description.to_json(), indent=1, sort_keys=True) + "\n"
    write_atomically(folder / PARAMETERS_FILE, buffer.getvalue())
    write_atomically(folder / NETWORK_FILE, text.encode())
    write_atomically(folder / ONNX_FILE, detector_graph(description, parameters))
    return folder / ONNX_FILE


def load_detector(folder: Path) -> Detector:
    """The detector that `export_detector` wrote, in evaluation mode.

    Raises:
        BadInput: files are missing, of another format, or do not fit together.
    """
    try:
        data = json.loads((Path(folder) / NETWORK_FILE).read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise BadInput(
                "The network's description has a format this version does not know",
                value=data["format"],
                way_out="Export the model again",
            )
        description = DetectorDescription.from_json(data)
        parameters = paddle.load(str(Path(folder) / PARAMETERS_FILE))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"The exported network cannot be read ({error})") from error
    detector = Detector(description)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what does not fit is told below
        missing, unexpected = detector.set_state_dict(parameters)
    if missing or unexpected:
        raise BadInput(
            "The parameters do not fit the network's description",
            value=sorted([*missing, *unexpected])[:5],
        )
    detector.eval()
    return detector


def prove_same(model: Path, detector: Detector, inputs: Array) -> float:
    """The largest difference of a score between the two forms over (N, 3, H, W) inputs.

    Raises:
        OrchardError: scores differ by more than `SCORE_TOLERANCE`, boxes by more than
            `PIXEL_TOLERANCE`, or their shapes differ.
    """
    expected, found = paddle_scores(detector, inputs), onnx_scores(model, inputs)
    if expected.shape != found.shape:
        raise OrchardError(
            "The ONNX graph and the Paddle network give scores of different shapes",
            value=(found.shape, expected.shape),
        )
    gap = np.abs(expected - found)
    scores, boxes = float(gap[..., 4:].max()), float(gap[..., :4].max())
    if not (scores <= SCORE_TOLERANCE and boxes <= PIXEL_TOLERANCE):
        raise OrchardError(
            "The ONNX graph and the Paddle network find different boxes",
            value=f"scores differ by {scores:.2g}, edges by {boxes:.2g} pixels",
            way_out="Do not use this export; train the candidate again and report the difference",
        )
    return scores
