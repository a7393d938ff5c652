"""How a detector's search spends its time: input size, views, members, candidates, epochs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchard.errors import BadInput
from orchard.preprocess import feature_key
from orchard.tasks.base import LEAST_TO_TRAIN, Ask, Planned
from orchard.tasks.object_detection import tiling
from orchard.tasks.object_detection.fine_tuning import fine_tuned
from orchard.tasks.object_detection.sizes import (
    FOLDS,
    MEASURED_PICTURES,
    PIXELS,
    TRIAL_SECONDS,
    VIEWS,
    WIDTH,
    Choice,
    decode_seconds,
    epoch_pictures,
    epoch_seconds,
    input_size,
    median_size,
    operations,
)
from orchard.tasks.wording import too_few

KIND = "maps"
VIEW_CHOICES = (4, 2, 1)
PREPARE_SHARE = 0.45
MOST_BYTES = 20e9
"""Of cached features."""
STORE_GIGABYTE = 15.0
"""Core seconds to pack and write that much of them."""

MEMBERS = 2
MOST_MEMBERS = 4
MANY_SAMPLES = 2000
"""From here on one fifth validates; below, each member holds out another fifth."""
GOOD_EPOCHS = 16
"""From half as many again a member may be the better one of two candidates."""
ENOUGH_EPOCHS = 11
"""A size is taken only where each member gets that many epochs: eleven at a large size find more
than twenty at two thirds of it."""
MOST_EPOCHS = 40
"""More only learn the samples by heart."""
FIRST_RUNG = 0.2

TRAIN_MEGAPIXEL = 0.26
"""Core seconds to train on a picture, for each million pixels of input, at `WIDTH` channels."""
BRANCH_MINUTES = 30.0
"""From here on a second branch tries another input size."""


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
    chosen = _chosen(ask, card, choices)
    _say_views(ask, chosen)
    folds = _folds(ask)
    kept, tuned = [chosen], fine_tuned(ask, chosen, name, card)
    if ask.minutes >= BRANCH_MINUTES and not tuned and len(choices) > 1:
        sides = [(choice.height, choice.width) for choice in choices]
        place = sides.index((chosen.height, chosen.width))
        kept.append(choices[place + 1] if place + 1 < len(choices) else choices[place - 1])
        ask.reasons.append("two branches, with pictures of different size, share the time")
    # A branch on a GPU leaves the cores to the others.
    count = len(kept) + sum(not branch["gpus"] for branch in tuned)
    made = [_branch(ask, each, name, card, count) for each in kept]
    return Planned(folds, made + tuned, decode_seconds(ask))


def _choices(ask: Ask, card: Mapping[str, Any]) -> list[Choice]:
    """The input sizes from cheap to dear."""
    sizes = dict.fromkeys(input_size(*median_size(ask.summary), pixels) for pixels in PIXELS)
    return [choice_of(ask, card, *size) for size in sizes]


def choice_of(ask: Ask, card: Mapping[str, Any], height: int, width: int, tiles: int = 1) -> Choice:
    """An input size with as many views as its share of time allows, and `tiles` a side."""
    inputs = ask.samples * Choice(height, width, 1, 0.0, 0.0, tiles).inputs
    cores = ask.costs.cores
    numbers = sum(level["channels"] / level["stride"] ** 2 for level in card["levels"])
    megapixels = height * width / 1e6
    graph = inputs * float(card["milliseconds_per_megapixel"]) / 1000 * megapixels
    allowed = PREPARE_SHARE * ask.seconds * cores
    size = 2 * numbers * 1e6 * megapixels * inputs
    view = graph + STORE_GIGABYTE * size / 1e9
    fitting = [
        count for count in VIEW_CHOICES if count * view <= allowed and count * size <= MOST_BYTES
    ]
    views = fitting[0] if fitting else 1
    wall = ask.costs.spark_start + (views * view + ask.samples * decode_seconds(ask)) / cores
    training = max(30.0, ask.seconds - wall - TRIAL_SECONDS) * cores
    return Choice(height, width, views, views * view, training, tiles)


def _chosen(ask: Ask, card: Mapping[str, Any], choices: list[Choice]) -> Choice:
    """The dearest size at which every member gets enough epochs, the cheapest at least; with tiles
    where objects are small, if need be at a smaller size."""
    place = max(
        (number for number, choice in enumerate(choices) if _enough(ask, choice, MEMBERS)),
        default=0,
    )
    chosen = choices[place]
    small = False
    for choice in reversed(choices[: place + 1]):
        tiles = tiling.wanted(ask, choice.height, choice.width)
        small = small or (choice is chosen and tiles is not None)
        if not small:
            break
        if tiles is None:
            continue
        tiled = choice_of(ask, card, choice.height, choice.width, tiles.tiles)
        if tiled.prepare <= PREPARE_SHARE * ask.seconds * ask.costs.cores and _enough(ask, tiled):
            ask.reasons.append(tiling.said(tiles, choice.height, choice.width))
            return tiled
    ask.reasons.append(
        f"pictures are fitted into {chosen.width}×{chosen.height} pixels: the largest size that "
        f"leaves time to learn"
    )
    if small:
        ask.reasons.append(
            "half of the objects are very small; tiles would help, with more minutes"
        )
    return chosen


def _enough(ask: Ask, choice: Choice, members: int = 1) -> bool:
    """Whether so many members get enough epochs."""
    epochs = choice.training / epoch_seconds(ask.samples, choice, TRAIN_MEGAPIXEL)
    return epochs >= members * ENOUGH_EPOCHS


def _say_views(ask: Ask, chosen: Choice) -> None:
    ask.reasons.append(
        {
            4: "each picture is also seen mirrored and upside down",
            2: "each picture is also seen mirrored; more views would take too long",
            1: "there is no time for mirrored views",
        }[chosen.views]
    )


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
    ask.reasons.append(
        f"{work['members']} members of {work['candidates']} candidate"
        f"{'s' if work['candidates'] > 1 else ''} each, up to "
        f"{sum(rung['epochs'] for rung in work['rungs'])} epochs, at {choice.width}×{choice.height}"
    )
    return frozen(ask, choice, name, card, work)


def frozen(
    ask: Ask, choice: Choice, name: str, card: Mapping[str, Any], work: Mapping[str, Any]
) -> dict[str, Any]:
    """A branch on cached maps with the given work."""
    spent = sum(rung["keep"] * rung["epochs"] for rung in work["rungs"]) * work["members"]
    training = spent * epoch_seconds(ask.samples, choice, TRAIN_MEGAPIXEL)
    return {
        "key": f"{name.removesuffix('-maps')}-{choice.form}",
        "title": f"{str(card['title']).removeprefix('EfficientNet-')} · {choice.title}",
        "backbone": name,
        "mode": "frozen",
        "views": list(VIEWS[: choice.views]),
        "preprocessing": operations(choice, card),
        "feature_key": feature_key(name, f"{choice.form}-pad", card["sha256"]),
        "work": dict(work),
        "gpus": 0,
        "pixels": choice.height * choice.width * choice.inputs,
        "prepare_seconds": round(choice.prepare, 2),
        "seconds": round(TRIAL_SECONDS + training / work["processes"], 1),
    }


def _work(ask: Ask, choice: Choice, branches: int) -> dict[str, Any]:
    """Members first, then epochs, then candidates: two members are worth more than twice the
    epochs, and a second candidate more than epochs above `MOST_EPOCHS`."""
    total = choice.training / branches / epoch_seconds(ask.samples, choice, TRAIN_MEGAPIXEL)
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
        "epoch_pictures": epoch_pictures(ask.samples, choice),
        "measured_pictures": MEASURED_PICTURES,
        "processes": max(1, min(members, ask.costs.cores // branches)),
    }
