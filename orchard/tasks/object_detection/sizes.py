"""What a detector's input looks like, and what it costs: sizes, views, preprocessing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchard.preprocess import normalised
from orchard.tasks.base import Ask

SIDE_MULTIPLE = 32
PIXELS = (320 * 416, 384 * 512, 480 * 640)
"""Input sizes to choose from, from cheap to dear."""
LARGEST_RATIO = 2.0
"""Of the input's sides; longer pictures are padded."""
LARGEST_GROWTH = 1.6
"""Pictures are not blown up by more than that: there is no detail to find."""

OVERLAP = 25
"""Percent of a tile that the next one shows too."""
VIEWS = ("plain", "mirror", "flip", "turn")
WIDTH = 48
"""Channels of neck and head."""
FOLDS = 5
EPOCH_PICTURES = (160, 400)
"""An epoch of a small set passes over it more than once, one of a large set is a random part."""
MEASURED_PICTURES = 150
MEASURE_SHARE = 0.4
"""Measuring a picture against training on it."""
TRIAL_SECONDS = 18.0
"""Of a trial beside training: libraries in each process, reading features, export, proof."""


@dataclass(frozen=True)
class Choice:
    """An input size with its views, what they cost and what is left for training, in core seconds.

    Attributes:
        tiles: columns and rows of tiles that a picture is cut into; 1: it is not.
    """

    height: int
    width: int
    views: int
    prepare: float
    training: float
    tiles: int = 1

    @property
    def inputs(self) -> int:
        """Of the model, for one picture: a tile each, and the whole."""
        return self.tiles**2 + 1 if self.tiles > 1 else 1

    @property
    def megapixels(self) -> float:
        return self.height * self.width / 1e6

    @property
    def form(self) -> str:
        """What distinguishes it, as a part of keys."""
        size = f"{self.width}x{self.height}"
        return f"{size}-{self.tiles}x{self.tiles}-tiles" if self.tiles > 1 else size

    @property
    def title(self) -> str:
        tiles = f", {self.tiles}×{self.tiles} tiles" if self.tiles > 1 else ""
        return f"{self.width}x{self.height} px{tiles}"


def decode_seconds(ask: Ask) -> float:
    """Seconds of a core to read one picture of middle size."""
    width, height = median_size(ask.summary)
    return ask.costs.decode_megapixel * width * height / 1e6


def input_size(width: int, height: int, pixels: float) -> tuple[int, int]:
    """(height, width) of an input of about so many pixels in the shape of the picture."""
    ratio = min(LARGEST_RATIO, max(1 / LARGEST_RATIO, width / height))
    pixels = min(pixels, LARGEST_GROWTH**2 * width * height)
    sides = (math.sqrt(pixels / ratio), math.sqrt(pixels * ratio))
    rows, columns = (max(2, round(side / SIDE_MULTIPLE)) * SIDE_MULTIPLE for side in sides)
    return rows, columns


def operations(choice: Choice, card: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Preprocessing: the picture whole, or each tile of it, padded to the input's shape."""
    tiles = {"columns": choice.tiles, "rows": choice.tiles, "overlap": OVERLAP}
    return normalised(
        [
            *([{"operation": "tiles", **tiles}] if choice.tiles > 1 else []),
            {
                "operation": "resize",
                "fit": "pad",
                "width": choice.width,
                "height": choice.height,
                "kernel": "bilinear",
            },
            {
                "operation": "normalise",
                "mean": 0.0,
                "scale": 1.0,
                "layout": "CHW",
                "channels": "RGB",
            },
        ],
        card["normalisation"],
    )


def epoch_pictures(samples: int, choice: Choice) -> int:
    """Pictures, or tiles, an epoch: those a member learns from, within `EPOCH_PICTURES`."""
    least, most = EPOCH_PICTURES
    return max(least, min(most, samples * choice.inputs * (FOLDS - 1) // FOLDS))


def epoch_seconds(samples: int, choice: Choice, megapixel: float) -> float:
    """Core seconds of one candidate's epoch and its measurement.

    Args:
        megapixel: core seconds to train on a picture, for each million pixels of input.
    """
    measured = min(MEASURED_PICTURES, samples * choice.inputs / FOLDS)
    seen = epoch_pictures(samples, choice) + MEASURE_SHARE * measured
    return megapixel * choice.megapixels * seen


def median_size(summary: Mapping[str, Any]) -> tuple[int, int]:
    """Width and height of the middle picture of a version."""
    width, height = (summary.get("sizes") or {}).get("median") or (640, 480)
    return max(1, int(width)), max(1, int(height))
