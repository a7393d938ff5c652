"""Pixels → the model's input, by an ordered list out of a closed set of operations.

The list is JSON, travels in a bundle and is meant to be followed in any language. Its form is:
one `resize` first, at most one `mirror`, one `normalise` last. For example

    [{"operation": "resize", "fit": "pad", "width": 224, "height": 224, "kernel": "bilinear"},
     {"operation": "normalise", "mean": 127.0, "scale": 0.0078125,
      "layout": "CHW", "channels": "RGB"}]

**resize** takes (h, w, 3) uint8 to (H, W, 3) uint8. `fit` says how the sizes meet; all divisions
are of integers, rounded down:

- `squash`: both sides are scaled on their own.
- `crop`: the middle of the picture is cut out in the target's shape and scaled. If w·H > h·W then
  the cut has c = max(1, (2·h·W + H) // (2·H)) columns from column (w − c) // 2 on and all rows.
  Otherwise it has c = max(1, (2·w·H + W) // (2·W)) rows from row (h − c) // 2 on and all columns.
- `pad`: the longer side, relative to the target, is scaled. If w·H > h·W then the scaled height is
  r = max(1, (2·h·W + w) // (2·w)), the width is W, the picture begins at row (H − r) // 2, and all
  other pixels are 127. Otherwise r = max(1, (2·w·H + h) // (2·h)) is the scaled width, the height
  is H, and the picture begins at column (W − r) // 2.

**tiles**, before a resize, makes several inputs of a picture: `rows` × `columns` rectangles, row by
row, each with all that follows, and then the whole picture. Neighbours share about `overlap` percent
of a tile: with d = 100·columns − overlap·(columns − 1) a tile has c = (100·w + d − 1) // d columns,
and tile i begins at column i·(w − c) // (columns − 1), at 0 where it is alone; rows likewise.

**kernel** `bilinear` is Pillow's antialiased triangle filter (`ImagingResample`, src/libImaging/
Resample.c), one axis after the other with uint8 between the two: w × h pixels scaled to r × q go
over the columns first if w·q ≥ h·r, otherwise over the rows first. An axis of n pixels scaled to
r: s = n/r; f = max(s, 1); output i has the centre c = (i + 0.5)·s and takes the inputs from
max(0, trunc(c − f + 0.5)) up to, without, min(n, trunc(c + f + 0.5)), input k with the weight
max(0, 1 − |k + 0.5 − c| / f). The weights are divided by their sum, in doubles, and rounded to
multiples of 2^-22, halves away from zero; the value is (2^21 + Σ weight·2^22 · input) >> 22, in
integers, clipped to 0 … 255. An axis with n = r is copied.

**mirror** exchanges left and right.

**normalise** makes float32 (3, H, W): (value − mean) · scale, each of both steps rounded to
float32, with one number for all channels or a list of three in the order R, G, B. `channels` is
the order of the planes, "RGB" or "BGR"; `layout` is "CHW".
"""

from __future__ import annotations

from orchard.preprocess.geometry import Placement, placement, placements, tile_overlap
from orchard.preprocess.golden import golden_difference, golden_vector
from orchard.preprocess.operations import (
    FITS,
    LARGEST_SIDE,
    PREPROCESSING_VERSION,
    Operation,
    feature_ending,
    feature_key,
    input_count,
    normalised,
    output_size,
    standard,
    validate,
)
from orchard.preprocess.transform import PAD_VALUE, apply, batch, inputs

__all__ = [
    "FITS",
    "LARGEST_SIDE",
    "PAD_VALUE",
    "PREPROCESSING_VERSION",
    "Operation",
    "Placement",
    "apply",
    "batch",
    "feature_ending",
    "feature_key",
    "golden_difference",
    "golden_vector",
    "input_count",
    "inputs",
    "normalised",
    "output_size",
    "placement",
    "placements",
    "standard",
    "tile_overlap",
    "validate",
]
