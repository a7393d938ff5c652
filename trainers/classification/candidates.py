"""Candidates: what a head can be, and a seeded draw of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from trainers.classification.bases import Recipe


@dataclass(frozen=True)
class Candidate:
    """The hyper-parameters of one head.

    Attributes:
        recipe: blocks, pooling and standardisation of its features.
        hidden: hidden units; 0 is a linear head.
        optimiser: "momentum" (Nesterov) or "novograd", both on preconditioned coordinates.
        learning_rate: of the first epochs; it falls with 1 / sqrt(1 + epoch / 20).
        weight_decay: factor of half the squared length of the weights on coordinates, whose samples
            have a mean squared length of 1.
        label_smoothing: share of the target that is spread over all classes.
        mixup: strength a of Beta(a, a), from which an epoch's mixing share is drawn; 0 is none.
        class_weights: whether classes count the same, however many samples they have.
        dropout: share of hidden units that are left out; without effect on a linear head.
    """

    recipe: Recipe = field(default_factory=Recipe)
    hidden: int = 0
    optimiser: str = "momentum"
    learning_rate: float = 1.0
    weight_decay: float = 5e-5
    label_smoothing: float = 0.1
    mixup: float = 0.2
    class_weights: bool = False
    dropout: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain values, those of the recipe beside the others."""
        values = asdict(self)
        return {**values.pop("recipe"), **values}


DEFAULT = Candidate()
HIDDEN_UNITS = 64
HIDDEN_SHARE = 0.2
NOVOGRAD_SHARE = 0.25
RANGES = {
    ("momentum", False): (0.3, 2.0),
    ("momentum", True): (0.1, 1.0),
    ("novograd", False): (0.03, 0.2),
    ("novograd", True): (0.03, 0.2),
}
"""(Optimiser, whether there are hidden units) → range of the learning rate."""
WEIGHT_DECAYS = (5e-6, 1e-3)

RECIPES: tuple[Recipe, ...] = (
    Recipe("all", "both", "feature"),
    Recipe("late", "both", "block"),
    Recipe("inner", "both", "feature"),
)
"""A basis costs time, so the draw is over few recipes; the first is the default candidate's."""


def draw(count: int, seed: int, recipes: Sequence[Recipe] | None = None) -> list[Candidate]:
    """`count` candidates, the default one first; the same seed gives the same list."""
    generator = np.random.default_rng(seed)
    drawn = [DEFAULT][:count]
    while len(drawn) < count:
        drawn.append(_draw_one(generator, recipes or RECIPES))
    return drawn


def _draw_one(generator: np.random.Generator, recipes: Sequence[Recipe]) -> Candidate:
    recipe = recipes[int(generator.integers(len(recipes)))]
    hidden = HIDDEN_UNITS if generator.random() < HIDDEN_SHARE else 0
    optimiser = "novograd" if generator.random() < NOVOGRAD_SHARE else "momentum"
    rates = RANGES[optimiser, hidden > 0]
    return Candidate(
        recipe=recipe,
        hidden=hidden,
        optimiser=optimiser,
        learning_rate=_log_uniform(generator, *rates),
        weight_decay=_log_uniform(generator, *WEIGHT_DECAYS),
        label_smoothing=float(generator.choice([0.0, 0.05, 0.1])),
        mixup=float(generator.choice([0.0, 0.2, 0.5])),
        class_weights=bool(generator.random() < 0.25),
        dropout=float(generator.choice([0.0, 0.3, 0.5])) if hidden else 0.0,
    )


def _log_uniform(generator: np.random.Generator, low: float, high: float) -> float:
    value = np.exp(generator.uniform(np.log(low), np.log(high)))
    return float(f"{value:.3g}")
