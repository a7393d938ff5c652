"""A trained head as plain arrays: what a search hands over and an export takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchard.errors import BadInput

Array = NDArray[np.float32]


@dataclass(frozen=True)
class HeadWeights:
    """Standardisation, one or more linear layers with ReLU between them, temperature, softmax.

    `softmax(linear(… relu(linear((features - mean) / scale))) / temperature)`

    Attributes:
        mean, scale: (D,) of the backbone's whole feature vector; scale is above zero.
        layers: (weight (inputs, outputs), bias (outputs,)) of each linear layer; the first has D
            inputs, the last has a class per output. Feature blocks that the head does not use have
            rows of zeros in the first weight, and are left out of an export.
        temperature: above zero; above 1 it makes the scores less certain.
    """

    mean: Array
    scale: Array
    layers: Sequence[tuple[Array, Array]]
    temperature: float = 1.0

    def check(self, feature_count: int) -> None:
        """Raise BadInput where shapes do not fit together or a number is out of its range."""
        inputs = feature_count
        for name, array in (("mean", self.mean), ("scale", self.scale)):
            if np.shape(array) != (inputs,) or not np.isfinite(array).all():
                raise BadInput(
                    f"The head's {name} should be {inputs} finite numbers", value=np.shape(array)
                )
        if not (np.asarray(self.scale) > 0).all():
            raise BadInput("The head's scale must be above zero", value=float(np.min(self.scale)))
        if not (np.isfinite(self.temperature) and self.temperature > 0):
            raise BadInput("The head's temperature must be above zero", value=self.temperature)
        if not self.layers:
            raise BadInput("The head has no layer")
        for weight, bias in self.layers:
            if weight.ndim != 2 or weight.shape[0] != inputs or bias.shape != weight.shape[1:]:
                raise BadInput(
                    f"The head's layer should take {inputs} inputs",
                    value=(weight.shape, bias.shape),
                )
            if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
                raise BadInput("The head's weights hold a number that is not finite")
            inputs = weight.shape[1]

    def folded(self) -> list[tuple[Array, Array]]:
        """The layers with standardisation in the first and temperature in the last, so that
        `softmax(linear(… relu(linear(features))))` gives the same scores. Computed in float64."""
        layers = [(w.astype(np.float64), b.astype(np.float64)) for w, b in self.layers]
        weight, bias = layers[0]
        mean, scale = self.mean.astype(np.float64), self.scale.astype(np.float64)
        weight = weight / scale[:, None]
        layers[0] = (weight, bias - mean @ weight)
        weight, bias = layers[-1]
        layers[-1] = (weight / self.temperature, bias / self.temperature)
        return [(w.astype(np.float32), b.astype(np.float32)) for w, b in layers]
