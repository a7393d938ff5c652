"""When a detector's backbone is trained together with its head, and with how much work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchard.tasks.base import Ask
from orchard.tasks.object_detection.sizes import (
    MEASURED_PICTURES,
    TRIAL_SECONDS,
    VIEWS,
    WIDTH,
    Choice,
    decode_seconds,
    epoch_pictures,
    epoch_seconds,
    operations,
)

WHOLE_MEGAPIXEL = 5.0
"""Core seconds to train the whole backbone on a picture, for each million pixels of input."""
LAST_MEGAPIXEL = 1.9
"""The same where only the blocks of the coarsest level are trained."""
LEAST_SAMPLES = 100
"""With fewer, a backbone that is trained learns the pictures by heart."""
LEAST_EPOCHS = 16
MOST_EPOCHS = 40
SHARE = 0.5
"""Of the cores' time for training, where there is no GPU."""
LEAST_MINUTES = 30.0


def fine_tuned(
    ask: Ask, choice: Choice, name: str, card: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The branch that trains the backbone, or none where it would not get enough epochs.

    On a GPU the whole backbone is trained; on cores the blocks of its coarsest level, which is
    where most of its weights are and least of its work is.
    """
    if ask.samples < LEAST_SAMPLES:
        return []
    if ask.gpus:
        cost = WHOLE_MEGAPIXEL / ask.costs.gpu_speed
        seconds = ask.seconds - TRIAL_SECONDS - _reading(ask)
    else:
        cost = LAST_MEGAPIXEL
        seconds = SHARE * choice.training if ask.minutes >= LEAST_MINUTES else 0.0
    epochs = min(MOST_EPOCHS, int(seconds / epoch_seconds(ask.samples, choice, cost)))
    if epochs < LEAST_EPOCHS:
        needed = LEAST_EPOCHS * epoch_seconds(ask.samples, choice, cost)
        ask.reasons.append(
            f"the backbone stays as it is: to train it would take about {needed / 60:.0f} minutes "
            f"of a {'GPU' if ask.gpus else 'core'}, {max(0.0, seconds) / 60:.0f} are there for it"
        )
        return []
    ask.reasons.append(
        f"a branch trains {'the whole backbone' if ask.gpus else 'the last blocks of the backbone'} "
        f"from pixels, {epochs} epochs" + (" on a GPU" if ask.gpus else "")
    )
    frozen_to = "" if ask.gpus else str(card["levels"][-2]["blocks"][-1])
    branch = from_pixels(ask, choice, name, card, epochs, frozen_to=frozen_to)
    training = epochs * epoch_seconds(ask.samples, choice, cost)
    return [{**branch, "seconds": round(TRIAL_SECONDS + _reading(ask) + training, 1)}]


def from_scratch(ask: Ask, choice: Choice, name: str, card: Mapping[str, Any]) -> dict[str, Any]:
    """The same detector from random weights, with all the time there is for the search: what
    pretrained weights are worth is measured against it. No plan chooses it."""
    epoch = epoch_seconds(ask.samples, choice, WHOLE_MEGAPIXEL) / ask.costs.cores
    seconds = ask.seconds - TRIAL_SECONDS - _reading(ask)
    epochs = max(1, min(MOST_EPOCHS, int(seconds / epoch)))
    branch = from_pixels(ask, choice, name, card, epochs, weights="random", threads=ask.costs.cores)
    seconds = TRIAL_SECONDS + _reading(ask) + epochs * epoch
    return {**branch, "seconds": round(seconds, 1)}


def from_pixels(
    ask: Ask,
    choice: Choice,
    name: str,
    card: Mapping[str, Any],
    epochs: int,
    *,
    frozen_to: str = "",
    weights: str = "pretrained",
    threads: int = 1,
) -> dict[str, Any]:
    """A branch whose backbone is trained.

    Args:
        frozen_to: the last block that stays as it is; empty where all are trained.
        weights: "pretrained", or "random".
    """
    ending = "fine-tuned" if weights == "pretrained" else "from-scratch"
    return {
        "key": f"{name.removesuffix('-maps')}-{choice.form}-{ending}",
        "title": f"{str(card['title']).removeprefix('EfficientNet-')} · {choice.title} · "
        + ending.replace("-", " " if weights == "random" else "-"),
        "backbone": name,
        "mode": "fine_tuned",
        "views": list(VIEWS),
        "preprocessing": operations(choice, card),
        # It learns from the pictures themselves.
        "feature_key": "",
        "work": {
            "weights": weights,
            "frozen_to": frozen_to,
            "members": 1,
            "candidates": 1,
            "rungs": [{"keep": 1, "epochs": epochs}],
            "patience": max(4, epochs // 2),
            "width": WIDTH,
            "mirrored": True,
            "epoch_pictures": epoch_pictures(ask.samples, choice),
            "measured_pictures": MEASURED_PICTURES,
            "processes": 1,
            "threads": threads,
        },
        "gpus": min(1, ask.gpus) if weights == "pretrained" else 0,
        "pixels": choice.height * choice.width * choice.inputs,
        "prepare_seconds": 0.0,
        "seconds": 0.0,
    }


def _reading(ask: Ask) -> float:
    """Seconds to read and scale all pictures on one core."""
    return 1.5 * ask.samples * decode_seconds(ask)
