"""The optimiser of a fine-tuning and the course of its learning rate."""

from __future__ import annotations

import math
from typing import Any

from trainers.engine import paddle
from trainers.fine_tune.model import TailModel
from trainers.fine_tune.settings import FineTuneSettings


def build_optimiser(model: TailModel, settings: FineTuneSettings) -> Any:
    """AdamW or Nesterov momentum; the head's rate is a fixed multiple of the network's."""
    groups: Any = [
        {"params": model.network_parameters(), "learning_rate": 1.0},
        {
            "params": model.head_parameters(),
            "learning_rate": settings.head_learning_rate / settings.learning_rate,
        },
    ]
    if settings.optimiser == "momentum":
        return paddle.optimizer.Momentum(
            settings.learning_rate,
            momentum=0.9,
            use_nesterov=True,
            parameters=groups,
            weight_decay=settings.weight_decay,
        )
    return paddle.optimizer.AdamW(
        settings.learning_rate, parameters=groups, weight_decay=settings.weight_decay
    )


def rate_factor(step: int, steps: int, warm_up: float) -> float:
    """Factor of the highest rate at `step` of `steps`: a linear rise over the `warm_up` part, then
    a cosine that would reach zero at `steps`."""
    rise = warm_up * steps
    if step < rise:
        return (step + 1) / (rise + 1)
    return 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1.0, steps - rise)))
