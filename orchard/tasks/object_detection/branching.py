"""How a detector's search spends its time: input size, views, members, candidates, epochs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchard.errors import BadInput
from orchard.preprocess import feature_key, normalised
from orchard.tasks.base import LEAST_TO_TRAIN, Ask, Planned
from orchard.tasks.wording import too_few

KIND = "maps"
SIDE_MULTIPLE = 32
PIXELS = (320 * 416, 384 * 512, 480 * 640)
"""Input sizes to choose from, from cheap to dear."""
LARGEST_RATIO = 2.0
"""Of the input's sides; longer pictures are padded."""
LARGEST_GROWTH = 1.6
"""Pictures are not blown up by more than that: there is no detail to find."""

VIEWS = ("plain", "mirror", "flip", "turn")
VIEW_CHOICES = (4, 2, 1)
PREPARE_SHARE = 0.45
MOST_BYTES = 20e9
"""Of cached features."""
STORE_GIGABYTE = 15.0
"""Core seconds to pack and write that much of them."""

MEMBERS = 2
MOST_MEMBERS = 4
FOLDS = 5
MANY_SAMPLES = 2000
"""From here on one fifth validates; below, each member holds out another fifth."""
EPOCH_PICTURES = (160, 400)
"""An epoch of a small set passes over it more than once, one of a large set is a random part."""
MEASURED_PICTURES = 150
GOOD_EPOCHS = 16
"""A size is taken only where each member gets that many epochs."""
MOST_EPOCHS = 40
"""More only learn the samples by heart."""
FIRST_RUNG = 0.2
WIDTH = 48

TRAIN_MEGAPIXEL = 0.26
"""Core seconds to train on a picture, for each million pixels of input, at `WIDTH` channels."""
MEASURE_SHARE = 0.4
"""Measuring a picture against training on it."""
TRIAL_SECONDS = 18.0
"""Of a trial beside training: libraries in each process, reading features, export, proof."""
BRANCH_MINUTES = 30.0
"""From here on a second branch tries another input size."""


@dataclass(frozen=True)
class Choice:
    """An input size with its views and what is left for training."""

    height: int
    width: int
    views: int
    prepare: float
    training: float

    @property
    def megapixels(self) -> float:
        return self.height * self.width / 1e6


def plan(ask: Ask) -> Planned:
    """The branches of a detector's search.

    Raises:
        BadInput: there is no box to learn from, or no backbone of maps in the store.
    """
    if not any(ask.counts.values()):
        raise BadInput("Training needs pictures with boxes", way_out="Add pictures with boxes")
    names = [name for name, card in ask.cards.items() if card.get("kind") == KIND]
    if not names:
        raise BadInput(
            "No backbone with feature maps is in the store",
            way_out="Run `python -m trainers backbones`, as `make up` does",
        )
    name = min(names, key=lambda each: float(ask.cards[each]["milliseconds_per_megapixel"]))
    card = ask.cards[name]
    ask.reasons.extend(
        too_few(repr(label), count, "picture")
        for label, count in ask.counts.items()
        if count < LEAST_TO_TRAIN
    )
    choices = _choices(ask, card)
    chosen = _chosen(ask, choices)
    folds = _folds(ask)
    kept = [chosen]
    if ask.minutes >= BRANCH_MINUTES and len(choices) > 1:
        place = choices.index(chosen)
        kept.append(choices[place + 1] if place + 1 < len(choices) else choices[place - 1])
        ask.reasons.append("two branches, with pictures of different size, share the time")
    made = [_branch(ask, each, name, card, len(kept)) for each in kept]
    return Planned(folds, made, decode_seconds(ask))


def decode_seconds(ask: Ask) -> float:
    """Seconds of a core to read one picture of middle size."""
    width, height = _median(ask.summary)
    return ask.costs.decode_megapixel * width * height / 1e6


def input_size(width: int, height: int, pixels: float) -> tuple[int, int]:
    """(height, width) of an input of about so many pixels in the shape of the picture."""
    ratio = min(LARGEST_RATIO, max(1 / LARGEST_RATIO, width / height))
    pixels = min(pixels, LARGEST_GROWTH**2 * width * height)
    sides = (math.sqrt(pixels / ratio), math.sqrt(pixels * ratio))
    rows, columns = (max(2, round(side / SIDE_MULTIPLE)) * SIDE_MULTIPLE for side in sides)
    return rows, columns


def _choices(ask: Ask, card: Mapping[str, Any]) -> list[Choice]:
    """The input sizes from cheap to dear, each with as many views as its share of time allows."""
    sizes = dict.fromkeys(input_size(*_median(ask.summary), pixels) for pixels in PIXELS)
    cores = ask.costs.cores
    numbers = sum(level["channels"] / level["stride"] ** 2 for level in card["levels"])
    found = []
    for height, width in sizes:
        megapixels = height * width / 1e6
        graph = ask.samples * float(card["milliseconds_per_megapixel"]) / 1000 * megapixels
        allowed = PREPARE_SHARE * ask.seconds * cores
        size = 2 * numbers * 1e6 * megapixels * ask.samples
        view = graph + STORE_GIGABYTE * size / 1e9
        fitting = [
            count
            for count in VIEW_CHOICES
            if count * view <= allowed and count * size <= MOST_BYTES
        ]
        views = fitting[0] if fitting else 1
        wall = ask.costs.spark_start + (views * view + ask.samples * decode_seconds(ask)) / cores
        training = max(30.0, ask.seconds - wall - TRIAL_SECONDS) * cores
        found.append(Choice(height, width, views, views * view, training))
    return found


def _chosen(ask: Ask, choices: list[Choice]) -> Choice:
    """The dearest size at which every member gets enough epochs; the cheapest at least."""
    chosen = choices[0]
    for choice in choices:
        if choice.training / _epoch_seconds(ask.samples, choice) >= MEMBERS * GOOD_EPOCHS:
            chosen = choice
    ask.reasons.append(
        f"pictures are fitted into {chosen.width}×{chosen.height} pixels: the largest size that "
        f"leaves time to learn"
    )
    ask.reasons.append(
        {
            4: "each picture is also seen mirrored and upside down",
            2: "each picture is also seen mirrored; more views would take too long",
            1: "there is no time for mirrored views",
        }[chosen.views]
    )
    return chosen


def _epoch_seconds(samples: int, choice: Choice) -> float:
    """Core seconds of one candidate's epoch and its measurement."""
    trained = _epoch_pictures(samples)
    measured = min(MEASURED_PICTURES, samples / FOLDS)
    return TRAIN_MEGAPIXEL * choice.megapixels * (trained + MEASURE_SHARE * measured)


def _epoch_pictures(samples: int) -> int:
    """Pictures an epoch: those a member learns from, within `EPOCH_PICTURES`."""
    least, most = EPOCH_PICTURES
    return max(least, min(most, samples * (FOLDS - 1) // FOLDS))


def _folds(ask: Ask) -> int:
    if ask.samples >= MANY_SAMPLES:
        ask.reasons.append("one part of the pictures validates all members")
        return 0
    ask.reasons.append(
        "each member of the detector learns from four fifths and is validated on another fifth, "
        "so that all pictures are learnt from"
    )
    return FOLDS


def _branch(
    ask: Ask, choice: Choice, name: str, card: Mapping[str, Any], count: int
) -> dict[str, Any]:
    work = _work(ask, choice, count)
    spent = sum(rung["keep"] * rung["epochs"] for rung in work["rungs"]) * work["members"]
    training = spent * _epoch_seconds(ask.samples, choice)
    size = f"{choice.width}x{choice.height}"
    operations = normalised(
        [
            {
                "operation": "resize",
                "fit": "pad",
                "width": choice.width,
                "height": choice.height,
                "kernel": "bilinear",
            },
            {
                "operation": "normalise",
                "mean": 0.0,
                "scale": 1.0,
                "layout": "CHW",
                "channels": "RGB",
            },
        ],
        card["normalisation"],
    )
    ask.reasons.append(
        f"{work['members']} members of {work['candidates']} candidate"
        f"{'s' if work['candidates'] > 1 else ''} each, up to "
        f"{sum(rung['epochs'] for rung in work['rungs'])} epochs, at {choice.width}×{choice.height}"
    )
    return {
        "key": f"{name.removesuffix('-maps')}-{size}",
        "title": f"{str(card['title']).removeprefix('EfficientNet-')} · {size} px",
        "backbone": name,
        "mode": "frozen",
        "views": list(VIEWS[: choice.views]),
        "preprocessing": operations,
        "feature_key": feature_key(name, f"{size}-pad", card["sha256"]),
        "work": work,
        "gpus": 0,
        "pixels": choice.height * choice.width,
        "prepare_seconds": round(choice.prepare, 2),
        "seconds": round(TRIAL_SECONDS + training / work["processes"], 1),
    }


def _work(ask: Ask, choice: Choice, branches: int) -> dict[str, Any]:
    """Members first, then epochs, then candidates: two members are worth more than twice the
    epochs, and a second candidate more than epochs above `MOST_EPOCHS`."""
    total = choice.training / branches / _epoch_seconds(ask.samples, choice)
    members = MEMBERS if total >= 6 else 1
    members = max(members, min(MOST_MEMBERS, int(total / (2 * MOST_EPOCHS))))
    each = total / members
    candidates = 1 if each < 1.5 * GOOD_EPOCHS else 2 if each < 1.5 * MOST_EPOCHS else 3
    # The candidates that are not kept cost the first rung's epochs.
    length = int(min(MOST_EPOCHS, each / (1 + FIRST_RUNG * (candidates - 1))))
    length = max(3, length)
    first = max(1, round(FIRST_RUNG * length))
    rungs = [{"keep": candidates, "epochs": first}, {"keep": 1, "epochs": length - first}]
    return {
        "members": members,
        "candidates": candidates,
        "rungs": rungs if candidates > 1 else [{"keep": 1, "epochs": length}],
        "patience": max(4, length // 2),
        "width": WIDTH,
        "mirrored": choice.views > 1,
        "epoch_pictures": _epoch_pictures(ask.samples),
        "measured_pictures": MEASURED_PICTURES,
        "processes": max(1, min(members, ask.costs.cores // branches)),
    }


def _median(summary: Mapping[str, Any]) -> tuple[int, int]:
    width, height = (summary.get("sizes") or {}).get("median") or (640, 480)
    return max(1, int(width)), max(1, int(height))
