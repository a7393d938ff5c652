"""The branch of a small network that learns from scratch, and when it joins a search.

Pretrained embeddings win more often and take less time, so it has only what they leave: its work is
planned after theirs is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchard.decode.sound import SOUND_RATE
from orchard.preprocess import feature_key
from orchard.preprocess.sound import standard
from orchard.tasks.base import Ask

LOG_MEL = "log-mel"
"""Name of the graph that makes the spectrograms."""
MODE = "from_scratch"
LEAST_EPOCHS, MOST_EPOCHS = 16, 60
"""Fewer teach nothing that would win; more only learn the recordings by heart."""
SHARE = 0.7
"""Of the time that the other branches leave; the rest is a reserve."""
LEAST_SAMPLES = 60
"""With fewer, a pretrained embedding is always better."""
VIEWS = ("plain", "slow", "fast")
"""What cannot be done to a spectrogram; all other changes are drawn anew at each visit."""


def branches(
    ask: Ask,
    parts: int,
    seconds: float,
    count: int,
    decoding: float,
    others: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """The branch, or none; the reason why is added to the ask's.

    Args:
        parts: of the cross-validation; 0 for none.
        seconds: of a window; count: windows of a recording in training.
        decoding: seconds of a core to read a recording.
        others: the branches that are planned already.
    """
    if LOG_MEL not in ask.cards or ask.samples < LEAST_SAMPLES:
        return []
    card = ask.cards[LOG_MEL]
    views = VIEWS if count == 1 else VIEWS[:1]
    each = float(card["milliseconds_per_second"]) / 1000 * seconds * count * len(views)
    cores = ask.costs.cores
    prepare = ask.samples * (each + decoding) + sum(b["prepare_seconds"] for b in others)
    left = max(0.0, ask.seconds - prepare / cores)
    spare = left * cores - sum(b["seconds"] for b in others)
    allowed = SHARE * min(left, spare) - ask.costs.trial_start
    members = max(1, parts)
    epoch = ask.costs.scratch(ask.samples, seconds, 1, members)
    epochs = min(MOST_EPOCHS, int(allowed / epoch))
    if epochs < LEAST_EPOCHS:
        ask.reasons.append(
            "no network from scratch: the other branches win more often and come first; "
            f"{LEAST_EPOCHS} epochs need {LEAST_EPOCHS * epoch / 60:.1f} minutes, they leave "
            f"{max(0.0, allowed) / 60:.1f}"
        )
        return []
    ask.reasons.append(
        f"a small network learns from scratch for up to {epochs} epochs, in the time that the other "
        "branches leave: it is best where sounds are unlike any speech or picture"
    )
    samples = round(seconds * SOUND_RATE)
    return [
        {
            "key": f"{LOG_MEL}-{seconds:g}s".replace(".", "_"),
            "title": f"{card['title']} · from scratch · {seconds:g} s",
            "backbone": LOG_MEL,
            "mode": MODE,
            "views": list(views),
            "windows": count,
            "pixels": samples,
            "preprocessing": standard(samples, count=count, fill="zeros"),
            "answer_preprocessing": standard(samples, fill="zeros"),
            "feature_key": feature_key(LOG_MEL, f"{seconds:g}s-{count}", card["sha256"]),
            "work": {"scratch_epochs": epochs, "members": members},
            "gpus": 0,
            "prepare_seconds": round(ask.samples * each, 2),
            "seconds": round(ask.costs.trial_start + epochs * epoch, 1),
        }
    ]
