"""The optimiser of a fine-tuning."""

from __future__ import annotations

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
