"""Random changes of a normalised picture that leave its label: mirror, shift, light and colour.

Nothing here resizes: what the model sees in training has the pixels of the one preprocessing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainers.backbones.registry import Backbone

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Augmentation:
    """How far pictures are changed.

    Attributes:
        mirror: whether left and right may be swapped; off where the side carries the label.
        shift: largest move in each direction as a part of the side, 0–0.5; edges are repeated.
        light: largest relative change of brightness, and of contrast, 0–1.
        colour: largest relative change of each colour channel, 0–1.
    """

    mirror: bool = True
    shift: float = 0.06
    light: float = 0.2
    colour: float = 0.05


def normalised(picture: NDArray[np.generic], backbone: Backbone) -> Array:
    """A picture as the network takes it, (3, H, W) float32.

    `picture` is either that already, or (H, W, 3) uint8 of the same size.
    """
    if picture.dtype != np.uint8:
        return np.asarray(picture, np.float32)
    mean, scale = (np.array(v, np.float32) for v in (backbone.mean, backbone.scale))
    return np.ascontiguousarray(((picture.astype(np.float32) - mean) / scale).transpose(2, 0, 1))


def augmented(
    picture: Array, augmentation: Augmentation, backbone: Backbone, random: np.random.Generator
) -> Array:
    """A changed copy of a (3, H, W) normalised picture."""
    if augmentation.mirror and random.random() < 0.5:
        picture = picture[:, :, ::-1]
    for axis in (1, 2):
        furthest = int(augmentation.shift * picture.shape[axis])
        move = int(random.integers(-furthest, furthest + 1))
        source = np.clip(np.arange(picture.shape[axis]) + move, 0, picture.shape[axis] - 1)
        picture = picture.take(source, axis=axis)
    column = (3, 1, 1)
    mean = np.array(backbone.mean, np.float32).reshape(column)
    scale = np.array(backbone.scale, np.float32).reshape(column)
    pixels = picture * scale + mean
    brightness, contrast = random.uniform(1 - augmentation.light, 1 + augmentation.light, 2)
    gain = random.uniform(1 - augmentation.colour, 1 + augmentation.colour, column) * brightness
    middle = pixels.mean()
    pixels = (pixels - middle) * np.float32(contrast) + middle
    pixels = np.clip(pixels * gain.astype(np.float32), 0, 255)
    return np.ascontiguousarray((pixels - mean) / scale, dtype=np.float32)
