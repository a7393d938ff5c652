"""The state of a training after an epoch, in one file that is replaced as a whole."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainers.backbones.graph import write_atomically

Arrays = dict[str, NDArray[Any]]
PARTS = ("model", "optimiser", "best")


@dataclass(frozen=True)
class Epoch:
    """One line of the history.

    Attributes:
        epoch: 0 is the start, before any training.
        training_loss: mean over the epoch's steps; nan for the start.
        validation_loss, validation_accuracy: on the unchanged validation samples, the loss
            without label smoothing; nan without validation samples.
        learning_rate: the highest one at the epoch's last step.
        seconds: the epoch took.
    """

    epoch: int
    training_loss: float
    validation_loss: float
    validation_accuracy: float
    learning_rate: float
    seconds: float


@dataclass
class State:
    """All that training goes on from.

    Attributes:
        epoch: number of finished epochs.
        model, optimiser: arrays by name.
        best: the best epoch's model, and its validation logits as "logits".
        best_epoch: its number.
        history: an entry an epoch.
        stop_reason: why training ended; empty while it goes on.
    """

    epoch: int
    model: Arrays
    optimiser: Arrays
    best: Arrays
    best_epoch: int
    history: list[Epoch] = field(default_factory=list)
    stop_reason: str = ""


def save_state(path: Path, state: State, fingerprint: Mapping[str, Any]) -> None:
    """Write the state; `fingerprint` tells what training it belongs to."""
    facts = {
        "fingerprint": fingerprint,
        "epoch": state.epoch,
        "best_epoch": state.best_epoch,
        "history": [asdict(epoch) for epoch in state.history],
        "stop_reason": state.stop_reason,
    }
    arrays = {f"{part}/{n}": a for part in PARTS for n, a in getattr(state, part).items()}
    buffer = io.BytesIO()
    np.savez(buffer, facts=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)
    write_atomically(path, buffer.getvalue())


def load_state(path: Path, fingerprint: Mapping[str, Any]) -> State | None:
    """The state in the file; None where there is none, or it belongs to another training."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        facts = json.loads(arrays.pop("facts").tobytes())
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None
    if facts["fingerprint"] != json.loads(json.dumps(fingerprint)):
        return None
    parts: dict[str, Arrays] = {part: {} for part in PARTS}
    for name, array in arrays.items():
        part, _, rest = name.partition("/")
        parts[part][rest] = array
    return State(
        epoch=facts["epoch"],
        best_epoch=facts["best_epoch"],
        history=[Epoch(**epoch) for epoch in facts["history"]],
        stop_reason=facts["stop_reason"],
        **parts,
    )
