"""The speech embedding as an ONNX graph from samples to pooled features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trainers.backbones.architecture import FeatureSpan
from trainers.backbones.graph import GraphWriter
from trainers.backbones.speech_embedding import (
    FEATURE_COUNT,
    FLOOR,
    FULL_SCALE,
    HOP,
    NAME,
    OFFSETS,
    RANGE,
    SHIFT,
    SLOPE,
    SMALLEST_POWER,
    TENTH,
    Weights,
    layout,
    load_weights,
    used_layers,
)

INPUT_SHAPE = ("rows", "samples")


def feature_graph() -> bytes:
    """Input "input" (rows, samples) float32 → output "features" (rows, D) float32."""
    graph = GraphWriter(f"{NAME}-features")
    samples = graph.input("input", INPUT_SHAPE)
    features = add_features(graph, samples, layout(), load_weights())
    graph.output("features", features, ("rows", FEATURE_COUNT))
    return graph.to_bytes()


def add_features(
    graph: GraphWriter, samples: str, spans: Sequence[FeatureSpan], weights: Weights
) -> str:
    """Add spectrogram, network and pooling: (rows, samples) → (rows, D) of the given spans."""
    spectrogram = _add_spectrogram(graph, samples, weights)
    outputs: dict[str, list[str]] = {}
    for offset in OFFSETS:
        value = spectrogram
        if offset:
            ends = ((f"from.{offset}", offset), ("to.end", 2**31 - 1), ("axis.time", 2))
            named = [graph.constant(name, np.array([number])) for name, number in ends]
            value = graph.add("Slice", spectrogram, *named)
        for name, output in _add_network(graph, value, spans, weights).items():
            outputs.setdefault(name, []).append(output)
    parts: dict[tuple[str, str], str] = {}
    for block in dict.fromkeys(span.block for span in spans):
        whole = graph.add("Concat", *outputs[block], axis=2)
        mean = graph.add("ReduceMean", whole, axes=[2], keepdims=1)
        parts[block, "mean"] = mean
        parts[block, "max"] = graph.add("ReduceMax", whole, axes=[2], keepdims=1)
        change = graph.add("Sub", whole, mean)
        square = graph.add("Mul", change, change)
        power = graph.add("ReduceMean", square, axes=[2], keepdims=1)
        parts[block, "deviation"] = graph.add("Sqrt", power)
    flat = [graph.add("Flatten", parts[span.block, span.pooling], axis=1) for span in spans]
    return graph.add("Concat", *flat, axis=1)


def _number(graph: GraphWriter, name: str, value: float) -> str:
    return graph.constant(name, np.full((), value, np.float32))


def _add_spectrogram(graph: GraphWriter, samples: str, weights: Weights) -> str:
    """(rows, samples) → (rows, 1, frames, 32)."""
    value = graph.add("Mul", samples, _number(graph, "full_scale", FULL_SCALE))
    channel = graph.constant("axis.channel", np.array([1]))
    value = graph.add("Unsqueeze", value, channel)
    squares = []
    for part in ("mel.real", "mel.imaginary"):
        wave = graph.add("Conv", value, graph.constant(part, weights[part]), strides=[HOP])
        squares.append(graph.add("Mul", wave, wave))
    power = graph.add("Transpose", graph.add("Add", *squares), perm=[0, 2, 1])
    bands = graph.add("MatMul", power, graph.constant("mel.bands", weights["mel.bands"]))
    bands = graph.add("Log", graph.add("Max", bands, _number(graph, "least", SMALLEST_POWER)))
    decibels = graph.add("Mul", bands, _number(graph, "decibels", 10 / np.log(10)))
    loudest = graph.add("ReduceMax", decibels, axes=[1, 2], keepdims=1)
    floor = graph.add("Sub", loudest, _number(graph, "range", RANGE))
    value = graph.add("Max", decibels, floor)
    value = graph.add("Mul", value, _number(graph, "tenth", TENTH))
    value = graph.add("Add", value, _number(graph, "shift", SHIFT))
    return graph.add("Unsqueeze", value, channel)


def _add_network(
    graph: GraphWriter, value: str, spans: Sequence[FeatureSpan], weights: Weights
) -> dict[str, str]:
    """(rows, 1, frames, 32) → the outputs that are pooled, (rows, channels, times, bands)."""
    wanted = {span.block for span in spans}
    outputs = {}
    for layer in used_layers(spans):
        names = [f"{layer.name}.weight", f"{layer.name}.bias"]
        held = [graph.constant(name, weights[name]) for name in names if name in weights]
        side = layer.kernel[1] // 2
        value = graph.add(
            "Conv", value, *held, kernel_shape=list(layer.kernel), pads=[0, side, 0, side]
        )
        if layer.name == "conv0":
            value = graph.add("Relu", value)
            for operation, name in (("Mul", "conv0.scale"), ("Add", "conv0.shift")):
                constant = graph.constant(name, weights[name].reshape(1, -1, 1, 1))
                value = graph.add(operation, value, constant)
        if layer.name != "embedding":
            value = graph.add("LeakyRelu", value, alpha=SLOPE)
            value = graph.add("Max", value, _number(graph, "floor", FLOOR))
        if layer.name in wanted:
            outputs[layer.name] = value
        if layer.pool:
            value = graph.add(
                "MaxPool", value, kernel_shape=list(layer.pool), strides=list(layer.pool)
            )
    return outputs
