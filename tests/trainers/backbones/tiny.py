"""A network of every kind of block, small enough to train in a test."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from trainers.backbones import Backbone
from trainers.backbones.architecture import Block, Convolution

Array = NDArray[np.float32]

TINY_BLOCKS = (
    Block("stem", (Convolution("stem.convolution", 3, 8, kernel=3, stride=2),)),
    Block(
        "block0",
        (
            Convolution("block0.depthwise", 8, 8, kernel=5, stride=2, groups=8),
            Convolution("block0.project", 8, 6, relu6=False),
        ),
    ),
    Block(
        "block1",
        (
            Convolution("block1.expand", 6, 12),
            Convolution("block1.depthwise", 12, 12, kernel=3, groups=12),
            Convolution("block1.project", 12, 6, relu6=False),
        ),
        residual=True,
    ),
    Block("head", (Convolution("head.convolution", 6, 10),)),
)


def random_weights(blocks: tuple[Block, ...], seed: int = 0) -> dict[str, Array]:
    random = np.random.default_rng(seed)
    weights: dict[str, Array] = {}
    for c in (c for block in blocks for c in block.convolutions):
        spread = np.sqrt(2 / np.prod(c.weight_shape[1:]))
        weights[f"{c.name}.weight"] = (random.standard_normal(c.weight_shape) * spread).astype("f4")
        weights[f"{c.name}.scale"] = random.uniform(0.5, 1.5, c.outputs).astype("f4")
        weights[f"{c.name}.bias"] = (random.standard_normal(c.outputs) * 0.1).astype("f4")
    return weights


TINY = Backbone(
    name="tiny",
    title="Tiny",
    licence="Apache-2.0",
    source="random numbers",
    mean=(127.0, 127.0, 127.0),
    scale=(128.0, 128.0, 128.0),
    blocks=TINY_BLOCKS,
    feature_blocks=("block0", "block1", "head"),
    milliseconds_per_megapixel=1.0,
    load_weights=lambda: random_weights(TINY_BLOCKS),
    size_multiple=4,
)


@pytest.fixture
def tiny() -> Backbone:
    return TINY
