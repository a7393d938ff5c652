"""How well a detector finds, for how many minutes: the plan's own work, pycocotools as the judge.

    python -m bench.detection bccd --minutes 10 --splits 3 --cache /tmp/maps
    python -m bench.detection microcontrollers wind_turbines egg_quality --minutes 10 --scratch --prototype

Each split holds out a random fifth, which is asked once, from pixels, by the exported graph. The
minutes are those of a whole build; features are computed once and kept, and the time they would
take is told.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from pycocotools.coco import COCO  # type: ignore[import-untyped]
from pycocotools.cocoeval import COCOeval  # type: ignore[import-untyped]

from bench.boxes import READERS, BoxSet, box_set
from bench.detectors import KINDS, branches_of
from orchard.blobs import Blobs, SegmentWriter
from orchard.decode import decode_picture
from orchard.tasks.costs import Costs
from orchard.tasks.object_detection import TASK
from orchard.tasks.object_detection import answers as task_answers
from trainers.backbones.maps import feature_maps, maps_graph
from trainers.features import Features, no_features
from trainers.object_detection import trial
from trainers.samples import Samples

SEED = 20241
FOLDS = 5


def features_of(pictures: BoxSet, branch: dict[str, Any], cache: Path) -> NDArray[np.float16]:
    """(V, N, D) in a file of the cache, computed where it is missing."""
    views = branch["views"]
    shape = (len(views), len(pictures.files), trial.feature_width(branch))
    path = cache / f"{pictures.name}-{branch['feature_key']}-{len(views)}.f16"
    if not path.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        started = time.process_time()
        session = _session(maps_graph(feature_maps()[branch["backbone"]]))
        temporary = path.with_suffix(".part")
        matrix = np.memmap(temporary, np.float16, "w+", shape=shape)
        for row, file in enumerate(pictures.files):
            inputs = TASK.inputs(branch["preprocessing"], decode_picture(file.read_bytes()))
            for view, name in enumerate(views):
                batch = np.ascontiguousarray(TASK.view(inputs, name))
                matrix[view, row] = session.run(None, {"input": batch})[0].reshape(-1)
        matrix.flush()
        temporary.rename(path)
        print(f"features: {time.process_time() - started:.0f} core seconds for all pictures")
    return np.memmap(path, np.float16, "r", shape=shape)


def measure(
    pictures: BoxSet, kind: str, split: int, minutes: float, cache: Path, work: dict[str, Any]
) -> list[dict[str, Any]]:
    """Train and test every branch of a kind of detector on one split."""
    order = np.random.default_rng(split).permutation(len(pictures.files))
    held_out = len(order) // 5
    test, rows = np.sort(order[:held_out]), np.sort(order[held_out:])
    branches, reasons = branches_of(kind, pictures, len(rows), minutes)
    print("; ".join([kind, *reasons]), flush=True)
    results = []
    for branch in branches:
        branch = {**branch, "work": {**branch["work"], **work}}
        matrix = features_of(pictures, branch, cache) if branch["feature_key"] else None
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            results.append(_trial(pictures, branch, matrix, rows, test, split, Path(folder)))
    return results


def _trial(
    pictures: BoxSet,
    branch: dict[str, Any],
    matrix: NDArray[np.float16] | None,
    rows: NDArray[np.int64],
    test: NDArray[np.int64],
    split: int,
    folder: Path,
) -> dict[str, Any]:
    blobs, samples = _samples(pictures, rows, split, folder)
    features = no_features(len(rows), branch["views"])
    if matrix is not None:
        shape = (len(matrix), len(rows), matrix.shape[2])
        own = np.memmap(folder / "maps.f16", np.float16, "w+", shape=shape)
        for view, target in zip(matrix, own, strict=True):
            target[...] = view[rows]
        features = Features(own, tuple(branch["views"]), np.arange(len(rows)), {})
    started, used = time.monotonic(), _core_seconds()
    result = trial.run(
        branch,
        {"labels": pictures.labels, "seed": SEED, "objective": "accuracy"},
        samples,
        features,
        blobs,
        checkpoint_key="checkpoint",
        threads=1,
        folder=folder,
        safety_seconds=1e9,
    )
    seconds, cores = time.monotonic() - started, _core_seconds() - used
    session = _session(result.model.read_bytes())
    found = []
    begun = time.process_time()
    for row in test:
        pixels = decode_picture(pictures.files[row].read_bytes())
        outputs = session.run(None, {"input": TASK.inputs(result.preprocessing, pixels)})
        card = {"preprocessing": result.preprocessing}
        found.append(task_answers.answer(outputs[0], pixels.shape, card))
    shown = (time.process_time() - begun) / len(test)
    ap, ap50 = judged(pictures, test, found)
    return {
        "branch": branch["title"],
        "split": split,
        "ap50": round(ap50, 4),
        "ap": round(ap, 4),
        "validation": {name: round(result.validation[name], 4) for name in ("ap50", "ap")},
        "features_planned": round(branch["prepare_seconds"] / Costs().cores),
        "seconds": round(seconds),
        "core_seconds": round(cores),
        "answer_seconds": round(shown, 3),
    }


def judged(
    pictures: BoxSet, rows: Sequence[int] | NDArray[np.int64], found: list[NDArray[np.float32]]
) -> tuple[float, float]:
    """(AP, AP50) by pycocotools."""
    number = {label: index + 1 for index, label in enumerate(pictures.labels)}
    truth = COCO()
    boxes = [(int(row), box) for row in rows for box in pictures.annotations[row]["boxes"]]
    truth.dataset = {
        "images": [{"id": int(row)} for row in rows],
        "categories": [{"id": index} for index in number.values()],
        "annotations": [
            {
                "id": index + 1,
                "image_id": row,
                "category_id": number[box["label"]],
                "bbox": [box["left"], box["top"], box["width"], box["height"]],
                "area": box["width"] * box["height"],
                "iscrowd": 0,
            }
            for index, (row, box) in enumerate(boxes)
        ],
    }
    rows_found = [
        {
            "image_id": int(row),
            "category_id": int(line[0]) + 1,
            "score": float(line[1]),
            "bbox": [float(side) for side in line[2:]],
        }
        for row, answer in zip(rows, found, strict=True)
        for line in answer
    ]
    if not rows_found:
        return 0.0, 0.0
    with contextlib.redirect_stdout(io.StringIO()):
        truth.createIndex()
        evaluation = COCOeval(truth, truth.loadRes(rows_found), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return float(evaluation.stats[0]), float(evaluation.stats[1])


def _samples(
    pictures: BoxSet, rows: NDArray[np.int64], split: int, folder: Path
) -> tuple[Blobs, Samples]:
    blobs = Blobs(str(folder / "store"))
    with SegmentWriter(blobs, "local", "bench", 1 << 26) as writer:
        pairs = [pair for row in rows for pair in writer.add(pictures.files[row].read_bytes(), row)]
        pairs += writer.close()
    places = {row: (at.segment, at.offset, at.length) for row, at in pairs}
    folds = np.random.default_rng(split + 1000).permutation(len(rows)) % FOLDS
    return blobs, Samples(
        [pictures.files[row].name for row in rows],
        [pictures.annotations[row] for row in rows],
        folds.astype(np.int64),
        FOLDS,
        [places[row] for row in rows],
        pictures.sizes[rows],
    )


def _session(graph: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _core_seconds() -> float:
    """Processor time of this process and of its children that have ended."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(use.ru_utime + use.ru_stime for use in map(resource.getrusage, kinds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sets", nargs="+", choices=sorted(READERS))
    parser.add_argument("--minutes", type=float, nargs="+", default=[10.0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--members", type=int, help="instead of the plan's")
    parser.add_argument("--epochs", type=int, help="of one candidate, instead of the plan's rungs")
    parser.add_argument("--pictures", type=int, help="an epoch, instead of the plan's")
    parser.add_argument("--scratch", action="store_true", help="also from random weights")
    parser.add_argument("--prototype", action="store_true", help="also by the prototype's recipe")
    parser.add_argument("--only", choices=KINDS, help="one kind of detector")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "maps")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    work: dict[str, Any] = {}
    if arguments.members:
        work["members"] = arguments.members
    if arguments.epochs:
        rungs = [{"keep": 1, "epochs": arguments.epochs}]
        work |= {"candidates": 1, "rungs": rungs, "patience": arguments.epochs}
    if arguments.pictures:
        work |= {"epoch_pictures": arguments.pictures, "measured_pictures": arguments.pictures}
    wanted = {"ours": True, "scratch": arguments.scratch, "prototype": arguments.prototype}
    kinds = [arguments.only] if arguments.only else [kind for kind in KINDS if wanted[kind]]
    arguments.cache.mkdir(parents=True, exist_ok=True)
    splits = range(arguments.first, arguments.first + arguments.splits)
    lines = []
    for name in arguments.sets:
        pictures = box_set(name)
        for minutes in arguments.minutes:
            for kind in kinds:
                lines.append(_line(pictures, kind, minutes, splits, arguments.cache, work))
                print(lines[-1], flush=True)
    print("", *lines, sep="\n")


def _line(
    pictures: BoxSet,
    kind: str,
    minutes: float,
    splits: Sequence[int],
    cache: Path,
    work: dict[str, Any],
) -> str:
    """A kind of detector on all splits, each by the branch that is best on validation."""
    results = []
    for split in splits:
        found = measure(pictures, kind, split, minutes, cache, work)
        print(
            pictures.name,
            f"{kind}, {minutes:g} minutes",
            *found,
            f"load {os.getloadavg()[0]:.1f}",
            sep="\n",
            flush=True,
        )
        results.append(max(found, key=lambda one: one["validation"]["ap50"]))
    mean = {
        key: np.mean([one[key] for one in results])
        for key in ("ap50", "ap", "features_planned", "seconds")
    }
    return (
        f"{pictures.name}, {kind}, {minutes:g} minutes, {len(results)} splits: "
        f"AP50 {mean['ap50']:.3f}, AP50:95 {mean['ap']:.3f}, {mean['seconds']:.0f} s for the trial, "
        f"{mean['features_planned']:.0f} s planned for features"
    )


if __name__ == "__main__":
    main()
