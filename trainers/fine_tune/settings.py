"""What is decided before a fine-tuning starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from orchard.errors import BadInput
from trainers.backbones.registry import Backbone
from trainers.fine_tune.augment import Augmentation
from trainers.training.settings import TrainingSettings


@dataclass(frozen=True)
class FineTuneSettings(TrainingSettings):
    """Fixed work and recipe; the same settings on the same data give the same model.

    Attributes:
        first_block: the first block that is trained; those before it stay frozen. The name of the
            network's first block trains all of it.
        head_learning_rate: highest rate for the head; `learning_rate` is the network's.
        optimiser: "adamw", or "momentum" (0.9, Nesterov).
        views: cached views of each training picture (see `feature_maps.CachedMaps`), at least 1.
        augmentation: how views differ.
        threads: computing threads, at least 1.
    """

    first_block: str
    head_learning_rate: float = 1e-3
    optimiser: Literal["adamw", "momentum"] = "adamw"
    views: int = 4
    augmentation: Augmentation = field(default_factory=Augmentation)
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
        self.check_numbers(classes)
        for name in ("views", "threads"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} should be at least 1", value=getattr(self, name))
        self.check_rate("head_learning_rate")
        self.check_choice("optimiser", ("adamw", "momentum"))
