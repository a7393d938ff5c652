"""Which hyper-parameters a search tries."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters.

    Attributes:
        width: channels of neck and head.
        assigner: "adaptive" or "aligned" (see `assign`).
        rate: highest learning rate of AdamW; it rises linearly, then falls as a cosine.
        box_weight, distribution_weight: of the two box losses, beside 1 for the classes.
        dropout: share of the neck's channels left out in a step.
        joined: share of pictures joined out of two.
        average: factor of the moving average of weights.
        batch: pictures a step.
        warm_up: steps of the learning rate's rise, at most a fifth of all.
        backbone_rate: of pretrained blocks that are trained, beside 1 for the head.
    """

    width: int = 48
    assigner: str = "aligned"
    rate: float = 2e-3
    weight_decay: float = 0.05
    box_weight: float = 2.0
    distribution_weight: float = 0.25
    dropout: float = 0.1
    joined: float = 0.5
    average: float = 0.99
    batch: int = 4
    warm_up: int = 60
    backbone_rate: float = 0.1

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def drawn(count: int, width: int, seed: int) -> list[Settings]:
    """`count` settings, the first of them the usual ones; the rest random around them."""
    random = np.random.default_rng(seed)
    usual = Settings(width=width)
    others = [
        replace(
            usual,
            assigner=str(random.choice(["adaptive", "aligned"])),
            rate=round(float(2e-3 * 2 ** random.uniform(-1, 1)), 5),
            weight_decay=float(random.choice([0.02, 0.05, 0.1])),
            box_weight=float(random.choice([1.5, 2.0, 3.0])),
            distribution_weight=float(random.choice([0.25, 0.5])),
            dropout=float(random.choice([0.0, 0.1, 0.2])),
            joined=float(random.choice([0.25, 0.5, 0.75])),
        )
        for _ in range(count - 1)
    ]
    return [usual, *others][:count]
