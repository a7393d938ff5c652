"""Words of a report's sentences."""

from __future__ import annotations

import re

from orchard.tasks.samples import LEAST_TO_TRAIN

MANY_WORDS_OF_CLASSES = 5


def percent(share: float) -> str:
    """A share for reading: 93 %, and 99.6 % where whole numbers would hide the rest."""
    value = 100 * share
    near_an_end = 0 < share < 1 and (value > 99 or value < 1)
    return f"{value:.1f} %" if near_an_end else f"{value:.0f} %"


def names(labels: list[str]) -> str:
    """Class names as a list in a sentence, shortened where it would get long."""
    shown = [f"“{label}”" for label in labels[:MANY_WORDS_OF_CLASSES]]
    more = len(labels) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def counted(count: int, word: str) -> str:
    """A number with its word: "1 picture", "2 pictures"."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def sentence(text: str) -> str:
    """Advice of the check step as a sentence, names in quotation marks."""
    quoted = re.sub(r"`([^`]*)`", r"“\1”", text)
    return f"{quoted[:1].upper()}{quoted[1:]}."


def too_few(name: str, count: int, word: str) -> str:
    """What becomes of a class, its name in quotation marks, with fewer than `LEAST_TO_TRAIN` training
    samples, in a task that trains such a class beside others."""
    more = LEAST_TO_TRAIN - count
    needed = f"{more} more {'is' if more == 1 else 'are'} needed"
    if not count:
        return f"{name} has no {word} to train on and is left out; {needed}"
    return (
        f"{name} has only {counted(count, word)} to train on; it is learnt from what there is, but "
        f"its figures mean little: {needed}"
    )
