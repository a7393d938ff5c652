"""Class names that differ only in case, white space or Unicode form are one class."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping


def tidy(name: str) -> str:
    """The name in Unicode's composed form (NFC) with single spaces and none at the ends."""
    return " ".join(unicodedata.normalize("NFC", name).split())


def folded(name: str) -> str:
    """What two spellings of one class have in common: NFKC, case folding, single spaces."""
    once = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(unicodedata.normalize("NFKC", once).split())


def canonical_names(counts: Mapping[str, int], settled: Iterable[str] = ()) -> dict[str, str]:
    """For each spelling the one that is used: a settled one, else the most frequent.

    Args:
        counts: spelling → how often it occurs.
        settled: class names of the version before; they stay as they are.

    Returns:
        spelling → name. Equally frequent spellings: the first in code point order.
    """
    kept = {folded(name): name for name in sorted(settled, reverse=True)}
    tidied: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for name, count in counts.items():
        tidied[folded(name)][tidy(name)] += count
    chosen = {
        key: kept.get(key) or min(spellings, key=lambda name: (-spellings[name], name))
        for key, spellings in tidied.items()
    }
    return {name: chosen[folded(name)] for name in counts}


def renamed_labels(counts: Mapping[str, int], names: Mapping[str, str]) -> list[dict[str, object]]:
    """The spellings that were replaced, as {from, to, count}, sorted."""
    return [
        {"from": name, "to": names[name], "count": counts[name]}
        for name in sorted(counts)
        if names[name] != name
    ]
