"""The service's answer to a sample, in the form of EasyDL's classification APIs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.errors import BadInput

DEFAULT_TOP = 6


def response(
    scores: NDArray[np.float32], bundle: Mapping[str, Any], request: Mapping[str, Any]
) -> dict[str, Any]:
    """(K,) scores → {"results": [{"name", "score"}, …], "not_sure": bool}, best first.

    Args:
        bundle: the bundle's card; `labels` and `thresholds.not_sure` are read.
        request: `top_num` (default 6) says how many classes are answered at most.

    Raises:
        BadInput: `top_num` is no whole number from 1 on.
    """
    labels = bundle["labels"]
    count = top_of(request)
    order = np.argsort(-scores, kind="stable")[:count]
    results = [{"name": labels[index], "score": float(scores[index])} for index in order.tolist()]
    not_sure = float(scores.max()) < float(bundle["thresholds"]["not_sure"])
    return {"results": results, "not_sure": not_sure}


def top_of(request: Mapping[str, Any]) -> int:
    """How many classes a request asks for; digits as text are taken too. Raises BadInput."""
    value = request.get("top_num")
    if value is None:
        return DEFAULT_TOP
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadInput(
            "top_num must be a whole number from 1 on", value=value, way_out="Leave it out for 6"
        )
    return value


def difference(here: Mapping[str, Any], there: Mapping[str, Any]) -> float:
    """The largest difference of a class's score in two responses; infinite for other classes."""
    one, other = (
        {str(each["name"]): float(each["score"]) for each in response.get("results", [])}
        for response in (here, there)
    )
    if one.keys() != other.keys():
        return float("inf")
    return max((abs(one[name] - other[name]) for name in one), default=0.0)
