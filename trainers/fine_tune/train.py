"""Trains the last blocks of a network, or all of it, together with its head, from pixels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from orchard.errors import BadInput
from trainers.backbones.architecture import Weights, check_weights
from trainers.backbones.registry import Backbone
from trainers.engine import paddle, set_threads
from trainers.fine_tune.feature_maps import Maps, PictureMaps, Pictures, cache_maps
from trainers.fine_tune.model import TailModel, head_weights, network_weights
from trainers.fine_tune.optimiser import build_optimiser
from trainers.fine_tune.settings import FineTuneSettings
from trainers.head_weights import HeadWeights
from trainers.training import CHECKPOINT, Epoch, Trainer

Array = NDArray[np.float32]


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
    _, height, width = maps.shape
    with paddle.utils.unique_name.guard():
        model = TailModel(
            backbone, weights, head, settings.first_block, height, width, settings.dropout
        )
        trainer = Trainer(
            model,
            build_optimiser(model, settings),
            maps,
            held_out,
            settings,
            classes,
            {"backbone": backbone.name},
        )
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
