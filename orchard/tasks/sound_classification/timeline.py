"""Answers of recordings: the windows' scores with the times they stand for.

An answer is (R, 2 + K) float32: begin and end of each window in seconds, then its K scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.preprocess.sound import spans

Array = NDArray[np.float32]

TIMES = 2


def timed(scores: Array, length: int, operations: Sequence[Mapping[str, Any]]) -> Array:
    """(R, K) scores of a recording of `length` decoded samples → its answer."""
    times = np.asarray(spans(operations, length), np.float32)  # (R, 2)
    return np.concatenate([times, scores], axis=1, dtype=np.float32)


def scores_of(answer: Array) -> Array:
    """An answer's (R, K) scores."""
    return answer[:, TIMES:]


def timeline(answer: Array, labels: Sequence[str]) -> list[dict[str, Any]]:
    """The best class of each window: {"start", "end", "name", "score"}, times in seconds."""
    rows = []
    for row in answer:
        best = int(row[TIMES:].argmax())
        rows.append(
            {
                "start": round(float(row[0]), 3),
                "end": round(float(row[1]), 3),
                "name": labels[best],
                "score": float(row[TIMES + best]),
            }
        )
    return rows


def difference(here: Sequence[Mapping[str, Any]], there: Sequence[Mapping[str, Any]]) -> float:
    """The largest difference of a window's score; infinite for other windows.

    Where the windows' best classes differ their scores are nearly equal, or the difference shows
    in the scores of the whole recording; names are therefore not compared.
    """
    if [(each["start"], each["end"]) for each in here] != [
        (each["start"], each["end"]) for each in there
    ]:
        return float("inf")
    return max(
        (abs(a["score"] - b["score"]) for a, b in zip(here, there, strict=True)), default=0.0
    )
