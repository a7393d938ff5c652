"""Challenger against champion on the same samples, where both can be right."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orchard.errors import BadInput
from orchard.tasks.base import Scores, Task


def compare(task: Task, challenger: Scores, champion: Scores) -> dict[str, Any]:
    """Both models' figures on their common ground.

    The common ground are samples whose true class both models know. Rows of both must be of the
    same samples in the same order.

    Returns:
        common_samples, all_samples, only_challenger (labels), only_champion (labels), challenger
        and champion (all figures of `Task.metrics`, None without common ground), gained (samples
        only the challenger has right), lost (only the champion), p_value (exact McNemar test: how
        likely a difference this large is if both are equally good).
    """
    if len(challenger.truth) != len(champion.truth):
        raise BadInput(
            "Two models were asked about different samples",
            value=f"{len(challenger.truth)} and {len(champion.truth)}",
        )
    common = (challenger.truth >= 0) & (champion.truth >= 0)
    both = _at(challenger, common), _at(champion, common)
    result: dict[str, Any] = {
        "common_samples": int(common.sum()),
        "all_samples": len(common),
        "only_challenger": sorted(set(challenger.labels) - set(champion.labels)),
        "only_champion": sorted(set(champion.labels) - set(challenger.labels)),
        "challenger": None,
        "champion": None,
        "gained": 0,
        "lost": 0,
        "p_value": 1.0,
    }
    if not common.any():
        return result
    rights = [one.scores.argmax(axis=1) == one.truth for one in both]
    gained = int((rights[0] & ~rights[1]).sum())
    lost = int((rights[1] & ~rights[0]).sum())
    return {
        **result,
        "challenger": task.metrics(both[0]),
        "champion": task.metrics(both[1]),
        "gained": gained,
        "lost": lost,
        "p_value": mcnemar(gained, lost),
    }


def mcnemar(gained: int, lost: int) -> float:
    """Two-sided exact McNemar test (binomial with share ½) over the samples that differ."""
    count = gained + lost
    if count == 0:
        return 1.0
    fewer = min(gained, lost)
    logs = [
        math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
        for k in range(fewer + 1)
    ]
    tail = sum(math.exp(value - count * math.log(2)) for value in logs)
    return min(1.0, 2 * tail)


def _at(scores: Scores, where: Any) -> Scores:
    return Scores(scores.labels, np.ascontiguousarray(scores.scores[where]), scores.truth[where])
