"""Writes a backbone as an ONNX graph from pictures to pooled features."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trainers.backbones.architecture import Block, FeatureSpan, Weights, check_weights
from trainers.backbones.graph import GraphWriter, write_atomically
from trainers.backbones.registry import Backbone, get_backbone

INPUT_SHAPE = ("batch", 3, "height", "width")


def add_features(
    graph: GraphWriter,
    value: str,
    blocks: Sequence[Block],
    spans: Sequence[FeatureSpan],
    weights: Weights,
) -> str:
    """Add the network up to the last block that `spans` need, and the pooled parts, (N, D)."""
    outputs = graph.blocks(value, needed_blocks(blocks, spans), weights)
    parts = [graph.pooled(outputs[span.block], span.pooling) for span in spans]
    return graph.add("Concat", *parts, axis=1)


def needed_blocks(blocks: Sequence[Block], spans: Sequence[FeatureSpan]) -> Sequence[Block]:
    """The blocks up to the last one that is pooled; those after it change nothing."""
    used = {span.block for span in spans}
    last = max(index for index, block in enumerate(blocks) if block.name in used)
    return blocks[: last + 1]


def feature_graph(backbone: Backbone) -> bytes:
    """The backbone's feature graph as ONNX.

    Input "input": (batch, 3, height, width) float32, normalised as the backbone says, height and
    width multiples of its `size_multiple`. Output "features": (batch, D) float32, laid out as the
    backbone's `layout`.
    """
    weights = backbone.load_weights()
    check_weights(backbone.blocks, weights)
    graph = GraphWriter(f"{backbone.name}-features")
    value = graph.input("input", INPUT_SHAPE)
    features = add_features(graph, value, backbone.blocks, backbone.layout, weights)
    graph.output("features", features, ("batch", backbone.feature_count))
    return graph.to_bytes()


def write_feature_graph(name: str, path: Path) -> None:
    """Write the feature graph of the backbone `name` to `path`, atomically.

    Raises:
        NotFound: there is no such backbone.
        OrchardError: its weights are not installed.
    """
    write_atomically(Path(path), feature_graph(get_backbone(name)))
