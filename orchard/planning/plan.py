"""From a version's summary and a person's wishes to a plan.

The minutes are turned into fixed work: how large the branches' pictures are, in which views, how
many candidates go through which rungs. Trials follow the plan, not the clock, so the same plan gives
the same model. What the branches of a task are is the task's own affair
(`orchard.tasks.<task>.branching`).
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from orchard.blobs import keys
from orchard.errors import BadInput
from orchard.planning.costs import Costs
from orchard.preprocess import PREPROCESSING_VERSION

MINUTES = (1, 240)
SEED = 20241
RESERVE_SECONDS = 240.0
LEAST_SHARE = 0.2
PREPARE_SHARE = 0.65
"""Of the minutes, reading, checking, evaluating and publishing have a reserve that does not grow with
them; the search has the rest, of small budgets at least a fifth. Of what the search has, features
take the larger share and trials what is left."""

FOLDS = 5
SMALL_CLASS = 400
"""Below that many training samples in a class validation is by cross-validation."""

CANDIDATES = 48
EPOCHS = (12, 20, 40)
SHARES = (1, 3, 9)
"""A full search: how many candidates, epochs a rung, and by what the candidates are divided."""
MEMBERS = 5
LEAST_CANDIDATES, MOST_CANDIDATES = 8, 96
LEAST_KEPT = 3


def make(
    summary: Mapping[str, Any],
    parameters: Mapping[str, Any],
    cards: Mapping[str, Mapping[str, Any]],
    *,
    dataset: str,
    version: str,
    gpus: int = 0,
    costs: Costs | None = None,
) -> dict[str, Any]:
    """The plan of a build as JSON.

    Args:
        summary: of the data set version.
        parameters: of the build: task, minutes (1–240), objective.
        cards: facts of every backbone by name (sha256, milliseconds_per_megapixel, …).
        gpus: how many a branch may use.

    Raises:
        BadInput: the minutes are out of range, or there is nothing to train on.
    """
    minutes = float(parameters["minutes"])
    if not MINUTES[0] <= minutes <= MINUTES[1]:
        raise BadInput("The search budget must be 1 to 240 minutes", value=parameters["minutes"])
    for_search = max(LEAST_SHARE * minutes * 60, minutes * 60 - RESERVE_SECONDS)
    table = costs or Costs()
    labels = sorted(name for name, counts in summary["labels"].items() if _trained(counts) > 0)
    if len(labels) < 2:
        raise BadInput(
            "Training needs samples of at least two classes",
            value=labels,
            way_out="Add samples of another class",
        )
    counts = {name: _trained(summary["labels"][name]) for name in labels}
    samples = sum(counts.values())
    reasons = [f"{samples:,} samples of {len(labels)} classes to train on, {minutes:g} minutes"]
    folds = _folds(summary, counts, reasons)
    task = str(parameters["task"])
    room = importlib.import_module(f"orchard.tasks.{task}.branching")
    choices = room.choose(
        summary=summary,
        cards=cards,
        samples=samples,
        seconds=PREPARE_SHARE * for_search * table.cores,
        minutes=minutes,
        gpus=gpus,
        costs=table,
        reasons=reasons,
    )
    work = _work(
        (1 - PREPARE_SHARE) * for_search,
        samples,
        len(labels),
        folds,
        sum(each.get("mode", "frozen") == "frozen" for each in choices),
        table,
    )
    reasons.append(
        f"{work['candidates']} candidates a branch, in {len(work['rungs'])} rungs, "
        f"as {minutes:g} minutes allow"
    )
    branches = [_branch(choice, cards, work, samples, labels, folds, table) for choice in choices]
    decoding = samples * room.decode_seconds(summary, table)
    features = sum(b["prepare_seconds"] for b in branches)
    trials = max(
        sum(b["seconds"] for b in branches) / min(table.cores, len(branches)),
        *(b["seconds"] for b in branches),
    )
    return {
        "version": version,
        "dataset": dataset,
        "task": task,
        "folds": folds,
        "objective": str(parameters["objective"]),
        "seed": SEED,
        "labels": labels,
        "branches": branches,
        "reasons": reasons,
        "seconds": {
            "prepare": round(table.spark_start + (decoding + features) / table.cores, 1),
            "trial": round(trials, 1),
            "evaluate": round(table.spark_start + 0.25 * (decoding + features) / table.cores, 1),
        },
    }


def _trained(counts: Mapping[str, int]) -> int:
    return int(counts.get("train", 0)) + int(counts.get("validation", 0))


def _folds(summary: Mapping[str, Any], counts: Mapping[str, int], reasons: list[str]) -> int:
    smallest = min(counts, key=lambda name: (counts[name], name))
    has_validation = int(summary.get("splits", {}).get("validation", 0)) > 0
    if counts[smallest] >= SMALL_CLASS:
        reasons.append(
            "every class is large enough to be validated on "
            + ("its own split" if has_validation else "one fifth of it")
        )
        return 0
    reasons.append(
        f"cross-validated in {FOLDS} parts, because {smallest!r} has only {counts[smallest]} samples"
    )
    return FOLDS


def _work(
    seconds: float, samples: int, classes: int, folds: int, branches: int, costs: Costs
) -> dict[str, Any]:
    """The rungs whose time fits; all sizes follow the number of candidates."""
    waves = -(-branches // costs.cores)
    for_search = max(1.0, seconds / waves - costs.trial_start)
    full = sum(CANDIDATES // share * epochs for share, epochs in zip(SHARES, EPOCHS, strict=True))
    factor = for_search / costs.search(samples, classes, folds, full)
    candidates = int(CANDIDATES * factor) // 4 * 4
    candidates = max(LEAST_CANDIDATES, min(MOST_CANDIDATES, candidates))
    return {
        "candidates": candidates,
        "rungs": [
            {"keep": max(LEAST_KEPT, candidates // share), "epochs": epochs}
            for share, epochs in zip(SHARES, EPOCHS, strict=True)
        ],
        "members": MEMBERS,
        "refit_epochs": sum(EPOCHS),
        "fine_tune_epochs": 0,
        "unfrozen_blocks": 0,
    }


def _branch(
    choice: Mapping[str, Any],
    cards: Mapping[str, Mapping[str, Any]],
    work: Mapping[str, Any],
    samples: int,
    labels: Sequence[str],
    folds: int,
    costs: Costs,
) -> dict[str, Any]:
    card = cards[choice["backbone"]]
    views = list(choice["views"])
    epochs = sum(rung["keep"] * rung["epochs"] for rung in work["rungs"])
    seconds = (
        costs.trial_start
        + samples * len(views) * costs.basis_sample * float(card["feature_count"]) / 1000 * 4
        + costs.search(samples, len(labels), folds, epochs)
    )
    choice = dict(choice)
    seconds += choice.pop("extra_seconds", 0.0)
    own = choice.get("mode", "frozen") == "frozen"
    prepare = samples * costs.prepare_sample(choice, card, len(views)) if own else 0.0
    return {
        **choice,
        "mode": choice.get("mode", "frozen"),
        "views": views,
        "feature_key": keys.feature_key(
            choice["backbone"], choice["size"], choice["fit"], PREPROCESSING_VERSION, card["sha256"]
        ),
        "work": {**work, **choice.get("work", {})},
        "prepare_seconds": round(prepare, 2),
        "seconds": round(seconds, 1),
    }
