"""From a version's summary and a person's wishes to a plan.

The minutes are turned into fixed work: how large the branches' pictures are, in which views, how
many candidates go through which rungs. Trials follow the plan, not the clock, so the same plan gives
the same model. What the branches of a task are is the task's own affair (`Task.plan`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchard.errors import BadInput
from orchard.tasks import task as task_of
from orchard.tasks.base import Ask
from orchard.tasks.costs import Costs

MINUTES = (1, 240)
SEED = 20241
RESERVE_SECONDS = 75.0
RESERVE_SAMPLE_SECONDS = 0.03
LEAST_SHARE = 0.2
"""Of the minutes, reading, checking, evaluating and publishing have a reserve, which grows with the
number of samples; the search has the rest, of small budgets at least a fifth."""


def search_seconds(minutes: float, samples: int) -> float:
    """Seconds for features and trials together, on cores of the reference's speed.

    Args:
        samples: of all splits.
    """
    reserve = RESERVE_SECONDS + RESERVE_SAMPLE_SECONDS * samples
    return max(LEAST_SHARE * minutes * 60, minutes * 60 - reserve)


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
        BadInput: the minutes are out of range, there is nothing to train on, or the task knows no
            such objective.
    """
    minutes = float(parameters["minutes"])
    if not MINUTES[0] <= minutes <= MINUTES[1]:
        raise BadInput("The search budget must be 1 to 240 minutes", value=parameters["minutes"])
    table = costs or Costs()
    labels = sorted(name for name, counts in summary["labels"].items() if _trained(counts) > 0)
    counts = {name: _trained(summary["labels"][name]) for name in labels}
    samples = _trained(summary["splits"])
    reasons = [f"{samples:,} samples of {len(labels)} classes to train on, {minutes:g} minutes"]
    if table.core_speed != 1.0:
        reasons.append(
            f"a core here has {table.core_speed:g} times the speed that the cost tables assume, and "
            "the work is cut to that"
        )
    objective = str(parameters["objective"])
    chosen = task_of(str(parameters["task"]))
    figure = chosen.figure_of(objective)
    ask = Ask(
        summary=summary,
        labels=labels,
        counts=counts,
        samples=samples,
        seconds=search_seconds(minutes * table.core_speed, sum(summary["splits"].values())),
        minutes=minutes,
        gpus=gpus,
        costs=table,
        cards=cards,
        objective=objective,
        reasons=reasons,
    )
    planned = chosen.plan(ask)
    branches = planned.branches
    decoding = samples * planned.decode_seconds
    features = sum(b["prepare_seconds"] for b in branches)
    trials = max(
        sum(b["seconds"] for b in branches) / min(table.cores, len(branches)),
        *(b["seconds"] for b in branches),
    )
    return {
        "version": version,
        "dataset": dataset,
        "task": chosen.name,
        "folds": planned.folds,
        "objective": objective,
        "figure": figure,
        "seed": SEED,
        "labels": labels,
        "branches": [_on_this_machine(branch, table.core_speed) for branch in branches],
        "reasons": reasons,
        "seconds": {
            step: round(seconds / table.core_speed, 1)
            for step, seconds in (
                ("prepare", table.spark_start + (decoding + features) / table.cores),
                ("trial", trials),
                ("evaluate", table.spark_start + 0.25 * (decoding + features) / table.cores),
            )
        },
    }


def _on_this_machine(branch: Mapping[str, Any], core_speed: float) -> dict[str, Any]:
    """A branch with its times as they are on cores of that speed."""
    times = ("prepare_seconds", "seconds")
    return {**branch, **{name: round(branch[name] / core_speed, 2) for name in times}}


def _trained(counts: Mapping[str, int]) -> int:
    return int(counts.get("train", 0)) + int(counts.get("validation", 0))
