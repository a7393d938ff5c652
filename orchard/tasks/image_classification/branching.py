"""Which branches a picture classifier's search has, for how much time there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

LITE0, LITE1, LITE2 = (f"efficientnet-lite{number}" for number in range(3))

LADDER: tuple[tuple[tuple[str, int, int], ...], ...] = (
    ((LITE0, 224, 1), (LITE1, 224, 1), (LITE2, 224, 1)),
    ((LITE0, 224, 1), (LITE1, 256, 1), (LITE2, 288, 1)),
    ((LITE0, 224, 2), (LITE1, 256, 2), (LITE2, 288, 2)),
    ((LITE0, 224, 2), (LITE1, 288, 2), (LITE2, 320, 2)),
    ((LITE0, 320, 2), (LITE1, 320, 2), (LITE2, 320, 2), (LITE2, 384, 2)),
)
"""Sets of branches (backbone, size, views) from cheap to dear; the dearest that fits is taken."""

VIEWS = ("plain", "mirror")
LONG_SIDE = 1.8
"""Above that ratio of the sides, squashing bends shapes too much."""


class SampleCosts(Protocol):
    """The part of the cost table that is needed here (see `orchard.planning.costs.Costs`)."""

    decode_megapixel: float

    def prepare_sample(
        self, branch: Mapping[str, Any], card: Mapping[str, Any], views: int
    ) -> float: ...


def choose(
    *,
    summary: Mapping[str, Any],
    cards: Mapping[str, Mapping[str, Any]],
    samples: int,
    seconds: float,
    gpus: int,
    costs: SampleCosts,
    reasons: list[str],
) -> list[dict[str, Any]]:
    """The branches whose features cost at most `seconds` of a core; the cheapest set at least.

    Says why in `reasons`.
    """
    fit = _fit(summary, reasons)
    decoding = decode_seconds(summary, costs)
    known = [_known(rung, cards) for rung in LADDER]
    chosen = known[0]
    for rung in known:
        cost = decoding + sum(
            costs.prepare_sample({"size": size}, cards[name], views) for name, size, views in rung
        )
        if samples * cost <= seconds:
            chosen = rung
    sizes = ", ".join(f"{size}" for _, size, _ in chosen)
    mirrored = any(views > 1 for *_, views in chosen)
    reasons.append(
        f"pictures of {sizes} pixels{', also mirrored' if mirrored else ''}: "
        "the largest set of branches whose features fit into the time"
    )
    return [_choice(name, size, fit, views, cards) for name, size, views in chosen]


def decode_seconds(summary: Mapping[str, Any], costs: SampleCosts) -> float:
    """Seconds of a core to read one picture of middle size."""
    width, height = _median(summary)
    return costs.decode_megapixel * width * height / 1e6


def _fit(summary: Mapping[str, Any], reasons: list[str]) -> str:
    width, height = _median(summary)
    ratio = max(width, height) / max(1, min(width, height))
    if ratio > LONG_SIDE:
        reasons.append(f"pictures are {ratio:.1f} times as long as wide, so they are padded")
        return "pad"
    reasons.append("pictures are squashed to a square, which keeps all of each")
    return "squash"


def _median(summary: Mapping[str, Any]) -> tuple[int, int]:
    width, height = (summary.get("sizes") or {}).get("median") or (640, 480)
    return int(width), int(height)


def _known(
    rung: Sequence[tuple[str, int, int]], cards: Mapping[str, Mapping[str, Any]]
) -> list[tuple[str, int, int]]:
    return [entry for entry in rung if entry[0] in cards]


def _choice(
    name: str, size: int, fit: str, views: int, cards: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    short = name.removeprefix("efficientnet-")
    title = str(cards[name]["title"]).removeprefix("EfficientNet-")
    return {
        "key": f"{short}-{size}-{fit}",
        "title": f"{title} · {size} px · {fit}",
        "backbone": name,
        "size": size,
        "fit": fit,
        "views": list(VIEWS[:views]),
    }
