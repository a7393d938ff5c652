"""What is decided before a fine-tuning starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from orchard.errors import BadInput
from trainers.backbones.registry import Backbone
from trainers.fine_tune.augment import Augmentation


@dataclass(frozen=True)
class FineTuneSettings:
    """Fixed work and recipe; the same settings on the same data give the same model.

    Attributes:
        first_block: the first block that is trained; those before it stay frozen. The name of the
            network's first block trains all of it.
        epochs: passes over the training pictures, at least 1.
        batch_size: pictures a step, at least 1.
        learning_rate: highest rate for the network.
        head_learning_rate: highest rate for the head.
        optimiser: "adamw", or "momentum" (0.9, Nesterov).
        weight_decay: decoupled for adamw, L2 for momentum.
        warm_up: part of all steps over which the rate rises before it falls along a cosine, 0–1.
        label_smoothing: part of the target that is spread over all classes, 0–1 (1 excluded).
        dropout: part of the features that is zeroed in a training step, 0–1 (1 excluded).
        class_weights: a factor a class on its samples' loss; None for all 1.
        objective: what the best epoch is chosen by on validation pictures; ties go to the other.
        patience: epochs without a better one after which training stops, at least 1.
        views: cached views of each training picture (see `feature_maps.CachedMaps`), at least 1.
        augmentation: how views differ.
        seed: of order, views and dropout.
        threads: computing threads, at least 1.
    """

    first_block: str
    epochs: int = 12
    batch_size: int = 32
    learning_rate: float = 5e-4
    head_learning_rate: float = 1e-3
    optimiser: Literal["adamw", "momentum"] = "adamw"
    weight_decay: float = 0.02
    warm_up: float = 0.1
    label_smoothing: float = 0.1
    dropout: float = 0.2
    class_weights: tuple[float, ...] | None = None
    objective: Literal["accuracy", "loss"] = "accuracy"
    patience: int = 4
    views: int = 4
    augmentation: Augmentation = field(default_factory=Augmentation)
    seed: int = 0
    threads: int = 1

    def check(self, backbone: Backbone, classes: int) -> None:
        """Raise BadInput where a value is out of its range."""
        names = [block.name for block in backbone.blocks]
        if self.first_block not in names:
            raise BadInput(
                "The network has no such block to begin training at",
                value=self.first_block,
                way_out=f"Choose from {', '.join(names)}",
            )
        for name in ("epochs", "batch_size", "patience", "views", "threads"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} should be at least 1", value=getattr(self, name))
        for name in ("label_smoothing", "dropout", "warm_up"):
            if not 0 <= getattr(self, name) < 1:
                raise BadInput(f"{name} should be from 0 to below 1", value=getattr(self, name))
        for name in ("learning_rate", "head_learning_rate"):
            if not getattr(self, name) > 0:
                raise BadInput(f"{name} should be above 0", value=getattr(self, name))
        for name, choices in (("optimiser", ("adamw", "momentum")), ("objective", OBJECTIVES)):
            if getattr(self, name) not in choices:
                raise BadInput(f"{name} should be one of {choices}", value=getattr(self, name))
        if self.class_weights is not None and len(self.class_weights) != classes:
            raise BadInput(
                f"There should be a weight for each of {classes} classes",
                value=len(self.class_weights),
            )


OBJECTIVES = ("accuracy", "loss")
