"""Which branches a sound classifier's search has, for how much time there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchard.classification import planning
from orchard.decode.sound import SOUND_RATE
from orchard.preprocess import feature_key
from orchard.preprocess.sound import mel_operation, standard
from orchard.tasks.base import Ask, Planned
from orchard.tasks.sound_classification import scratch

SPEECH = "speech-embedding"
LITE0, LITE1, LITE2 = (f"efficientnet-lite{number}" for number in range(3))

Rung = tuple[tuple[str, tuple[str, ...]], ...]

LADDER: tuple[Rung, ...] = (
    ((SPEECH, ("plain",)),),
    ((SPEECH, ("plain", "slow", "fast")), (LITE0, ("plain",))),
    ((SPEECH, ("plain", "slow", "fast", "noise")), (LITE0, ("plain", "shift"))),
    (
        (SPEECH, ("plain", "slow", "fast", "noise", "shift")),
        (LITE0, ("plain", "shift", "noise")),
        (LITE1, ("plain", "shift")),
    ),
    (
        (SPEECH, ("plain", "slow", "fast", "noise", "shift", "quiet")),
        (LITE0, ("plain", "shift", "noise", "mask")),
        (LITE1, ("plain", "shift", "noise", "mask")),
        (LITE2, ("plain", "shift")),
    ),
)
"""Sets of branches (backbone, views) from cheap to dear; the dearest that fits is taken."""

WINDOWS = (1.5, 2.0, 3.0, 5.0)
"""Seconds of a window: the first that is not shorter than the recording of middle length."""
MOST_TRAINING_WINDOWS = 4
"""Of a long recording in training, spread evenly; an answer looks at all of it."""

BANDS, COLUMNS = 128, 224
"""Rows and columns of the spectrogram that a picture backbone sees."""
MEL_SECONDS = 0.004
"""Seconds of a core to draw one."""
DECODE_SECOND = 0.004
"""Seconds of a core to read a second of sound and change its rate."""


def plan(ask: Ask) -> Planned:
    """The dearest set of branches whose features fit into the time; the cheapest one at least.

    A network from scratch joins where they leave it time.

    Raises:
        BadInput: there are fewer than two classes.
    """
    planning.check_classes(ask)
    parts = planning.folds(ask)
    seconds, count = window(ask.summary)
    said = f"windows of {seconds:g} seconds" + (
        f", {count} of them from a recording" if count > 1 else ""
    )
    ask.reasons.append(f"recordings of {_median(ask.summary):.1f} seconds are heard in {said}")
    decoding = DECODE_SECOND * _median(ask.summary)
    allowed = planning.PREPARE_SHARE * ask.seconds * ask.costs.cores
    known = [rung for rung in (_known(rung, ask) for rung in LADDER) if rung]
    chosen = known[0]
    for rung in known:
        cost = decoding + sum(_prepare(ask, name, views, seconds, count) for name, views in rung)
        if ask.samples * cost <= allowed:
            chosen = rung
    views = len({view for _, each in chosen for view in each})
    ask.reasons.append(
        f"{len(chosen)} branch{'es' if len(chosen) > 1 else ''}"
        f"{f', in up to {views} views' if views > 1 else ''}: the largest set whose features fit "
        "into the time"
    )
    work = planning.work(ask, parts, len(chosen))
    branches = [_branch(ask, name, each, seconds, count, work, parts) for name, each in chosen]
    branches += scratch.branches(ask, parts, seconds, count, decoding, branches)
    return Planned(parts, branches, decoding)


def window(summary: Mapping[str, Any]) -> tuple[float, int]:
    """Seconds of a window, and how many windows a training recording has."""
    median = _median(summary)
    seconds = next((each for each in WINDOWS if each >= median), WINDOWS[-1])
    return seconds, max(1, min(MOST_TRAINING_WINDOWS, round(median / seconds)))


def operations(name: str, seconds: float, count: int) -> list[dict[str, Any]]:
    """Preprocessing for a backbone: raw windows, or pictures of them.

    Args:
        count: windows of each recording; 0 for as many as it needs.
    """
    if name == SPEECH:
        return standard(round(seconds * SOUND_RATE), count=count, fill="zeros")
    hop = round(seconds * SOUND_RATE / COLUMNS)
    return [*standard(hop * COLUMNS, count=count, fill="zeros"), mel_operation(hop, bands=BANDS)]


def _branch(
    ask: Ask,
    name: str,
    views: tuple[str, ...],
    seconds: float,
    count: int,
    work: Mapping[str, Any],
    parts: int,
) -> dict[str, Any]:
    card = ask.cards[name]
    features = float(card["feature_count"]) * count
    words = f"{seconds:g}s-{count}" + ("" if name == SPEECH else f"-{BANDS}x{COLUMNS}")
    short = name.removeprefix("efficientnet-")
    heard = "raw sound" if name == SPEECH else "spectrogram"
    return {
        "key": f"{short}-{seconds:g}s".replace(".", "_"),
        "title": f"{str(card['title']).removeprefix('EfficientNet-')} · {heard} · {seconds:g} s",
        "backbone": name,
        "mode": "frozen",
        "views": list(views),
        "windows": count,
        "pixels": round(seconds * SOUND_RATE) if name == SPEECH else BANDS * COLUMNS,
        "preprocessing": operations(name, seconds, count),
        "answer_preprocessing": operations(name, seconds, 0),
        "feature_key": feature_key(name, words, card["sha256"]),
        "work": dict(work),
        "gpus": 0,
        "prepare_seconds": round(ask.samples * _prepare(ask, name, views, seconds, count), 2),
        "seconds": round(planning.trial_seconds(ask, parts, features, len(views), work), 1),
    }


def _prepare(ask: Ask, name: str, views: tuple[str, ...], seconds: float, count: int) -> float:
    """Seconds of a core for one recording's features, without its decoding."""
    card = ask.cards[name]
    if name == SPEECH:
        each = float(card["milliseconds_per_second"]) / 1000 * seconds
        return len(views) * count * each
    graph = ask.costs.prepare_sample(BANDS * COLUMNS, card, len(views))
    return count * (graph + MEL_SECONDS)


def _median(summary: Mapping[str, Any]) -> float:
    """Seconds of the recording of middle length; the judge notes them as a width in milliseconds."""
    width, _ = (summary.get("sizes") or {}).get("median") or (2000, 1)
    return int(width) / 1000


def _known(rung: Rung, ask: Ask) -> Rung:
    return tuple(entry for entry in rung if entry[0] in ask.cards)
