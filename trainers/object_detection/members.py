"""The members of a detector: each is the winner of a small search of its own.

A member's candidates hold out one part of the pictures, another member's another part. So every
picture teaches some member, every member is validated on what it never saw, and members that
differ are worth more together than one that trains for longer. A member needs one core and nothing
of the others: they train in processes side by side, and the result does not depend on how many.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.blobs import Blobs
from orchard.errors import NotFound
from trainers.backbones.maps import get_feature_maps
from trainers.engine import set_threads
from trainers.object_detection.candidate import Candidate, Make
from trainers.object_detection.geometry import Array
from trainers.object_detection.maps import Pictures
from trainers.object_detection.network import Head, Shape
from trainers.object_detection.pixels import PixelPictures, level_graph
from trainers.object_detection.population import Heads
from trainers.object_detection.settings import Settings
from trainers.object_detection.unfrozen import Unfreezing, Unfrozen
from trainers.search import Record, halve, rungs_of

logger = logging.getLogger(__name__)

NOTHING = 0.01
"""A detector whose AP50 is below that has found nothing."""


@dataclass(frozen=True)
class Stored:
    """A matrix of features in a file, as a process opens it."""

    path: str
    offset: int
    shape: tuple[int, ...]

    @classmethod
    def of(cls, matrix: np.memmap[Any, np.dtype[np.float16]]) -> Stored:
        return cls(str(matrix.filename), int(matrix.offset), matrix.shape)

    def open(self) -> NDArray[np.float16]:
        return np.memmap(self.path, np.float16, "r", self.offset, self.shape)


@dataclass(frozen=True)
class Job:
    """The search for one member.

    Attributes:
        number: of the member.
        features: of the pictures; `pictures` itself comes without them.
        rows, held_out: pictures to train on and to measure on.
        rungs: as a plan writes them.
        seconds: when the clock ends the search.
        checkpoint: key where the state is kept between tries.
        measured: those of `held_out` that the search measures on.
        epoch_pictures: see `Candidate`.
        threads: that training computes with.
        backbone: how it is trained; None where it is frozen and `features` are its maps.
    """

    number: int
    features: Stored
    pictures: Pictures
    rows: NDArray[np.int64]
    held_out: NDArray[np.int64]
    measured: NDArray[np.int64]
    settings: Sequence[Settings]
    classes: int
    rungs: Sequence[dict[str, Any]]
    patience: int
    objective: str
    seed: int
    seconds: float
    blobs: Blobs
    checkpoint: str
    epoch_pictures: int = 0
    threads: int = 1
    backbone: Unfreezing | None = None


@dataclass(frozen=True)
class Member:
    """A member's search.

    Attributes:
        head: the winner, folded (see `folded_arrays`), with its `shape`.
        records: all candidates, the best first.
    """

    head: dict[str, Array]
    shape: Shape
    settings: Sequence[Settings]
    records: list[Record]
    stopped_by_clock: bool


def train_members(jobs: Sequence[Job], processes: int) -> list[Member]:
    """The members in the jobs' order; at most so many train at a time."""
    if min(processes, len(jobs)) < 2:
        return [train_member(job) for job in jobs]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        min(processes, len(jobs)), mp_context=context, initializer=_begin
    ) as pool:
        return list(pool.map(train_member, jobs))


def _begin() -> None:
    """Log as the parent does, and end when it ends."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def train_member(job: Job) -> Member:
    """Search one member."""
    started = time.monotonic()
    set_threads(job.threads)
    pictures = job.pictures.over(job.features.open())
    make = _maker(job, pictures)
    epochs = sum(int(rung["epochs"]) for rung in job.rungs)
    candidates = [
        Candidate(
            settings,
            pictures,
            job.rows,
            make,
            epochs=epochs,
            seed=job.seed + 1000 * job.number + index,
            epoch_pictures=job.epoch_pictures,
        )
        for index, settings in enumerate(job.settings)
    ]
    heads = Heads(
        candidates,
        pictures,
        job.measured,
        job.classes,
        job.objective,
        lambda payload: job.blobs.write(job.checkpoint, payload),
    )
    try:
        if heads.load(job.blobs.read(job.checkpoint)):
            logger.info("member %d goes on from where an earlier try was", job.number)
    except NotFound:
        pass
    outcome = halve(heads, rungs_of(job.rungs), patience=job.patience, safety_seconds=job.seconds)
    for record in outcome.records:
        _say_nothing_found(record, job.number)
    best = outcome.records[0].index
    logger.info(
        "member %d: %d epochs on %d pictures in %.0f s, score %.3f on %d pictures",
        job.number,
        outcome.epochs,
        len(job.rows),
        time.monotonic() - started,
        outcome.records[0].score,
        len(job.held_out),
    )
    return Member(
        heads.best[best],
        candidates[best].model.shape,
        job.settings,
        outcome.records,
        outcome.stopped_by_clock,
    )


def _maker(job: Job, pictures: Pictures) -> Make:
    """What builds the models of a job's candidates."""

    def head(settings: Settings, dropout: float) -> Head:
        return Head(Shape(pictures.levels, settings.width, job.classes), scales, dropout)

    if job.backbone is None:
        scales = pictures.scales(job.rows)
        return head
    backbone = job.backbone
    maps = get_feature_maps(backbone.name)
    assert isinstance(pictures, PixelPictures)
    if backbone.weights == "pretrained":
        scales = pictures.through(level_graph(maps)).scales(job.rows)
    else:
        scales = [np.ones(channels, np.float32) for channels, *_ in pictures.levels]
    return lambda settings, dropout: Unfrozen(
        maps, backbone.frozen_to, backbone.weights, head(settings, dropout)
    )


def _say_nothing_found(record: Record, member: int) -> None:
    if record.best is not None and record.best.figures["ap50"] < NOTHING:
        record.reason = (
            f"found nothing: no box overlaps a true one by half after {record.epochs} epochs"
        )
        logger.warning("member %d, candidate %d %s", member, record.index, record.reason)
