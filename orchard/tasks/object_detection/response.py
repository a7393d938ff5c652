"""The service's answer to a picture, in the form of EasyDL's object detection API."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.errors import BadInput
from orchard.tasks.object_detection.answers import LEAST_SCORE, MOST_BOXES, counted

_SAME_PIXELS = 1


def response(
    answer: NDArray[np.float32], card: Mapping[str, Any], request: Mapping[str, Any]
) -> dict[str, Any]:
    """(M, 6) → {"results": [{"name", "score", "location"}, …]}, best first.

    `location` is {"left", "top", "width", "height"} in whole pixels of the upright picture, at
    least one pixel wide and high.

    Args:
        card: the bundle's card; `labels` and of `thresholds` `default` and `across` are read.
        request: `threshold` (default: the model's own) is the score that a box must reach.

    Raises:
        BadInput: `threshold` is no number from 0 to 1.
    """
    limit = threshold_of(request, float(card["thresholds"]["default"]))
    answer = counted(answer, card)
    order = np.argsort(-answer[:, 1], kind="stable")
    results = [
        {
            "name": card["labels"][int(row[0])],
            "score": row[1],
            "location": _location(*row[2:]),
        }
        for row in answer[order].tolist()
        if row[1] >= limit
    ]
    return {"results": results}


def threshold_of(request: Mapping[str, Any], default: float) -> float:
    """The threshold a request asks for; a number as text is taken too. Raises BadInput."""
    given = request.get("threshold")
    if given is None:
        return default
    value = given
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = None
    # NaN is in no range.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadInput(
            "threshold must be a number from 0 to 1",
            value=given,
            way_out=f"Leave it out for the model's own, {default:g}",
        )
    return float(value)


def parity_request() -> dict[str, Any]:
    """The parameters with which `response` shows every box of an answer."""
    return {"threshold": 0}


def difference(here: Mapping[str, Any], there: Mapping[str, Any]) -> float:
    """The largest difference of a score between two responses; inf where their form differs.

    Boxes are the same where name and place are (within a pixel, for rounding). A box that only one
    response has can have stayed below the lowest score, or behind the most boxes, of the other: it
    counts with the difference that this needs at least.
    """
    try:
        one, other = list(here["results"]), list(there["results"])
        return max(_beyond(one, other), _beyond(other, one))
    except (KeyError, TypeError, AttributeError):
        return math.inf


def _beyond(results: list[Any], others: list[Any]) -> float:
    floor = others[-1]["score"] if len(others) >= MOST_BOXES else LEAST_SCORE
    largest, free = 0.0, list(others)
    for result in results:
        same = [other for other in free if _same_place(result, other)]
        if same:
            nearest = min(same, key=lambda other: abs(other["score"] - result["score"]))
            free.remove(nearest)
            largest = max(largest, abs(nearest["score"] - result["score"]))
        else:
            largest = max(largest, result["score"] - floor)
    return float(largest)


def _same_place(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    mine, theirs = one["location"], other["location"]
    return one["name"] == other["name"] and all(
        abs(mine[side] - theirs[side]) <= _SAME_PIXELS * (1 if side in ("left", "top") else 2)
        for side in ("left", "top", "width", "height")
    )


def _location(left: float, top: float, width: float, height: float) -> dict[str, int]:
    x, columns = _whole(left, left + width)
    y, rows = _whole(top, top + height)
    return {"left": x, "top": y, "width": columns, "height": rows}


def _whole(low: float, high: float) -> tuple[int, int]:
    """The nearest whole pixels of an edge pair, as start and length; inside the picture if it is."""
    start = max(0, min(math.floor(low + 0.5), math.ceil(high) - 1))
    return start, max(1, math.floor(high + 0.5) - start)
