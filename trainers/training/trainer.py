"""The loop: epochs of steps, a validation after each, early stopping, a checkpoint."""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trainers.engine import paddle
from trainers.training.checkpoint import Epoch, State, load_state, save_state
from trainers.training.settings import TrainingSettings, rate_factor

logger = logging.getLogger(__name__)

Array = NDArray[np.float32]
SECONDS_BETWEEN_LINES = 5.0
CHECKPOINT = "checkpoint.npz"


class Examples(Protocol):
    """Labelled samples as a model takes them.

    Attributes:
        labels: (N,) label indices.
    """

    labels: NDArray[np.int64]

    def batch(
        self, indices: NDArray[np.int64], random: np.random.Generator | None, /
    ) -> tuple[Array, ...]:
        """The model's inputs of some samples, (n, …) each; changed at random where `random` is
        given."""


class Model(Protocol):
    """A Paddle layer, inputs → (n, K) logits, whose whole state is arrays by name."""

    def __call__(self, *inputs: paddle.Tensor) -> paddle.Tensor: ...

    def train(self) -> object: ...

    def eval(self) -> object: ...

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Copies of all parameters and running statistics."""

    def load_arrays(self, arrays: Mapping[str, NDArray[Any]], /) -> None:
        """Take over what `arrays` gave."""


class Trainer:
    """Trains a model and keeps its best epoch.

    Without validation samples the last epoch counts, and nothing stops training early. After each
    epoch the state is written; a training of equal arguments goes on from there and ends as an
    undisturbed one on the same machine does. Make model and optimiser under
    `paddle.utils.unique_name.guard()`: Paddle names parameters by counting, and a count of our own
    makes optimiser states portable.

    Args:
        model: everything random in it follows from `paddle.seed`.
        identity: what else tells this training from others, as JSON.
    """

    def __init__(
        self,
        model: Model,
        optimiser: Any,
        training: Examples,
        validation: Examples | None,
        settings: TrainingSettings,
        classes: int,
        identity: Mapping[str, Any],
    ) -> None:
        self._settings = settings
        self._training, self._validation = training, validation
        self._model, self._optimiser, self._classes = model, optimiser, classes
        self._steps = math.ceil(len(training.labels) / settings.batch_size)
        self._class_weights = np.asarray(settings.class_weights or [1.0] * classes, np.float32)
        self._fingerprint = {
            **identity,
            "settings": asdict(settings),
            "samples": [len(training.labels), 0 if validation is None else len(validation.labels)],
            "labels": hashlib.sha256(training.labels.tobytes()).hexdigest(),
            "start": hash_of(model.arrays()),
        }

    def run(self, checkpoint: Path, should_stop: Callable[[], bool]) -> State:
        """Train to the end; the best epoch is in the state's `best`, its logits as "logits".

        Args:
            checkpoint: file of the state.
            should_stop: asked after each epoch; a stop by it keeps the best epoch so far.
        """
        state = load_state(checkpoint, self._fingerprint)
        if state is None:
            state = self._start()
        else:
            self._model.load_arrays(state.model)
            self._optimiser.set_state_dict(
                {name: paddle.to_tensor(array) for name, array in state.optimiser.items()}
            )
            logger.info("goes on after epoch %d of %d", state.epoch, self._settings.epochs)
        while not state.stop_reason:
            self._epoch(state)
            state.stop_reason = self._reason_to_stop(state)
            self._log(state)
            save_state(checkpoint, state, self._fingerprint)
            if not state.stop_reason and should_stop():
                # Not kept in the checkpoint: a later call with the same arguments may go on.
                state.stop_reason = f"stopped from outside after epoch {state.epoch}"
        logger.info("training ends: %s; best is epoch %d", state.stop_reason, state.best_epoch)
        return state

    def _start(self) -> State:
        started = time.monotonic()
        loss, accuracy, logits = self._evaluate()
        model = self._model.arrays()
        elapsed = time.monotonic() - started
        history = [Epoch(0, math.nan, loss, accuracy, 0.0, elapsed)]
        state = State(0, model, {}, {**model, "logits": logits}, 0, history)
        self._log(state)
        return state

    def _epoch(self, state: State) -> None:
        started = shown = time.monotonic()
        number = state.epoch + 1
        random = np.random.default_rng((self._settings.seed, number))
        paddle.seed(int(random.integers(2**31)))
        order = random.permutation(len(self._training.labels))
        self._model.train()
        losses, rate = [], 0.0
        for step in range(self._steps):
            begin = step * self._settings.batch_size
            indices = order[begin : begin + self._settings.batch_size]
            rate = self._set_rate((number - 1) * self._steps + step)
            losses.append(self._step(np.sort(indices), random))
            if time.monotonic() - shown > SECONDS_BETWEEN_LINES:
                shown = time.monotonic()
                done = begin + len(indices)
                speed = done / (shown - started)
                logger.info(
                    "epoch %d: %d of %d samples, %.1f a second, %.0f s left, loss %.3f",
                    number,
                    done,
                    len(order),
                    speed,
                    (len(order) - done) / speed,
                    losses[-1],
                )
        loss, accuracy, logits = self._evaluate()
        elapsed = time.monotonic() - started
        epoch = Epoch(number, float(np.mean(losses)), loss, accuracy, rate, elapsed)
        state.epoch, state.model = number, self._model.arrays()
        state.optimiser = {
            name: value.numpy()
            for name, value in self._optimiser.state_dict().items()
            if isinstance(value, paddle.Tensor)
        }
        if math.isfinite(epoch.training_loss) and self._is_better(epoch, state):
            state.best_epoch, state.best = number, {**state.model, "logits": logits}
        state.history.append(epoch)

    def _step(self, indices: NDArray[np.int64], random: np.random.Generator) -> float:
        inputs = self._training.batch(indices, random)
        labels = self._training.labels[indices]
        targets = np.full(
            (len(indices), self._classes),
            self._settings.label_smoothing / self._classes,
            np.float32,
        )
        targets[np.arange(len(indices)), labels] += 1 - self._settings.label_smoothing
        factors = self._class_weights[labels]
        logits = self._model(*map(paddle.to_tensor, inputs))
        log_scores = paddle.nn.functional.log_softmax(logits, axis=1)
        losses = -(paddle.to_tensor(targets) * log_scores).sum(axis=1)
        loss = (losses * paddle.to_tensor(factors)).sum() / float(factors.sum())
        loss.backward()
        self._optimiser.step()
        self._optimiser.clear_grad()
        return float(loss)

    def _set_rate(self, step: int) -> float:
        factor = rate_factor(step, self._steps * self._settings.epochs, self._settings.warm_up)
        rate = self._settings.learning_rate * factor
        self._optimiser.set_lr(rate)
        return rate

    def _evaluate(self) -> tuple[float, float, Array]:
        """Loss, accuracy and logits over the validation samples."""
        if self._validation is None:
            return math.nan, math.nan, np.zeros((0, self._classes), np.float32)
        self._model.eval()
        labels = self._validation.labels
        parts = []
        with paddle.no_grad():
            for begin in range(0, len(labels), self._settings.batch_size):
                end = min(begin + self._settings.batch_size, len(labels))
                inputs = self._validation.batch(np.arange(begin, end), None)
                parts.append(self._model(*map(paddle.to_tensor, inputs)).numpy())
        logits = np.concatenate(parts)
        shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
        log_scores = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        loss = -float(log_scores[np.arange(len(labels)), labels].mean())
        return loss, float((logits.argmax(axis=1) == labels).mean()), logits

    def _is_better(self, epoch: Epoch, state: State) -> bool:
        if self._validation is None:
            return True
        best = state.history[state.best_epoch]
        pairs = [(e.validation_accuracy, -e.validation_loss) for e in (epoch, best)]
        if self._settings.objective == "loss":
            pairs = [(loss, accuracy) for accuracy, loss in pairs]
        return math.isfinite(epoch.validation_loss) and pairs[0] > pairs[1]

    def _reason_to_stop(self, state: State) -> str:
        if not math.isfinite(state.history[-1].training_loss):
            return f"the loss was no longer a number in epoch {state.epoch}"
        if state.epoch >= self._settings.epochs:
            return f"all {self._settings.epochs} epochs done"
        waited = state.epoch - state.best_epoch
        if self._validation is not None and waited >= self._settings.patience:
            return f"no better epoch in the last {waited}"
        return ""

    def _log(self, state: State) -> None:
        epoch = state.history[-1]
        if epoch.epoch == 0:
            logger.info(
                "start: validation loss %.3f, accuracy %.4f",
                epoch.validation_loss,
                epoch.validation_accuracy,
            )
            return
        left = (self._settings.epochs - epoch.epoch) * epoch.seconds
        logger.info(
            "epoch %d of %d: training loss %.3f, validation loss %.3f, accuracy %.4f, "
            "%.1f s, at most %.0f s left",
            epoch.epoch,
            self._settings.epochs,
            epoch.training_loss,
            epoch.validation_loss,
            epoch.validation_accuracy,
            epoch.seconds,
            left,
        )


def hash_of(arrays: Mapping[str, NDArray[Any]]) -> str:
    """sha256 over names and bytes."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
