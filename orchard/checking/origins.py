"""Which sources, as a column of the labels tells them, are kept together, and which may be tested on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from orchard.checking import splits

PREFIX = "source:"
"""What the group of a source begins with; the groups of look-alikes are named by a sample's hash."""

MOST_TESTED = 0.5
"""Share of a class that sources may take to the test split together."""

_SHOWN = 6


class Row(NamedTuple):
    """How many labelled samples have this in common.

    Attributes:
        origin: their source, or None.
        label: their stratum.
        split: the split in which they are settled, or None.
        samples: how many there are.
        outside: how many are settled in a group that is no source's.
    """

    origin: str | None
    label: str
    split: str | None
    samples: int
    outside: int


@dataclass(frozen=True)
class Kept:
    """What is kept together.

    Attributes:
        held: each source of which new samples are kept together, and whether it is held back from
            the test split.
        notices: sentences for the person who brought the data, with the number of samples.
    """

    held: dict[str, bool] = field(default_factory=dict)
    notices: dict[str, int] = field(default_factory=dict)


def kept_together(rows: Iterable[Row], word: str, *, divided: bool) -> Kept:
    """The sources that are groups.

    One source for all new samples where there was none before, a source of its own for each, and so
    few that none would be tested on group nothing. Nor does a source of which samples have a place in
    other groups already. A source is held back from the test split where that would take more than
    `MOST_TESTED` of a class.

    Args:
        rows: all labelled samples of the version.
        word: what a sample is called.
        divided: whether the data bring a test split of their own.
    """
    known = [row for row in rows if row.samples]
    counts: Counter[str] = Counter()
    for row in known:
        if row.origin is not None:
            counts[row.origin] += row.samples
    samples, everything = counts.total(), sum(row.samples for row in known)
    if not counts:
        return Kept()
    unnamed = any(row.origin is None and row.split is None for row in known)
    before = any(row.origin is not None and row.split and not row.outside for row in known)
    if len(counts) == 1 and not unnamed and not before:
        text = f"A column says that all new {word}s come of one source: it keeps nothing together"
        return Kept(notices={text: samples})
    if len(counts) == samples:
        text = f"A column names another source for every {word}: it keeps nothing together"
        return Kept(notices={text: samples})
    spread = {row.origin for row in known if row.outside}
    together = {origin: count for origin, count in counts.items() if origin not in spread}
    held = _held(known, together)
    tested = divided or samples < everything or any(row.split == "test" for row in known)
    if not tested and not _some_tested(known, held):
        text = (
            f"A column tells the sources of {word}s, but they are too few to test on one of them: "
            f"{word}s of one source are in training and test"
        )
        return Kept(notices={text: samples})
    notices = {}
    if together:
        names = sorted(together)
        shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
        text = f"{word.capitalize()}s of one source stay in one split, as a column tells: {len(names):,} sources ({shown})"
        notices[text] = sum(together.values())
    if spread:
        text = f"A column tells the source of {word}s only now that others of it have their places: they are not kept together"
        notices[text] = sum(counts[origin] for origin in spread if origin is not None)
    return Kept(held, notices)


def _held(rows: list[Row], together: Iterable[str]) -> dict[str, bool]:
    """The sources with new samples, and whether each is held back: in the order of their hashes,
    which is that of the test split, each may go there while its classes keep enough."""
    room: Counter[str] = Counter()
    classes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row.split != "test":
            room[row.label] += row.samples
        if row.origin is not None and row.split is None:
            classes[row.origin][row.label] += row.samples
    left = {label: count * MOST_TESTED for label, count in room.items()}
    held = {}
    fresh = [origin for origin in together if origin in classes]
    for origin in sorted(fresh, key=lambda each: (splits.share_digits(PREFIX + each), each)):
        held[origin] = any(count > left[label] for label, count in classes[origin].items())
        if not held[origin]:
            for label, count in classes[origin].items():
                left[label] -= count
    return held


def _some_tested(rows: list[Row], held: dict[str, bool]) -> bool:
    """Whether a test split comes of the sources, which are ranked by class where they hold one."""
    labels: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.origin in held:
            labels[row.origin].add(row.label)
    groups: Counter[str] = Counter()
    free: Counter[str] = Counter()
    for origin, found in labels.items():
        stratum = next(iter(found)) if len(found) == 1 else ""
        groups[stratum] += 1
        free[stratum] += not held[origin]
    return any(splits.test_groups_of_new_class(groups[each]) and free[each] for each in groups)
