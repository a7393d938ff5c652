"""The detector as an ONNX graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trainers.backbones.architecture import Weights
from trainers.backbones.graph import GraphWriter
from trainers.object_detection.detector import (
    SWAPPED,
    DetectorDescription,
    backbone_weights,
    convolutions_of,
    member_name,
    mirrored_places,
)
from trainers.object_detection.geometry import Array
from trainers.object_detection.network import BINS, Shape


def detector_graph(description: DetectorDescription, parameters: Mapping[str, Array]) -> bytes:
    """Input "input" (rows, 3, H, W) → output "boxes" (rows, A, 4 + K), as `Detector` computes."""
    graph = GraphWriter(f"{description.backbone}-detector")
    picture = graph.input("input", ("batch", 3, description.height, description.width))
    weights = backbone_weights(parameters, description.blocks)
    found = _heads(graph, picture, description, parameters, weights)
    if description.mirrored:
        found += [
            _turned_back(graph, pair, description)
            for pair in _heads(graph, _mirror(graph, picture), description, parameters, weights)
        ]
    share = graph.constant("share", np.array(len(found), np.float32))
    distances = graph.add("Div", _sum(graph, [pair[0] for pair in found]), share)
    scores = graph.add("Div", _sum(graph, [pair[1] for pair in found]), share)
    points, strides = description.points
    reach = graph.add("Mul", distances, graph.constant("strides", strides.reshape(1, 1, -1)))
    middle = graph.constant("points", np.ascontiguousarray(points.T)[None])
    low = graph.add("Sub", middle, _rows(graph, reach, 0, 2))
    high = graph.add("Add", middle, _rows(graph, reach, 2, 4))
    joined = graph.add("Concat", low, high, scores, axis=1)
    output = graph.add("Transpose", joined, perm=[0, 2, 1])
    graph.output("boxes", output, ("batch", len(points), 4 + description.members[0].classes))
    return graph.to_bytes()


def _heads(
    graph: GraphWriter,
    picture: str,
    description: DetectorDescription,
    parameters: Mapping[str, Array],
    weights: Weights,
) -> list[tuple[str, str]]:
    """(distances, scores) of each head: (N, 4, A) in strides and (N, K, A)."""
    outputs = graph.blocks(picture, description.blocks, weights)
    maps = [
        graph.add("Concat", *(outputs[name] for name in names), axis=1)
        for names in description.level_blocks
    ]
    return [
        _head(graph, maps, member_name(index), shape, parameters)
        for index, shape in enumerate(description.members)
    ]


def _head(
    graph: GraphWriter,
    maps: Sequence[str],
    member: str,
    shape: Shape,
    parameters: Mapping[str, Array],
) -> tuple[str, str]:
    sizes = convolutions_of(shape)

    def convolution(name: str, value: str) -> str:
        _, _, kernel, stride = sizes[name]
        full = f"{member}.{name}"
        return graph.add(
            "Conv",
            value,
            graph.constant(f"{full}.weight", parameters[f"{full}.weight"]),
            graph.constant(f"{full}.bias", parameters[f"{full}.bias"]),
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[kernel // 2] * 4,
        )

    def unit(name: str, value: str) -> str:
        return graph.add("Relu", convolution(name, value))

    values = [unit(f"lateral{index}", value) for index, value in enumerate(maps)]
    count = len(values)
    for index in range(count - 2, -1, -1):
        coarse = _doubled(graph, values[index + 1])
        values[index] = unit(f"down{index}", graph.add("Add", values[index], coarse))
    for index in range(count - 1):
        fine = unit(f"stride{index}", values[index])
        values[index + 1] = unit(f"up{index}", graph.add("Add", values[index + 1], fine))
    parts = []
    for index, value in enumerate(values):
        value = convolution("out", unit(f"tower{index}", value))
        parts.append(_reshaped(graph, value, (0, shape.outputs, -1)))
    raw = graph.add("Concat", *parts, axis=2)
    sides = _reshaped(graph, _rows(graph, raw, 0, 4 * BINS), (0, 4, BINS, -1))
    bins = graph.constant("bins", np.arange(BINS, dtype=np.float32).reshape(1, 1, -1, 1))
    weighted = graph.add("Mul", graph.add("Softmax", sides, axis=2), bins)
    axis = graph.constant("bin_axis", np.array([2], np.int64))
    distances = graph.add("ReduceSum", weighted, axis, keepdims=0)
    scores = graph.add("Sigmoid", _rows(graph, raw, 4 * BINS, shape.outputs))
    return distances, scores


def _turned_back(
    graph: GraphWriter, pair: tuple[str, str], description: DetectorDescription
) -> tuple[str, str]:
    """What was said of the mirrored picture, at the places of the picture itself."""
    distances, scores = pair
    sides = graph.constant("swapped", np.array(SWAPPED, np.int64))
    places = graph.constant("mirrored_places", mirrored_places(description.members[0]))
    distances = graph.add("Gather", distances, sides, axis=1)
    return (
        graph.add("Gather", distances, places, axis=2),
        graph.add("Gather", scores, places, axis=2),
    )


def _mirror(graph: GraphWriter, picture: str) -> str:
    numbers = {"from": -1, "to": np.iinfo(np.int64).min, "axis": 3, "step": -1}
    inputs = [
        graph.constant(f"mirror_{name}", np.array([value], np.int64))
        for name, value in numbers.items()
    ]
    return graph.add("Slice", picture, *inputs)


def _doubled(graph: GraphWriter, value: str) -> str:
    """Twice as many rows and columns, each the nearest."""
    scales = graph.constant("doubled", np.array([1, 1, 2, 2], np.float32))
    return graph.add(
        "Resize",
        value,
        "",
        scales,
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )


def _rows(graph: GraphWriter, value: str, start: int, stop: int) -> str:
    """Channels `start` to `stop` (excluded) of axis 1."""
    inputs = [
        graph.constant(f"whole_{number}", np.array([number], np.int64))
        for number in (start, stop, 1)
    ]
    return graph.add("Slice", value, *inputs)


def _reshaped(graph: GraphWriter, value: str, shape: Sequence[int]) -> str:
    name = "shape_" + "_".join(str(size) for size in shape)
    return graph.add("Reshape", value, graph.constant(name, np.array(shape, np.int64)))


def _sum(graph: GraphWriter, values: Sequence[str]) -> str:
    total = values[0]
    for value in values[1:]:
        total = graph.add("Add", total, value)
    return total
