"""Words of a report's sentences."""

from __future__ import annotations

import re

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
