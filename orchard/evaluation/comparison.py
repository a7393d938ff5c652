"""Challenger against champion on the same samples, where both can be right."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchard.errors import BadInput
from orchard.tasks.base import Answers, Task


@dataclass(frozen=True)
class Side:
    """A model in a comparison: its answers and its bundle's card."""

    answers: Answers
    card: Mapping[str, Any]


def compare(task: Task, challenger: Side, champion: Side) -> dict[str, Any]:
    """Both models' figures on their common ground.

    The common ground are samples of whose true classes both models know all. Answers of both must
    be of the same samples in the same order.

    Returns:
        common_samples, all_samples, only_challenger (labels), only_champion (labels), challenger
        and champion (all figures of `Task.metrics`, None without common ground), gained (samples
        only the challenger has right), lost (only the champion), p_value (exact McNemar test: how
        likely a difference this large is if both are equally good).
    """
    one, other = challenger.answers, champion.answers
    if len(one.truths) != len(other.truths):
        raise BadInput(
            "Two models were asked about different samples",
            value=f"{len(one.truths)} and {len(other.truths)}",
        )
    common = [
        row
        for row, truth in enumerate(one.truths)
        if task.knows(truth, one.labels) and task.knows(truth, other.labels)
    ]
    result: dict[str, Any] = {
        "common_samples": len(common),
        "all_samples": len(one.truths),
        "only_challenger": sorted(set(one.labels) - set(other.labels)),
        "only_champion": sorted(set(other.labels) - set(one.labels)),
        "challenger": None,
        "champion": None,
        "gained": 0,
        "lost": 0,
        "p_value": 1.0,
    }
    if not common:
        return result
    figures, rights = [], []
    for side in (challenger, champion):
        answers = side.answers.take(common)
        figures.append(task.metrics(answers, side.card))
        rights.append(
            [
                task.verdict(answer, truth, side.card).right
                for answer, truth in zip(answers.answers, answers.truths, strict=True)
            ]
        )
    gained = sum(new and not old for new, old in zip(*rights, strict=True))
    lost = sum(old and not new for new, old in zip(*rights, strict=True))
    return {
        **result,
        "challenger": figures[0],
        "champion": figures[1],
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
