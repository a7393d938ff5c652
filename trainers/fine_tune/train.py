"""Trains the last blocks of a network, or all of it, together with its head, from pixels."""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from orchard.errors import BadInput
from trainers.backbones.architecture import Weights, check_weights
from trainers.backbones.registry import Backbone
from trainers.engine import paddle, set_threads
from trainers.fine_tune.checkpoint import Epoch, State, load_state, save_state
from trainers.fine_tune.feature_maps import Maps, PictureMaps, Pictures, cache_maps
from trainers.fine_tune.model import TailModel, head_weights, network_weights
from trainers.fine_tune.optimiser import build_optimiser, rate_factor
from trainers.fine_tune.settings import FineTuneSettings
from trainers.head_weights import HeadWeights

logger = logging.getLogger(__name__)

Array = NDArray[np.float32]
SECONDS_BETWEEN_LINES = 5.0
CHECKPOINT = "checkpoint.npz"


@dataclass(frozen=True)
class FineTuned:
    """What training gives.

    Attributes:
        weights: of the whole network, frozen and trained blocks, as `export_classifier` takes them.
        head: trained with it; temperature 1, to be calibrated on `validation_logits`.
        validation_logits: (N, K) of the best epoch, in the validation pictures' order; N is 0
            without validation pictures.
        best_epoch: the epoch that weights and head are of; 0 is the frozen start.
        history: an entry an epoch, the start first.
        stop_reason: why training ended, as a clause ("all 12 epochs done").
    """

    weights: dict[str, Array]
    head: HeadWeights
    validation_logits: Array
    best_epoch: int
    history: list[Epoch]
    stop_reason: str


def fine_tune(
    backbone: Backbone,
    head: HeadWeights,
    training: Pictures,
    validation: Pictures | None,
    *,
    folder: Path,
    settings: FineTuneSettings,
    weights: Weights | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> FineTuned:
    """Train from `settings.first_block` on, starting at `head`.

    Batch normalisation stays frozen. Without validation pictures the last epoch counts, and
    nothing stops training early. After each epoch the state is written to `folder`; a call with the
    same arguments goes on from there and ends as an undisturbed one on the same machine does.

    Args:
        backbone: the network.
        head: trained on the backbone's features of the same pictures.
        training, validation: pictures of one size, a multiple of the backbone's `size_multiple`.
        folder: for cached maps (views × maps as float16) and the checkpoint; the caller removes it.
        settings: recipe and amount of work.
        weights: where to start from; by default the pretrained ones.
        should_stop: asked after each epoch; a stop by it keeps the best epoch so far.

    Raises:
        BadInput: settings, head or pictures do not fit.
    """
    classes = head.layers[-1][0].shape[1] if head.layers else 0
    head.check(backbone.feature_count)
    settings.check(backbone, classes)
    weights = backbone.load_weights() if weights is None else weights
    check_weights(backbone.blocks, weights)
    if len(training) == 0:
        raise BadInput("There is no picture to train on")
    set_threads(settings.threads)
    maps = _maps(backbone, weights, training, folder / "training", settings, settings.views)
    held_out = None
    if validation is not None and len(validation):
        held_out = _maps(backbone, weights, validation, folder / "validation", settings, 1)
    for part in (maps, held_out):
        if part is not None and not (part.labels.min() >= 0 and part.labels.max() < classes):
            raise BadInput(
                f"Labels should be from 0 to {classes - 1}", value=int(part.labels.max())
            )
    # Paddle names parameters by counting; a count of our own makes optimiser states portable.
    with paddle.utils.unique_name.guard():
        trainer = _Trainer(backbone, weights, head, maps, held_out, settings)
        state = trainer.run(folder / CHECKPOINT, should_stop)
    logits = state.best.pop("logits")
    return FineTuned(
        weights={**weights, **network_weights(state.best)},
        head=head_weights(state.best, head),
        validation_logits=logits,
        best_epoch=state.best_epoch,
        history=state.history,
        stop_reason=state.stop_reason,
    )


def _maps(
    backbone: Backbone,
    weights: Weights,
    pictures: Pictures,
    folder: Path,
    settings: FineTuneSettings,
    views: int,
) -> Maps:
    if settings.first_block == backbone.blocks[0].name:
        return PictureMaps(pictures, settings.augmentation, backbone)
    return cache_maps(
        folder,
        pictures,
        backbone,
        weights,
        settings.first_block,
        augmentation=settings.augmentation,
        views=views,
        seed=settings.seed,
        threads=settings.threads,
    )


class _Trainer:
    def __init__(
        self,
        backbone: Backbone,
        weights: Weights,
        head: HeadWeights,
        training: Maps,
        validation: Maps | None,
        settings: FineTuneSettings,
    ) -> None:
        self._settings = settings
        self._training, self._validation = training, validation
        _, height, width = training.shape
        self._model = TailModel(
            backbone, weights, head, settings.first_block, height, width, settings.dropout
        )
        self._classes = head.layers[-1][0].shape[1]
        self._steps = math.ceil(len(training.labels) / settings.batch_size)
        self._optimiser = build_optimiser(self._model, settings)
        self._class_weights = np.asarray(
            settings.class_weights or [1.0] * self._classes, np.float32
        )
        self._fingerprint = {
            "settings": asdict(settings),
            "backbone": backbone.name,
            "pictures": [len(training.labels), 0 if validation is None else len(validation.labels)],
            "labels": hashlib.sha256(training.labels.tobytes()).hexdigest(),
            "start": _hash(self._model.arrays()),
        }

    def run(self, checkpoint: Path, should_stop: Callable[[], bool]) -> State:
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
            if not state.stop_reason and should_stop():
                # Not kept in the checkpoint: a later call with the same arguments may go on.
                save_state(checkpoint, state, self._fingerprint)
                state.stop_reason = f"stopped from outside after epoch {state.epoch}"
            else:
                save_state(checkpoint, state, self._fingerprint)
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
                    "epoch %d: %d of %d pictures, %.1f a second, %.0f s left, loss %.3f",
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
        maps, features = self._training.batch(indices, random)
        labels = self._training.labels[indices]
        targets = np.full(
            (len(indices), self._classes),
            self._settings.label_smoothing / self._classes,
            np.float32,
        )
        targets[np.arange(len(indices)), labels] += 1 - self._settings.label_smoothing
        factors = self._class_weights[labels]
        logits = self._model(paddle.to_tensor(maps), paddle.to_tensor(features))
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
        """Loss, accuracy and logits over the validation pictures."""
        if self._validation is None:
            return math.nan, math.nan, np.zeros((0, self._classes), np.float32)
        self._model.eval()
        labels = self._validation.labels
        parts = []
        with paddle.no_grad():
            for begin in range(0, len(labels), self._settings.batch_size):
                end = min(begin + self._settings.batch_size, len(labels))
                maps, features = self._validation.batch(np.arange(begin, end), None)
                logits = self._model(paddle.to_tensor(maps), paddle.to_tensor(features))
                parts.append(logits.numpy())
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


def _hash(arrays: dict[str, Array]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
