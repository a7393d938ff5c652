"""Whether the answer to one picture is right, in words, and how bad it is if not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.tasks.base import Verdict
from orchard.tasks.object_detection.answers import counted
from orchard.tasks.object_detection.boxes import Truth, in_words, truth_of
from orchard.tasks.object_detection.errors import (
    BADLY_PLACED,
    BOTH,
    DOUBLE,
    INVENTED,
    MISSED,
    WRONG_CLASS,
    Mistake,
    outcome,
)

# A missed object of this side in pixels (where COCO's large ones begin) weighs like a false alarm
# of score 0.5.
_LARGE_SIDE = 96.0

_ORDER = (MISSED, WRONG_CLASS, BOTH, INVENTED, BADLY_PLACED, DOUBLE)


def verdict(answer: NDArray[np.float32], annotation: Any, card: Mapping[str, Any]) -> Verdict:
    """Right is an answer without an error at the recommended threshold.

    `confidence` is that of the worst error: the score of a box that should not be there as it is,
    or s / (s + 96) for a missed one of s × s pixels.
    """
    labels = card["labels"]
    truth = truth_of(annotation, labels)
    threshold = float(card["thresholds"]["default"])
    found = outcome(counted(answer, card), truth, threshold, len(labels))
    real = in_words(labels[index] for index in truth.classes[~truth.crowd])
    if not found.mistakes:
        numbers = enumerate(found.counted.tolist())
        said = in_words(labels[index] for index, number in numbers for _ in range(number))
        return Verdict(True, real, said, 0.0)
    parts = []
    for kind in _ORDER:
        own = [mistake for mistake in found.mistakes if mistake.kind == kind]
        if own:
            parts.append(_words(kind, in_words(_name(one, truth, labels) for one in own)))
    worst = max(_badness(mistake, truth) for mistake in found.mistakes)
    return Verdict(False, real, ", ".join(parts), worst)


def _words(kind: str, what: str) -> str:
    return {
        MISSED: f"missed {what}",
        INVENTED: f"invented {what}",
        WRONG_CLASS: f"took {what}",
        BOTH: f"took, at a bad place, {what}",
        BADLY_PLACED: f"placed badly {what}",
        DOUBLE: f"found twice {what}",
    }[kind]


def _name(mistake: Mistake, truth: Truth, labels: list[str]) -> str:
    if mistake.kind == MISSED:
        return str(labels[truth.classes[mistake.truth]])
    if mistake.kind in (WRONG_CLASS, BOTH):
        return f"{labels[truth.classes[mistake.truth]]} for {labels[mistake.found]}"
    return str(labels[mistake.found])


def _badness(mistake: Mistake, truth: Truth) -> float:
    if mistake.kind != MISSED:
        return min(1.0, mistake.score)
    side = math.sqrt(truth.boxes[mistake.truth, 2] * truth.boxes[mistake.truth, 3])
    return side / (side + _LARGE_SIDE)
