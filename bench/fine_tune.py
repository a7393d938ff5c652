"""Lite0 with its last blocks trained for a few epochs, against the frozen start.

    python -m bench.fine_tune extrusion_profile [--epochs 4] [--splits 1] [--first block11 block14]

The head is searched on frozen features without the first fold, so that the fold can validate it;
training goes on from there, and the fold chooses among first blocks and learning rates (accuracy,
then loss). The test pictures are asked at the end, about three models: the frozen start, the chosen
fine-tuned one, and the frozen head fitted again on all training pictures, which is what a build
without fine-tuning would deliver. Splits as in `bench.accuracy`; the seed of all else is --seed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bench.accuracy import answers, problem_of, splits
from bench.pictures import PictureSet, features, inputs, picture_set
from trainers.backbones import feature_layout, get_backbone
from trainers.backbones.export import export_classifier, onnx_scores
from trainers.classification.branch import Found, search
from trainers.classification.heads import Problem
from trainers.engine import set_threads
from trainers.features import Features
from trainers.fine_tune import FineTuned, FineTuneSettings, fine_tune

BACKBONE, FIT = "efficientnet-lite0", "squash"
VIEWS = ("plain", "mirror")
WORK = {"candidates": 48, "rungs": [{"keep": 48, "epochs": 12}, {"keep": 12, "epochs": 24}]}


@dataclass(frozen=True)
class Rows:
    """Some pictures of a set, as fine-tuning visits them."""

    pictures: PictureSet
    rows: NDArray[np.int64]
    size: int

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int, /) -> tuple[NDArray[np.float32], int]:
        row = int(self.rows[index])
        return inputs(self.pictures, row, self.size, FIT), int(self.pictures.truth[row])


def head_of(part: Features, problem: Problem, seed: int, *, on_all: bool) -> Found:
    """The searched head; it has seen the first fold only if `on_all`."""
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        return search(
            part,
            feature_layout(BACKBONE),
            problem,
            WORK,
            objective="accuracy",
            seed=seed,
            folder=Path(folder),
            refit_on_all=on_all,
        )


def measure(
    pictures: PictureSet,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    given: argparse.Namespace,
) -> dict[str, Any]:
    """One split: validation of every setting, test of the three models."""
    backbone = get_backbone(BACKBONE)
    vectors = features(pictures, BACKBONE, given.size, FIT, given.cache)
    part = Features(vectors[:, train], VIEWS, np.arange(len(train)), {})
    problem = problem_of(pictures.truth[train], len(pictures.labels), given.seed)
    set_threads(1)
    start, refitted = (head_of(part, problem, given.seed, on_all=on) for on in (False, True))
    kept, held_out = (train[problem.folds != 0], train[problem.folds == 0])
    tried: list[tuple[tuple[float, float], dict[str, Any], FineTuned]] = []
    with tempfile.TemporaryDirectory(prefix="bench-fine-tune-") as temporary:
        for first in given.first:
            for rate, head_rate in itertools.product(given.rates, given.head_rates):
                began = time.monotonic()
                tuned = fine_tune(
                    backbone,
                    start.head,
                    Rows(pictures, kept, given.size),
                    Rows(pictures, held_out, given.size),
                    folder=Path(temporary) / first / "maps",
                    settings=FineTuneSettings(
                        first_block=first,
                        epochs=given.epochs,
                        learning_rate=rate,
                        head_learning_rate=head_rate,
                        patience=given.epochs,
                        seed=given.seed,
                        threads=given.threads,
                    ),
                )
                best = tuned.history[tuned.best_epoch]
                row = {
                    "first_block": first,
                    "learning_rate": rate,
                    "head_learning_rate": head_rate,
                    "start_validation": tuned.history[0].validation_accuracy,
                    "validation": best.validation_accuracy,
                    "validation_loss": best.validation_loss,
                    "best_epoch": tuned.best_epoch,
                    "seconds": round(time.monotonic() - began, 1),
                }
                print(json.dumps(row), flush=True)
                tried.append(((best.validation_accuracy, -best.validation_loss), row, tuned))
        _, row, tuned = max(tried, key=lambda each: each[0])
        graph = export_classifier(Path(temporary) / "export", backbone, tuned.head, tuned.weights)
        asked = np.stack([inputs(pictures, int(one), given.size, FIT) for one in test])
        fine_tuned = onnx_scores(graph, asked, threads=given.threads)
    truth = pictures.truth[test]
    frozen, all_of_it = (answers(found.head, vectors[0, test]) for found in (start, refitted))
    said = {"frozen": frozen, "fine_tuned": fine_tuned, "frozen_on_all": all_of_it}
    scores = {name: float((values.argmax(1) == truth).mean()) for name, values in said.items()}
    return {**scores, "test_pictures": len(test), "chosen": row}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="bench.fine_tune")
    parser.add_argument("set")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--first", nargs="+", default=["block11", "block14"])
    parser.add_argument("--rates", type=float, nargs="+", default=[1e-4, 3e-4])
    parser.add_argument("--head-rates", type=float, nargs="+", default=[1e-4])
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=psutil.cpu_count() or 1)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "features")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s", force=True)
    logging.getLogger("trainers.search").setLevel(logging.WARNING)
    pictures = picture_set(given.set)
    results = []
    for number, (train, test) in enumerate(splits(pictures, given.splits)):
        results.append(measure(pictures, train, test, given))
        print(f"split {number}: {json.dumps(results[-1])}", flush=True)
    names = ("frozen", "fine_tuned", "frozen_on_all")
    means = {name: float(np.mean([one[name] for one in results])) for name in names}
    print(json.dumps({"set": given.set, "splits": given.splits, "seed": given.seed, **means}))


if __name__ == "__main__":
    main()
