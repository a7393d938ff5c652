"""Boxes around masks in COCO's run-length encoding.

Source: `common/maskApi.h` of cocodataset/cocoapi. A mask is read column by column; counts say in
turn how many pixels are outside and inside. Compressed, each count is a number of 6 bits a
character, from the third on as the difference to the one two before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def box_around(mask: Any) -> tuple[int, int, int, int] | None:
    """(left, top, right, bottom) of {"size": [height, width], "counts": …}; None where it is none."""
    if not isinstance(mask, dict) or not isinstance(mask.get("size"), list):
        return None
    counts = mask.get("counts")
    try:
        height = int(mask["size"][0])
        runs = (
            _expanded(counts) if isinstance(counts, str) else [int(each) for each in counts or ()]
        )
    except (ValueError, TypeError, IndexError):
        return None
    return _box(runs, height) if height > 0 and all(run >= 0 for run in runs) else None


def _expanded(counts: str) -> list[int]:
    """The numbers of a compressed list. Raises IndexError where it ends within one."""
    runs: list[int] = []
    at = 0
    while at < len(counts):
        value, digits, more = 0, 0, True
        while more:
            code = ord(counts[at]) - 48
            value |= (code & 0x1F) << (5 * digits)
            more = bool(code & 0x20)
            at, digits = at + 1, digits + 1
            if not more and code & 0x10:
                value |= -1 << (5 * digits)
        runs.append(value + runs[-2] if len(runs) > 2 else value)
    return runs


def _box(runs: Sequence[int], height: int) -> tuple[int, int, int, int] | None:
    first_column, last_column, top, bottom = None, 0, height, -1
    at = 0
    for number, run in enumerate(runs):
        if number % 2 and run:
            (column, row), (other_column, other_row) = (
                divmod(at, height), divmod(at + run - 1, height)
            )  # fmt: skip
            whole = column != other_column
            first_column = column if first_column is None else first_column
            last_column = other_column
            top = min(top, 0 if whole else row)
            bottom = max(bottom, height - 1 if whole else other_row)
        at += run
    return None if first_column is None else (first_column, top, last_column + 1, bottom + 1)
