"""What any training is told before it starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from orchard.errors import BadInput

OBJECTIVES = ("accuracy", "loss")


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Fixed work; the same settings on the same data give the same model.

    Attributes:
        epochs: passes over the training samples, at least 1.
        batch_size: samples a step, at least 1.
        learning_rate: the highest one.
        weight_decay: decoupled for AdamW, L2 for momentum.
        warm_up: part of all steps over which the rate rises before it falls along a cosine, 0–1.
        label_smoothing: part of the target that is spread over all classes, 0–1 (1 excluded).
        dropout: part of the features that is zeroed in a training step, 0–1 (1 excluded).
        class_weights: a factor a class on its samples' loss; None for all 1.
        objective: what the best epoch is chosen by on validation samples; ties go to the other.
        patience: epochs without a better one after which training stops, at least 1.
        seed: of order, changes of the samples and dropout.
    """

    epochs: int = 12
    batch_size: int = 32
    learning_rate: float = 5e-4
    weight_decay: float = 0.02
    warm_up: float = 0.1
    label_smoothing: float = 0.1
    dropout: float = 0.2
    class_weights: tuple[float, ...] | None = None
    objective: Literal["accuracy", "loss"] = "accuracy"
    patience: int = 4
    seed: int = 0

    def check_numbers(self, classes: int) -> None:
        """Raise BadInput where a value is out of its range."""
        for name in ("epochs", "batch_size", "patience"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} should be at least 1", value=getattr(self, name))
        for name in ("label_smoothing", "dropout", "warm_up"):
            if not 0 <= getattr(self, name) < 1:
                raise BadInput(f"{name} should be from 0 to below 1", value=getattr(self, name))
        self.check_rate("learning_rate")
        self.check_choice("objective", OBJECTIVES)
        if self.class_weights is not None and len(self.class_weights) != classes:
            raise BadInput(
                f"There should be a weight for each of {classes} classes",
                value=len(self.class_weights),
            )

    def check_rate(self, name: str) -> None:
        """Raise BadInput where the learning rate of that name is not above 0."""
        if not getattr(self, name) > 0:
            raise BadInput(f"{name} should be above 0", value=getattr(self, name))

    def check_choice(self, name: str, choices: Sequence[str]) -> None:
        """Raise BadInput where the value of that name is none of the choices."""
        if getattr(self, name) not in choices:
            raise BadInput(f"{name} should be one of {choices}", value=getattr(self, name))


def rate_factor(step: int, steps: int, warm_up: float) -> float:
    """Factor of the highest rate at `step` of `steps`: a linear rise over the `warm_up` part, then
    a cosine that would reach zero at `steps`."""
    rise = warm_up * steps
    if step < rise:
        return (step + 1) / (rise + 1)
    return 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1.0, steps - rise)))
