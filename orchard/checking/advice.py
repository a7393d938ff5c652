"""Whether a version is enough to train on, and what would make it better, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchard.tasks.base import LEAST_TO_TRAIN, Task
from orchard.tasks.wording import too_few

WANTED_PER_CLASS = 20
"""Samples a class should have before its figures mean something."""

IMBALANCE = 10
"""A class with this many times the samples of another is told."""

_SHOWN = 5


@dataclass(frozen=True)
class Advice:
    """`reasons` say why nothing can be trained (none: it can), `advice` what would help."""

    reasons: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)

    @property
    def trainable(self) -> bool:
        return not self.reasons


def advise(labels: Mapping[str, Mapping[str, int]], task: Task) -> Advice:
    """Judge the counts of a version: label → split → number of samples that hold it."""
    found = Advice()
    sample_word, least_classes = task.sample_word, task.least_classes
    if len(labels) < least_classes:
        named = "".join(f" (only `{name}`)" for name in labels)
        found.reasons.append(
            f"At least {least_classes} class{'es' if least_classes > 1 else ''} with "
            f"{sample_word}s {'are' if least_classes > 1 else 'is'} needed, "
            f"there {'is 1' if labels else 'are none'}{named}"
        )
    totals = {name: sum(splits.values()) for name, splits in labels.items()}
    small = {name for name, splits in labels.items() if splits.get("train", 0) < LEAST_TO_TRAIN}
    goes_on = task.trains_small_classes and len(labels) - len(small) >= least_classes
    for name, splits in labels.items():
        training = splits.get("train", 0)
        if name in small and goes_on:
            found.advice.append(too_few(f"`{name}`", training, sample_word))
            continue
        if name in small:
            found.reasons.append(
                f"`{name}` has {training} {sample_word}s to train on; "
                f"at least {LEAST_TO_TRAIN} are needed"
            )
        if totals[name] < WANTED_PER_CLASS:
            found.advice.append(f"{WANTED_PER_CLASS - totals[name]} more of `{name}`, please")
        elif splits.get("test", 0) == 0:
            found.advice.append(f"`{name}` has nothing in the test split; its figures are unknown")
    if totals:
        most, least = (
            max(totals, key=lambda n: (totals[n], n)),
            min(totals, key=lambda n: totals[n]),
        )
        if totals[most] >= IMBALANCE * max(totals[least], 1):
            found.advice.append(
                f"`{most}` has {totals[most]} {sample_word}s and `{least}` only {totals[least]}; "
                f"more of `{least}` would help most"
            )
    if labels and not any(splits.get("test", 0) for splits in labels.values()):
        found.reasons.append(f"No {sample_word} is in the test split, so nothing can be measured")
    return found


def headline(found: Advice) -> str:
    """The reasons as one sentence, the first few of many."""
    more = len(found.reasons) - _SHOWN
    return "; ".join(found.reasons[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
