"""Members trained from scratch on log-mel spectrograms: each holds out another part of the recordings.

So every recording teaches most members and validates one, and none is fitted again: the members
answer together.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.blobs import Blobs
from trainers.backbones.log_mel import BANDS
from trainers.classification.heads import Problem
from trainers.classification.population import scored
from trainers.engine import paddle, seed_everything
from trainers.features import Features
from trainers.result import Curve
from trainers.sound_classification.augment import Augmentation, augmented
from trainers.sound_classification.network import ScratchNetwork
from trainers.training import Epoch, State, StoredCheckpoint, Trainer, TrainingSettings, hash_of

logger = logging.getLogger(__name__)

Array = NDArray[np.float32]

AUGMENTATION = Augmentation()
LEARNING_RATE = 3e-3
WEIGHT_DECAY = 0.05
BATCHES = (8, 32)
STEPS = 12
"""Steps an epoch that a batch's size is chosen for, within `BATCHES`."""
PATIENCE_SHARE = 0.4
"""Of the epochs: without a better one for so long, a member's training ends."""


@dataclass(frozen=True)
class Member:
    """One member's training.

    Attributes:
        number: the fold that it holds out; `held_out` how many recordings that are.
        history: an entry an epoch, the start first.
        parameters: its hyper-parameters and outcome, plain values.
    """

    number: int
    held_out: int
    history: list[Epoch]
    best_epoch: int
    stop_reason: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Trained:
    """Members and what they say of the recordings that they never saw.

    Attributes:
        arrays: parameters of each member's best epoch (`ScratchNetwork.arrays`).
        rows: (n,) positions of the validated recordings.
        logits: (n, K) out of fold, before temperature.
    """

    members: list[Member]
    arrays: list[dict[str, Array]]
    rows: NDArray[np.int64]
    logits: Array
    stopped_by_clock: bool


class Spectrograms:
    """Recordings as `trainers.training` visits them: a random window in a random view, changed anew.

    Args:
        windows: spectrograms of a recording, one after the other in its features.
        rows: which recordings.
    """

    def __init__(
        self,
        features: Features,
        windows: int,
        rows: NDArray[np.int64],
        truth: NDArray[np.int64],
    ) -> None:
        self._rows = rows
        self.labels = truth[rows]
        views, count, width = features.matrix.shape
        shape = (views, count, windows, BANDS, width // windows // BANDS)
        self._matrix = features.matrix.reshape(shape)

    def batch(
        self, indices: NDArray[np.int64], random: np.random.Generator | None
    ) -> tuple[Array, ...]:
        """(n, W, BANDS, T); one random window of each where `random` is given, else all plain."""
        rows = self._rows[indices]
        if random is None:
            return (np.asarray(self._matrix[0, rows], np.float32),)
        views, _, windows = self._matrix.shape[:3]
        view, window = (random.integers(0, most, len(rows)) for most in (views, windows))
        values = np.asarray(self._matrix[view, rows, window], np.float32)
        return (augmented(values, AUGMENTATION, random)[:, None],)


def train(
    features: Features,
    windows: int,
    problem: Problem,
    work: Mapping[str, Any],
    blobs: Blobs,
    *,
    checkpoint_key: str,
    objective: str,
    seed: int,
    folder: Path,
    safety_seconds: float,
) -> Trained:
    """Train a member for each fold that holds something out.

    Args:
        work: the plan's: scratch_epochs.
        checkpoint_key: below it each member keeps its state between tries.
        objective: "accuracy" or "worst_class_recall".
    """
    started = time.monotonic()
    members, arrays, clock = [], [], False
    logits = np.zeros((len(problem.truth), problem.classes), np.float32)
    data = hash_of({"features": np.asarray(features.matrix[0, :: max(1, features.count // 16)])})

    for number in [fold for fold in range(problem.fold_count) if (problem.folds == fold).any()]:
        held_out = np.flatnonzero(problem.folds == number)
        others = np.flatnonzero(problem.folds != number)
        settings = _settings(work, problem, objective, seed + 1000 * number, len(others))
        stored = StoredCheckpoint(
            blobs, f"{checkpoint_key}/member-{number}.npz", folder / f"member-{number}"
        )

        def should_stop(stored: StoredCheckpoint = stored) -> bool:
            nonlocal clock
            stored.store()
            clock = time.monotonic() - started > safety_seconds
            return clock

        stored.fetch()
        logger.info("member %d learns from %d, holds out %d", number, len(others), len(held_out))
        state = _train_member(
            Spectrograms(features, windows, others, problem.truth),
            Spectrograms(features, windows, held_out, problem.truth),
            settings,
            problem.classes,
            {"data": data, "windows": windows},
            stored.path,
            should_stop,
        )
        stored.store()
        best = dict(state.best)
        logits[held_out] = best.pop("logits")
        arrays.append(best)
        members.append(_member(number, len(others), len(held_out), state, settings))
    rows = np.flatnonzero(problem.folds >= 0)
    return Trained(members, arrays, rows, logits[rows], clock)


def curves_of(trained: Trained) -> list[Curve]:
    """The members for the leaderboard, the one with the lowest loss first."""
    order = sorted(
        trained.members,
        key=lambda each: (each.history[each.best_epoch].validation_loss, each.number),
    )
    return [
        Curve(
            candidate=member.number,
            rank=rank,
            parameters=member.parameters,
            points=[_point(epoch) for epoch in member.history[1:]],
            best=_point(member.history[member.best_epoch]),
            score=_point(member.history[member.best_epoch])["score"],
            best_epoch=member.best_epoch,
            epochs=len(member.history) - 1,
            rung=1,
            stopped_early=len(member.history) - 1 < int(member.parameters["epochs"]),
            reason=member.stop_reason,
            member=True,
        )
        for rank, member in enumerate(order, 1)
    ]


def _point(epoch: Epoch) -> dict[str, float]:
    figures = {"accuracy": epoch.validation_accuracy, "log_loss": epoch.validation_loss}
    return {"epoch": epoch.epoch, "score": scored(*figures.values()), **figures}


def _member(
    number: int, trained_on: int, held_out: int, state: State, settings: TrainingSettings
) -> Member:
    parameters = {
        "member": number,
        "epochs": settings.epochs,
        "batch_size": settings.batch_size,
        "learning_rate": settings.learning_rate,
        "weight_decay": settings.weight_decay,
        "label_smoothing": settings.label_smoothing,
        "dropout": settings.dropout,
        **asdict(AUGMENTATION),
        "best_epoch": state.best_epoch,
        "trained_on": trained_on,
        "held_out": held_out,
    }
    return Member(number, held_out, state.history, state.best_epoch, state.stop_reason, parameters)


def _train_member(
    training: Spectrograms,
    validation: Spectrograms,
    settings: TrainingSettings,
    classes: int,
    identity: Mapping[str, Any],
    checkpoint: Path,
    should_stop: Callable[[], bool],
) -> State:
    seed_everything(settings.seed)
    with paddle.utils.unique_name.guard():
        model = ScratchNetwork(classes, settings.dropout)
        decayed = {p.name for p in model.parameters() if len(p.shape) > 1}
        optimiser = paddle.optimizer.AdamW(
            settings.learning_rate,
            parameters=model.parameters(),
            weight_decay=settings.weight_decay,
            apply_decay_param_fun=lambda name: name in decayed,
        )
        trainer = Trainer(model, optimiser, training, validation, settings, classes, identity)
        return trainer.run(checkpoint, should_stop)


def _settings(
    work: Mapping[str, Any], problem: Problem, objective: str, seed: int, trained_on: int
) -> TrainingSettings:
    epochs = int(work["scratch_epochs"])
    weights = None
    if objective == "worst_class_recall":
        counts = np.maximum(np.bincount(problem.truth, minlength=problem.classes), 1)
        weights = tuple(float(each) for each in counts.mean() / counts)
    return TrainingSettings(
        epochs=epochs,
        batch_size=min(BATCHES[1], max(BATCHES[0], trained_on // STEPS)),
        learning_rate=LEARNING_RATE,
        weight_decay=WEIGHT_DECAY,
        label_smoothing=0.1,
        dropout=0.2,
        class_weights=weights,
        objective="loss",
        patience=max(3, round(PATIENCE_SHARE * epochs)),
        seed=seed,
    )
