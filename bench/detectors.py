"""The detectors that `bench.detection` compares: ours, the same from scratch, the prototype's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bench.boxes import BoxSet
from orchard.planning.plan import search_seconds
from orchard.tasks.base import Ask
from orchard.tasks.costs import Costs
from orchard.tasks.object_detection import TASK, branching, fine_tuning, sizes
from trainers.backbones.maps import feature_maps, maps_facts, maps_graph

KINDS = ("ours", "scratch", "prototype")
RECIPE_SIDES = (384, 512)
"""Height and width of the prototype's input."""
RECIPE_CORE_SECONDS = 2 * 5 * 60.0
"""Two processes for five minutes: more made its detector worse."""


def branches_of(
    kind: str, pictures: BoxSet, count: int, minutes: float
) -> tuple[list[dict[str, Any]], list[str]]:
    """The branches of a kind of detector for `count` training pictures, and the plan's reasons."""
    counts = {
        label: sum(any(b["label"] == label for b in a["boxes"]) for a in pictures.annotations)
        for label in pictures.labels
    }
    ask = Ask(
        summary={
            "sizes": {"median": [int(side) for side in np.median(pictures.sizes, axis=0)]},
            "object_share": float(
                np.median(
                    [
                        share
                        for annotation, size in zip(
                            pictures.annotations, pictures.sizes, strict=True
                        )
                        for share in TASK.object_shares(annotation, *size)
                    ]
                )
            ),
        },
        labels=pictures.labels,
        counts=counts,
        samples=count,
        seconds=search_seconds(minutes, count * 5 // 4),
        minutes=minutes,
        gpus=0,
        costs=Costs(),
        cards={n: maps_facts(maps, maps_graph(maps)) for n, maps in feature_maps().items()},
        objective="accuracy",
        reasons=[],
    )
    if kind == "ours":
        return branching.plan(ask).branches, ask.reasons
    ((name, card),) = ask.cards.items()
    return [{"scratch": _scratch, "prototype": _prototype}[kind](ask, name, card)], ask.reasons


def _scratch(ask: Ask, name: str, card: Mapping[str, Any]) -> dict[str, Any]:
    """The whole detector from random weights, at the largest size that leaves time to learn, as a plan
    chooses it, with the plan's tiles; the whole search's time on all cores is for training."""
    (first, *_) = branching.plan(replace(ask, reasons=[])).branches
    tiles = int(first["preprocessing"][0].get("columns", 1))
    median = sizes.median_size(ask.summary)
    sides = dict.fromkeys(sizes.input_size(*median, pixels) for pixels in sizes.PIXELS)
    made = [
        fine_tuning.from_scratch(ask, sizes.Choice(height, width, 1, 0.0, 0.0, tiles), name, card)
        for height, width in sides
    ]
    enough = [b for b in made if b["work"]["rungs"][0]["epochs"] >= branching.GOOD_EPOCHS]
    return enough[-1] if enough else made[0]


def _prototype(ask: Ask, name: str, card: Mapping[str, Any]) -> dict[str, Any]:
    """The prototype's recipe as a fixed branch, as far as the program's parts can follow it.

    Letterbox 384 × 512 for pictures of any shape, four views of each, one head of 48 channels that
    learns by ATSS, quality focal loss and 2 · GIoU for five minutes on two cores. Its head gave the
    sides of a box at once, where here they are the mean of a distribution (which has no loss of its
    own); its two processes with averaged gradients are one with two threads and twice the batch; and
    like all branches it keeps a fifth of the pictures to choose its best epoch.
    """
    choice = branching.choice_of(ask, card, *RECIPE_SIDES)
    pictures = ask.samples * (sizes.FOLDS - 1) // sizes.FOLDS
    measured = sizes.MEASURE_SHARE * min(sizes.MEASURED_PICTURES, ask.samples / sizes.FOLDS)
    epoch = branching.TRAIN_MEGAPIXEL * choice.megapixels * (pictures + measured)
    epochs = max(1, int(min(choice.training, RECIPE_CORE_SECONDS) / epoch))
    work = {
        "members": 1,
        "candidates": 1,
        "rungs": [{"keep": 1, "epochs": epochs}],
        "patience": epochs,
        "width": 48,
        "mirrored": False,
        "views_checked": False,
        "settings": {"assigner": "adaptive", "distribution_weight": 0.0, "batch": 8},
        "epoch_pictures": 0,
        "measured_pictures": sizes.MEASURED_PICTURES,
        "processes": 1,
        "threads": 2,
    }
    branch = branching.frozen(ask, choice, name, card, work)
    return {**branch, "title": f"{branch['title']} · the prototype's recipe"}
