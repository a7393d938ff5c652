"""What enters the part of the network that is trained, for each sample and view.

The frozen part runs once a view, as an ONNX graph; its last map is kept as float16 in a
memory-mapped file, so that an epoch costs the trained part only and memory does not grow with the
data set. Where the whole network is trained, pictures are changed anew at each visit instead.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from orchard.errors import BadInput
from trainers.backbones.architecture import FeatureSpan, Weights, layout
from trainers.backbones.feature_graph import INPUT_SHAPE
from trainers.backbones.graph import GraphWriter, write_atomically
from trainers.backbones.registry import Backbone
from trainers.fine_tune.augment import Augmentation, augmented, normalised

logger = logging.getLogger(__name__)

Array = NDArray[np.float32]
Indices = NDArray[np.int64]
BATCH = 8
SECONDS_BETWEEN_LINES = 5.0


class Pictures(Protocol):
    """Labelled pictures that can be visited in any order, all of one size."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> tuple[NDArray[np.generic], int]:
        """(H, W, 3) uint8, or (3, H, W) float32 normalised; and the label's index."""


class Maps(Protocol):
    """Inputs of the trained part.

    Attributes:
        shape: (C, H, W) of a map.
        labels: (N,) label indices.
    """

    shape: tuple[int, int, int]
    labels: NDArray[np.int64]

    def batch(self, indices: Indices, random: np.random.Generator | None) -> tuple[Array, Array]:
        """Maps (n, C, H, W) and pooled features of the frozen part (n, D) of some samples.

        Without `random` the unchanged pictures, else a random view of each.
        """


def frozen_spans(backbone: Backbone, first_block: str) -> list[FeatureSpan]:
    """The parts of the feature vector that come from blocks before `first_block`."""
    names = [block.name for block in backbone.blocks]
    before = names[: names.index(first_block)]
    return layout(backbone.blocks, [b for b in backbone.feature_blocks if b in before])


def frozen_graph(backbone: Backbone, weights: Weights, first_block: str) -> bytes:
    """ONNX of the blocks before `first_block`: "input" → "map" and, if it has any, "features"."""
    names = [block.name for block in backbone.blocks]
    blocks = backbone.blocks[: names.index(first_block)]
    spans = frozen_spans(backbone, first_block)
    graph = GraphWriter(f"{backbone.name}-frozen")
    outputs = graph.blocks(graph.input("input", INPUT_SHAPE), blocks, weights)
    shape = ("batch", blocks[-1].channels, "map_height", "map_width")
    graph.output("map", outputs[blocks[-1].name], shape)
    if spans:
        parts = [graph.pooled(outputs[span.block], span.pooling) for span in spans]
        graph.output("features", graph.add("Concat", *parts, axis=1), ("batch", spans[-1].stop))
    return graph.to_bytes()


class PictureMaps:
    """For training the whole network: pictures, changed anew at each visit."""

    def __init__(self, pictures: Pictures, augmentation: Augmentation, backbone: Backbone) -> None:
        self._pictures, self._augmentation, self._backbone = pictures, augmentation, backbone
        self.labels = np.array([pictures[i][1] for i in range(len(pictures))], np.int64)
        channels, height, width = normalised(pictures[0][0], backbone).shape
        self.shape = (channels, height, width)

    def batch(self, indices: Indices, random: np.random.Generator | None) -> tuple[Array, Array]:
        values = []
        for index in indices:
            picture = normalised(self._pictures[int(index)][0], self._backbone)
            if random is not None:
                picture = augmented(picture, self._augmentation, self._backbone, random)
            values.append(picture)
        return np.stack(values), np.zeros((len(indices), 0), np.float32)


class CachedMaps:
    """For training the last blocks: the frozen part's output of a fixed number of views.

    View 0 is the unchanged picture, view 1 its mirror image (where mirroring is allowed), the
    others are random changes that depend on the seed, the sample's number and the view's.
    """

    def __init__(self, folder: Path) -> None:
        facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
        _, self.views, *shape = facts["shape"]
        self.shape = (shape[0], shape[1], shape[2])
        self._maps = np.load(folder / "maps.npy", mmap_mode="r")
        self._features = None
        if facts["features"]:
            self._features = np.load(folder / "features.npy", mmap_mode="r")
        self.labels = np.load(folder / "labels.npy")

    def batch(self, indices: Indices, random: np.random.Generator | None) -> tuple[Array, Array]:
        views = np.zeros(len(indices), np.int64)
        if random is not None:
            views = random.integers(0, self.views, len(indices))
        maps = np.asarray(self._maps[indices, views], np.float32)
        if self._features is None:
            return maps, np.zeros((len(indices), 0), np.float32)
        return maps, np.asarray(self._features[indices, views])


def cache_maps(
    folder: Path,
    pictures: Pictures,
    backbone: Backbone,
    weights: Weights,
    first_block: str,
    *,
    augmentation: Augmentation,
    views: int,
    seed: int,
    threads: int = 1,
) -> CachedMaps:
    """Run the frozen part over every view of every picture, or use what `folder` has of it.

    `facts.json`, written last, tells what the folder's files were made from; a folder that was
    left half done, or made from something else, is filled again.

    Raises:
        BadInput: there is no picture, or pictures differ in size.
    """
    if len(pictures) == 0:
        raise BadInput("There is no picture to train on")
    first = normalised(pictures[0][0], backbone)
    spans = frozen_spans(backbone, first_block)
    facts: dict[str, Any] = {
        "backbone": backbone.name,
        "first_block": first_block,
        "picture": list(first.shape),
        "augmentation": asdict(augmentation),
        "seed": seed,
        "features": spans[-1].stop if spans else 0,
    }
    graph = frozen_graph(backbone, weights, first_block)
    facts["graph"] = hashlib.sha256(graph).hexdigest()
    session = _session(graph, threads)
    (example, *_) = session.run(None, {"input": first[None]})
    facts["shape"] = [len(pictures), views, *example.shape[1:]]
    if _facts(folder) != facts:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "facts.json").unlink(missing_ok=True)
        make = _views(pictures, backbone, augmentation, views, seed, first.shape)
        _fill(folder, facts["shape"], facts["features"], session, make)
        write_atomically(folder / "facts.json", json.dumps(facts, sort_keys=True).encode())
    return CachedMaps(folder)


def _facts(folder: Path) -> object:
    try:
        return json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _session(graph: bytes, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _views(
    pictures: Pictures,
    backbone: Backbone,
    augmentation: Augmentation,
    views: int,
    seed: int,
    shape: tuple[int, ...],
) -> Callable[[int], tuple[Array, int]]:
    """A function: sample number → its views (V, 3, H, W) and its label."""

    def make(index: int) -> tuple[Array, int]:
        picture, label = pictures[index]
        plain = normalised(picture, backbone)
        if plain.shape != shape:
            raise BadInput(
                f"All pictures of a training should have the shape {shape}", value=plain.shape
            )
        result = [plain]
        if views > 1 and augmentation.mirror:
            result.append(plain[:, :, ::-1])
        for view in range(len(result), views):
            random = np.random.default_rng((seed, index, view))
            result.append(augmented(plain, augmentation, backbone, random))
        return np.stack(result), label

    return make


def _fill(
    folder: Path,
    shape: list[int],
    feature_count: int,
    session: onnxruntime.InferenceSession,
    make: Callable[[int], tuple[Array, int]],
) -> None:
    count, views = shape[:2]
    open_memmap = np.lib.format.open_memmap
    maps = open_memmap(folder / "maps.npy", "w+", np.float16, tuple(shape))
    size = (count, views, feature_count)
    features = (
        open_memmap(folder / "features.npy", "w+", np.float32, size) if feature_count else None
    )
    labels = np.zeros(count, np.int64)
    started = shown = time.monotonic()
    for index in range(count):
        pictures, labels[index] = make(index)
        for start in range(0, views, BATCH):
            part = slice(start, min(start + BATCH, views))
            values, *pooled = session.run(None, {"input": pictures[part]})
            maps[index, part] = values
            if features is not None:
                features[index, part] = pooled[0]
        if time.monotonic() - shown > SECONDS_BETWEEN_LINES or index + 1 == count:
            shown = time.monotonic()
            rate = (index + 1) / (shown - started)
            logger.info(
                "frozen part: %d of %d pictures, %.1f a second, %.0f s left",
                index + 1,
                count,
                rate,
                (count - index - 1) / rate,
            )
    maps.flush()
    if features is not None:
        features.flush()
    np.save(folder / "labels.npy", labels)
