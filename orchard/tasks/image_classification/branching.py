"""Which branches a picture classifier's search has, for how much time there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchard.classification import planning
from orchard.preprocess import feature_key, normalised, standard
from orchard.tasks.base import Ask, Planned
from orchard.tasks.costs import Costs

LITE0, LITE1, LITE2 = (f"efficientnet-lite{number}" for number in range(3))

LADDER: tuple[tuple[tuple[str, int, int], ...], ...] = (
    ((LITE0, 224, 1), (LITE1, 224, 1), (LITE2, 224, 1)),
    ((LITE0, 224, 1), (LITE1, 256, 1), (LITE2, 288, 1)),
    ((LITE0, 224, 2), (LITE1, 256, 2), (LITE2, 288, 2)),
    ((LITE0, 224, 2), (LITE1, 256, 2), (LITE2, 288, 2), (LITE2, 320, 2)),
)
"""Sets of branches (backbone, size, views) from cheap to dear; the dearest that fits is taken.

More time goes into a larger backbone rather than into a small one at a large size: frozen features
are best at 1 to 1.3 times the size that a network was trained at (Touvron et al. 2019,
arXiv:1906.06423), here 224, 240 and 260 pixels."""

SMALL_LADDER: tuple[tuple[tuple[str, int, int], ...], ...] = (
    ((LITE0, 160, 1), (LITE1, 160, 1), (LITE2, 160, 1)),
    ((LITE0, 160, 2), (LITE0, 224, 2), (LITE1, 192, 2), (LITE2, 192, 2)),
    ((LITE0, 160, 2), (LITE0, 224, 2), (LITE1, 224, 2), (LITE2, 192, 2), (LITE2, 224, 2)),
)
"""The same for pictures that have no more detail than that."""

SMALL_SIDE = 160
"""Pictures whose longer side is at most this are not blown up as far as the others."""

FINE_TUNED = (LITE0, 224)
FINE_TUNED_SAMPLES = 300
"""With fewer, training from pixels learns the samples by heart."""
FINE_TUNED_EPOCHS = 12
UNFROZEN_BLOCKS = 6
FINE_TUNED_VIEWS = 4
FINE_TUNE_SHARE = 0.35
"""Share of the minutes that a fine-tuned branch may take."""

VIEWS = ("plain", "mirror")
LONG_SIDE = 1.8
"""Above that ratio of the sides, squashing bends shapes too much."""


def plan(ask: Ask) -> Planned:
    """The dearest set of branches whose features fit into the time; the cheapest one at least.

    A fine-tuned branch joins where its own estimate fits into its share of the minutes.

    Raises:
        BadInput: there are fewer than two classes.
    """
    planning.check_classes(ask)
    parts = planning.folds(ask)
    choices = _choices(ask)
    frozen = sum(choice["mode"] == "frozen" for choice in choices)
    work = planning.work(ask, parts, frozen)
    return Planned(
        parts,
        [_branch(ask, choice, work, parts) for choice in choices],
        decode_seconds(ask.summary, ask.costs),
    )


def _choices(ask: Ask) -> list[dict[str, Any]]:
    fit = _fit(ask.summary, ask.reasons)
    decoding = decode_seconds(ask.summary, ask.costs)
    small = max(_median(ask.summary)) <= SMALL_SIDE
    known = [_known(rung, ask.cards) for rung in (SMALL_LADDER if small else LADDER)]
    if small:
        ask.reasons.append("the pictures are small, so they are not blown up far")
    seconds = planning.PREPARE_SHARE * ask.seconds * ask.costs.cores
    chosen = known[0]
    for rung in known:
        cost = decoding + sum(
            ask.costs.prepare_sample(size * size, ask.cards[name], views)
            for name, size, views in rung
        )
        if ask.samples * cost <= seconds:
            chosen = rung
    sizes = ", ".join(f"{size}" for size in sorted({size for _, size, _ in chosen}))
    mirrored = any(views > 1 for *_, views in chosen)
    ask.reasons.append(
        f"{len(chosen)} branches, pictures of {sizes} pixels{', also mirrored' if mirrored else ''}: "
        "the largest set whose features fit into the time"
    )
    choices = [_choice(name, size, fit, views, ask.cards) for name, size, views in chosen]
    return choices + _fine_tuned(choices, ask)


def _branch(
    ask: Ask, choice: Mapping[str, Any], work: Mapping[str, Any], parts: int
) -> dict[str, Any]:
    card = ask.cards[choice["backbone"]]
    size, views = int(choice["size"]), len(choice["views"])
    seconds = planning.trial_seconds(ask, parts, float(card["feature_count"]), views, work)
    choice = dict(choice)
    seconds += choice.pop("extra_seconds", 0.0)
    own = choice["mode"] == "frozen"  # a fine-tuned branch takes the features of a frozen one
    prepare = ask.samples * ask.costs.prepare_sample(size * size, card, views) if own else 0.0
    return {
        **choice,
        "preprocessing": normalised(standard(size, choice["fit"]), card["normalisation"]),
        "feature_key": feature_key(choice["backbone"], f"{size}-{choice['fit']}", card["sha256"]),
        "work": {**work, **choice.get("work", {})},
        "prepare_seconds": round(prepare, 2),
        "seconds": round(seconds, 1),
    }


def _fine_tuned(choices: Sequence[Mapping[str, Any]], ask: Ask) -> list[dict[str, Any]]:
    """The fine-tuned branch, or none; its features are those of a frozen branch."""
    name, size = FINE_TUNED
    frozen = [each for each in choices if (each["backbone"], each["size"]) == (name, size)]
    seconds = ask.costs.fine_tune(ask.samples, size, FINE_TUNED_EPOCHS, FINE_TUNED_VIEWS, ask.gpus)
    allowed = FINE_TUNE_SHARE * ask.minutes * 60
    if not frozen or ask.samples < FINE_TUNED_SAMPLES:
        return []
    if seconds > allowed:
        ask.reasons.append(
            f"no fine-tuning from pixels: it would take about {seconds / 60:.0f} minutes, "
            f"{allowed / 60:.0f} are there for it"
        )
        return []
    ask.reasons.append(
        f"a branch is fine-tuned from pixels, about {max(1, seconds / 60):.0f} minutes"
        + (" on a GPU" if ask.gpus else "")
    )
    return [
        {
            **frozen[0],
            "key": f"{frozen[0]['key']}-fine-tuned",
            "title": f"{frozen[0]['title']} · fine-tuned",
            "mode": "fine_tuned",
            "gpus": min(1, ask.gpus),
            "work": {"fine_tune_epochs": FINE_TUNED_EPOCHS, "unfrozen_blocks": UNFROZEN_BLOCKS},
            "extra_seconds": round(seconds, 1),
        }
    ]


def decode_seconds(summary: Mapping[str, Any], costs: Costs) -> float:
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
        "pixels": size * size,
        "mode": "frozen",
        "views": list(VIEWS[:views]),
    }
