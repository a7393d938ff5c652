"""Which recordings come of one source (a voice, a machine, a microphone), as their names tell.

Recordings of one voice are alike. Where some of them are trained on and others tested on, the test
says little about the next voice, so recordings of one source belong into one split.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PureWindowsPath

LEAST_SOURCES = 4
"""With fewer, a fifth of the sources is none."""
LEAST_RECORDINGS = 3
"""Of each source in each class, on average."""
COVER = 0.95
"""Share of the pairs of source and class that must have a recording."""
_SEPARATORS = re.compile(r"[_\-. ]+")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class Sources:
    """What the names tell.

    Attributes:
        sources: the source of each recording.
        position: which part of the name says so, from 1.
        notice: a sentence for the person who brought the recordings.
    """

    sources: tuple[str, ...]
    position: int
    notice: str


def sources_of_names(paths: Sequence[str], labels: Sequence[str]) -> Sources | None:
    """The sources of labelled recordings, or None where the names do not tell them for certain.

    A name (without folder and ending) is cut into parts at `_`, `-`, `.` and blanks. A part tells
    the source where all names have the same number of parts, and at its place

    - every value holds a letter (numbers alone count takes: `7_jackson_32`),
    - there are `LEAST_SOURCES` values or more, each with `LEAST_RECORDINGS` recordings a class or
      more on average, and
    - the values occur with every class, up to a few missing pairs (`COVER`), so that they are
      neither the class nor a kind of it,

    and where no other place does.

    Args:
        paths: of the recordings; labels: their class names, in the same order.
    """
    cut = [_SEPARATORS.split(PureWindowsPath(path).stem) for path in paths]
    if not cut or len({len(parts) for parts in cut}) != 1 or len(set(labels)) < 2:
        return None
    columns = list(zip(*cut, strict=True))
    places = [place for place, column in enumerate(columns) if _tells(column, labels)]
    if len(places) != 1:
        return None
    column = columns[places[0]]
    values = sorted(set(column))
    shown = ", ".join(values[:6]) + (", …" if len(values) > 6 else "")
    return Sources(
        tuple(column),
        places[0] + 1,
        f"Part {places[0] + 1} of the names ({shown}) occurs with every class and is taken for the "
        f"source of a recording: recordings of one of the {len(values)} sources stay in one split.",
    )


def _tells(column: Sequence[str], labels: Sequence[str]) -> bool:
    counts = Counter(column)
    classes = set(labels)
    least = LEAST_RECORDINGS * len(classes)
    if len(counts) < LEAST_SOURCES or min(counts.values()) < least:
        return False
    if not all(_LETTER.search(value) for value in counts):
        return False
    met = defaultdict(set)
    for value, label in zip(column, labels, strict=True):
        met[value].add(label)
    pairs = sum(len(each) for each in met.values())
    return pairs >= COVER * len(counts) * len(classes)
