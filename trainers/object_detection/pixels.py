"""Pictures as a detector takes them that trains its backbone: from pixels.

Blocks that stay as they are run as an ONNX graph, several times faster than Paddle runs them, and
what they give enters the part that is trained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from orchard.blobs import Blobs, SegmentReader
from orchard.decode import decode_picture
from orchard.preprocess import input_count, inputs
from orchard.tasks.base import JUDGED
from trainers.backbones.architecture import Block
from trainers.backbones.feature_graph import INPUT_SHAPE
from trainers.backbones.graph import GraphWriter
from trainers.backbones.maps import FeatureMaps
from trainers.object_detection.geometry import Array
from trainers.object_detection.maps import Pictures
from trainers.samples import Samples


@dataclass(frozen=True)
class PixelPictures(Pictures):
    """Pictures whose `matrix` (1, N, 3 · height · width) holds the plain inputs.

    Attributes:
        graph: ONNX graph from inputs to what `maps` gives; empty where that is the inputs themselves.
        threads: of the graph.
    """

    graph: bytes = b""
    threads: int = 1

    def maps(self, pairs: Sequence[tuple[int, int]]) -> list[Array]:
        """What the graph gives of P pairs (picture, view index), P rows each, float32."""
        inputs = self.inputs(pairs)
        if not self.graph:
            return [inputs]
        found: list[Array] = _session(self.graph, self.threads).run(None, {"input": inputs})
        return found

    def inputs(self, pairs: Sequence[tuple[int, int]]) -> Array:
        """(P, 3, height, width) float32, normalised, each in its view."""
        result = np.empty((len(pairs), 3, self.height, self.width), np.float32)
        for target, (picture, view) in zip(result, pairs, strict=True):
            plain = self.matrix[0, picture].reshape(target.shape)
            name = self.views[view]
            rows = slice(None, None, -1 if name in ("flip", "turn") else None)
            columns = slice(None, None, -1 if name in ("mirror", "turn") else None)
            target[...] = plain[:, rows, columns]
        return result

    def through(self, graph: bytes) -> PixelPictures:
        """The same pictures seen through another graph."""
        return replace(self, graph=graph)


@lru_cache(maxsize=4)
def _session(graph: bytes, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def frozen_part(maps: FeatureMaps, frozen_to: str) -> tuple[Block, ...]:
    """The blocks up to `frozen_to`; none where it is empty."""
    names = [block.name for block in maps.blocks]
    return maps.blocks[: names.index(frozen_to) + 1] if frozen_to else ()


def entering(maps: FeatureMaps, frozen_to: str) -> list[str]:
    """Names of the frozen blocks whose maps the trained part takes: the last one, then those that the
    head looks at; empty where nothing is frozen."""
    names = [block.name for block in frozen_part(maps, frozen_to)]
    looked_at = [name for level in maps.levels for name in level.blocks if name in names[:-1]]
    return [*names[-1:], *looked_at]


def frozen_graph(maps: FeatureMaps, frozen_to: str) -> bytes:
    """ONNX: "input" → the maps of `entering`; empty bytes where nothing is frozen."""
    blocks = frozen_part(maps, frozen_to)
    if not blocks:
        return b""
    graph = GraphWriter(f"{maps.name}-frozen")
    outputs = graph.blocks(graph.input("input", INPUT_SHAPE), blocks, maps.backbone.load_weights())
    channels = {block.name: block.channels for block in blocks}
    for name in entering(maps, frozen_to):
        shape = ("batch", channels[name], f"{name}_height", f"{name}_width")
        graph.output(name, outputs[name], shape)
    return graph.to_bytes()


def level_graph(maps: FeatureMaps) -> bytes:
    """ONNX: "input" → the maps of each level of the pretrained backbone, the finest first."""
    graph = GraphWriter(f"{maps.name}-levels")
    weights = maps.backbone.load_weights()
    outputs = graph.blocks(graph.input("input", INPUT_SHAPE), maps.blocks, weights)
    for number, level in enumerate(maps.levels):
        joined = graph.add("Concat", *(outputs[name] for name in level.blocks), axis=1)
        shape = ("batch", level.channels, f"height{number}", f"width{number}")
        graph.output(f"level{number}", joined, shape)
    return graph.to_bytes()


def stored_inputs(
    samples: Samples, blobs: Blobs, operations: Sequence[Mapping[str, Any]], path: Path
) -> np.memmap[Any, np.dtype[np.float16]]:
    """(1, N · R, 3 · height · width) in the file `path`: the model's R inputs of each sample."""
    reader, count = SegmentReader(blobs), input_count(operations)
    matrix: np.memmap[Any, np.dtype[np.float16]] | None = None
    for row, place in enumerate(samples.locations):
        pixels = decode_picture(reader.read(*place), JUDGED.maximum_pixels)
        values = inputs(operations, pixels).reshape(count, -1)
        if matrix is None:
            shape = (1, count * len(samples.locations), values.shape[1])
            matrix = np.memmap(path, np.float16, "w+", shape=shape)
        matrix[0, count * row : count * (row + 1)] = values
    reader.close()
    assert matrix is not None, "a plan has samples"
    matrix.flush()
    return matrix
