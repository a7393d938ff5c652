"""Writes a trained detector in its two forms and proves that they find the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from orchard.errors import OrchardError
from trainers.backbones.export import onnx_scores, paddle_scores, read_network, write_network
from trainers.backbones.maps import FeatureMaps
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
    graph = detector_graph(description, parameters)
    return write_network(folder, description.to_json(), parameters, graph)


def load_detector(folder: Path) -> Detector:
    """The detector that `export_detector` wrote, in evaluation mode.

    Raises:
        BadInput: files are missing, of another format, or do not fit together.
    """
    return read_network(folder, FORMAT, lambda data: Detector(DetectorDescription.from_json(data)))


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
