"""Fixed work for a search over heads on cached features, from a share of the minutes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchard.errors import BadInput
from orchard.tasks.base import Ask

FOLDS = 5
SMALL_CLASS = 400
"""Below that many training samples in a class validation is by cross-validation."""

PREPARE_SHARE = 0.65
"""Of the time for the search features take the larger share and trials what is left."""

CANDIDATES = 48
EPOCHS = (12, 20, 40)
SHARES = (1, 3, 9)
"""A full search: how many candidates, epochs a rung, and by what the candidates are divided."""
MEMBERS = 5
LEAST_CANDIDATES, MOST_CANDIDATES = 8, 96
LEAST_KEPT = 3


def check_classes(ask: Ask) -> None:
    """Raise BadInput where there are fewer than two classes."""
    if len(ask.labels) < 2:
        raise BadInput(
            "Training needs samples of at least two classes",
            value=list(ask.labels),
            way_out="Add samples of another class",
        )


def folds(ask: Ask) -> int:
    """Parts of the cross-validation; 0 where every class is large enough for one held-out part."""
    smallest = min(ask.counts, key=lambda name: (ask.counts[name], name))
    has_validation = int(ask.summary.get("splits", {}).get("validation", 0)) > 0
    if ask.counts[smallest] >= SMALL_CLASS:
        ask.reasons.append(
            "every class is large enough to be validated on "
            + ("its own split" if has_validation else "one fifth of it")
        )
        return 0
    ask.reasons.append(
        f"cross-validated in {FOLDS} parts, because {smallest!r} has only "
        f"{ask.counts[smallest]} samples"
    )
    return FOLDS


def work(ask: Ask, parts: int, branches: int) -> dict[str, Any]:
    """The rungs whose time fits; all sizes follow the number of candidates.

    Args:
        parts: from `folds`. branches: how many search heads on frozen features.
    """
    waves = -(-branches // ask.costs.cores)
    seconds = (1 - PREPARE_SHARE) * ask.seconds
    for_search = max(1.0, seconds / waves - ask.costs.trial_start)
    full = sum(CANDIDATES // share * epochs for share, epochs in zip(SHARES, EPOCHS, strict=True))
    factor = for_search / ask.costs.search(ask.samples, len(ask.labels), parts, full)
    candidates = int(CANDIDATES * factor) // 4 * 4
    candidates = max(LEAST_CANDIDATES, min(MOST_CANDIDATES, candidates))
    ask.reasons.append(
        f"{candidates} candidates a branch, in {len(EPOCHS)} rungs, "
        f"as {ask.minutes:g} minutes allow"
    )
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


def trial_seconds(
    ask: Ask, parts: int, features: float, views: int, fixed: Mapping[str, Any]
) -> float:
    """Seconds of a core for one branch's trial.

    Args:
        features: length of a feature vector. fixed: from `work`.
    """
    epochs = sum(rung["keep"] * rung["epochs"] for rung in fixed["rungs"])
    return (
        ask.costs.trial_start
        + ask.samples * views * ask.costs.basis_sample * features / 1000 * 4
        + ask.costs.search(ask.samples, len(ask.labels), parts, epochs)
    )
