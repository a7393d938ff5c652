"""The operations at work on pixels; `orchard.preprocess` says what each does, to the bit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from orchard.preprocess.geometry import inner, middle, rectangles
from orchard.preprocess.operations import (
    Operation,
    bad_preprocessing,
    input_count,
    of_one,
    output_size,
    validate,
)

PAD_VALUE = 127


def apply(operations: Sequence[Operation], pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """One picture (h, w, 3) uint8 RGB → the model's input (3, H, W) float32.

    Raises:
        BadInput: the operations are not valid or begin with tiles, or the pixels have another shape
            or type.
    """
    validate(operations)
    if input_count(operations) > 1:
        raise bad_preprocessing("Tiles make several inputs of a picture", list(operations))
    output = np.empty((3, *output_size(operations)), np.float32)
    _apply_into(operations, pixels, output)
    return output


def inputs(operations: Sequence[Operation], pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """One picture (h, w, 3) uint8 RGB → (R, 3, H, W) float32: its tiles and the whole of it; without
    tiles R is 1.

    Raises:
        BadInput: the operations are not valid or the pixels have another shape or type.
    """
    validate(operations)
    height, width = _checked(pixels).shape[:2]
    parts = rectangles(operations, width, height)
    output = np.empty((len(parts), 3, *output_size(operations)), np.float32)
    for (left, top, columns, rows), target in zip(parts, output, strict=True):
        part = pixels[top : top + rows, left : left + columns]
        _apply_into(of_one(operations), part, target)
    return output


def batch(
    operations: Sequence[Operation], pictures: Sequence[NDArray[np.uint8]]
) -> NDArray[np.float32]:
    """N pictures of any sizes → (N, 3, H, W) float32; each as `apply` would make it."""
    validate(operations)
    output = np.empty((len(pictures), 3, *output_size(operations)), np.float32)
    for pixels, target in zip(pictures, output, strict=True):
        _apply_into(operations, pixels, target)
    return output


def _apply_into(
    operations: Sequence[Operation], pixels: NDArray[np.uint8], output: NDArray[np.float32]
) -> None:
    resized = _resize(operations[0], _checked(pixels))  # (H, W, 3) uint8
    if operations[1]["operation"] == "mirror":
        resized = resized[:, ::-1]
    _normalise_into(operations[-1], resized, output)


def _resize(operation: Operation, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    width, height, fit = operation["width"], operation["height"], operation["fit"]
    if fit == "squash":
        return _scaled(pixels, width, height)
    if fit == "crop":
        left, top, columns, rows = middle(pixels.shape[1], pixels.shape[0], width, height)
        return _scaled(pixels[top : top + rows, left : left + columns], width, height)
    left, top, columns, rows = inner(pixels.shape[1], pixels.shape[0], width, height)
    scaled = _scaled(pixels, columns, rows)
    if scaled.shape == (height, width, 3):
        return scaled
    padded = np.full((height, width, 3), PAD_VALUE, np.uint8)
    padded[top : top + rows, left : left + columns] = scaled
    return padded


def _scaled(pixels: NDArray[np.uint8], width: int, height: int) -> NDArray[np.uint8]:
    """(h, w, 3) → (height, width, 3).

    One call a direction: given both at once, Pillow takes first what it expects to be faster,
    which differs from version to version and changes the result by one level. The direction that
    shrinks more goes first, so nothing between is larger than source and target.
    """
    image = Image.fromarray(pixels)
    columns_first = image.width * height >= image.height * width
    between = (width, image.height) if columns_first else (image.width, height)
    image = image.resize(between, Image.Resampling.BILINEAR)
    return np.asarray(image.resize((width, height), Image.Resampling.BILINEAR))


def _normalise_into(
    operation: Operation, pixels: NDArray[np.uint8], output: NDArray[np.float32]
) -> None:
    step = -1 if operation["channels"] == "BGR" else 1
    output[...] = pixels.transpose(2, 0, 1)[::step]
    output -= _planes(operation["mean"])[::step]
    output *= _planes(operation["scale"])[::step]


def _planes(value: float | Sequence[float]) -> NDArray[np.float32]:
    """A number or three of them → (1, 1, 1) or (3, 1, 1) float32."""
    return np.asarray(value, np.float32).reshape(-1, 1, 1)


def _checked(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    shape = getattr(pixels, "shape", None)
    kind = getattr(pixels, "dtype", type(pixels))
    if kind != np.uint8 or shape is None or len(shape) != 3 or shape[2] != 3 or 0 in shape:
        raise bad_preprocessing("Pixels must be (height, width, 3) uint8", f"{kind} {shape}")
    return pixels
