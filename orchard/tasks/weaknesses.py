"""Where a model is weak, out of figures that tasks with classes have alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orchard.tasks.reporting import Finding
from orchard.tasks.wording import names


@dataclass(frozen=True)
class Mixed:
    """Two classes: `wrong` of `support` samples or objects of `truth` were called `answer`."""

    truth: str
    answer: str
    wrong: int
    support: int


def weak_classes(
    rows: Mapping[str, Mapping[str, Any]],
    below: float,
    most: int,
    told: Callable[[str, Mapping[str, Any]], str],
) -> list[Finding]:
    """A sentence about each of the weakest classes, and one that names the rest.

    Args:
        rows: figures by class, with `support` and `recall`.
        below: a class with a recall below it is weak.
        told: class and its figures → the sentence.
    """
    weak = sorted(
        (label for label, row in rows.items() if row["support"] and row["recall"] < below),
        key=lambda label: (rows[label]["recall"], label),
    )
    found = [Finding("problem", told(label, rows[label])) for label in weak[:most]]
    if len(weak) > most:
        found.append(Finding("problem", f"Also weak: {names(weak[most:])}."))
    return found


def mixed_up(
    confusion: Mapping[str, Any], most: int, least: int, least_share: float = 0.0
) -> list[Mixed]:
    """The pairs of classes that are mixed up most often, the worst first.

    Args:
        confusion: `labels`, and the `matrix` of counts, a row for each true class.
        least: how many must be wrong; least_share: of those of the true class.
    """
    labels, matrix = confusion["labels"], confusion["matrix"]
    pairs = [
        Mixed(labels[row], labels[column], matrix[row][column], sum(matrix[row]))
        for row in range(len(labels))
        for column in range(len(labels))
        if row != column and matrix[row][column] >= max(1, least, least_share * sum(matrix[row]))
    ]
    pairs.sort(key=lambda pair: (-pair.wrong, -pair.wrong / pair.support, pair.truth, pair.answer))
    return pairs[:most]
