"""Fine-tuning as a branch: the head is searched on frozen features, then the last blocks follow."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.blobs import Blobs, SegmentReader
from trainers.backbones import Backbone
from trainers.classification.heads import Problem
from trainers.fine_tune import FineTuned, FineTuneSettings, fine_tune
from trainers.head_weights import HeadWeights
from trainers.samples import Samples
from trainers.training import StoredCheckpoint


class StoredPictures:
    """Pictures of a data set version as fine-tuning visits them: read, prepared, with their class.

    Args:
        prepare: bytes of a sample → (3, H, W) float32.
    """

    def __init__(
        self,
        samples: Samples,
        rows: NDArray[np.int64],
        truth: NDArray[np.int64],
        blobs: Blobs,
        prepare: Callable[[bytes], NDArray[np.float32]],
    ) -> None:
        self._samples, self._rows, self._truth = samples, rows, truth
        self._reader, self._prepare = SegmentReader(blobs), prepare

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int, /) -> tuple[NDArray[np.float32], int]:
        row = int(self._rows[index])
        payload = self._reader.read(*self._samples.locations[row])
        return self._prepare(payload), int(self._truth[row])


def first_trained_block(backbone: Backbone, unfrozen: int) -> str:
    """The block at which training begins when the last `unfrozen` blocks are trained."""
    count = max(1, min(unfrozen, len(backbone.blocks)))
    return backbone.blocks[len(backbone.blocks) - count].name


def train(
    backbone: Backbone,
    head: HeadWeights,
    samples: Samples,
    problem: Problem,
    work: Mapping[str, Any],
    blobs: Blobs,
    prepare: Callable[[bytes], NDArray[np.float32]],
    *,
    checkpoint_key: str,
    objective: str,
    seed: int,
    threads: int,
    folder: Path,
    safety_seconds: float,
) -> tuple[FineTuned, NDArray[np.int64], bool]:
    """Fine-tune from a head that never saw the first fold, and validate on that fold.

    Args:
        work: the plan's: fine_tune_epochs, unfrozen_blocks.
        checkpoint_key: where the state is kept between tries.

    Returns:
        What training gave, the rows it was validated on, and whether the clock stopped it.
    """
    started, stopped = time.monotonic(), False
    held_out = np.flatnonzero(problem.folds == 0)
    rows = np.flatnonzero(problem.folds != 0)
    local = folder / "fine-tune"
    stored = StoredCheckpoint(blobs, checkpoint_key, local)
    stored.fetch()

    def should_stop() -> bool:
        nonlocal stopped
        stored.store()
        stopped = time.monotonic() - started > safety_seconds
        return stopped

    result = fine_tune(
        backbone,
        head,
        StoredPictures(samples, rows, problem.truth, blobs, prepare),
        StoredPictures(samples, held_out, problem.truth, blobs, prepare),
        folder=local,
        settings=FineTuneSettings(
            first_block=first_trained_block(backbone, int(work["unfrozen_blocks"])),
            epochs=int(work["fine_tune_epochs"]),
            class_weights=_class_weights(problem, objective),
            seed=seed,
            threads=threads,
        ),
        should_stop=should_stop,
    )
    return result, held_out, stopped


def _class_weights(problem: Problem, objective: str) -> tuple[float, ...] | None:
    if objective != "worst_class_recall":
        return None
    counts = np.maximum(np.bincount(problem.truth, minlength=problem.classes), 1)
    weights = counts.mean() / counts
    return tuple(float(weight) for weight in weights)
