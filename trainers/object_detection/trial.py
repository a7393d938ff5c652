"""The trial of a detector's branch: samples and feature maps in, a proven export out."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.blobs import Blobs
from orchard.decode import decode_picture
from orchard.errors import BadInput
from orchard.pictures.golden import golden_payloads
from orchard.preprocess import input_count, inputs, output_size
from orchard.tasks import Answers
from orchard.tasks.base import JUDGED
from orchard.tasks.object_detection import answers as task_answers
from orchard.tasks.object_detection import metrics, thresholds
from trainers.backbones.export import NETWORK_FILE, PARAMETERS_FILE, onnx_scores
from trainers.backbones.maps import FeatureMaps, feature_count, get_feature_maps
from trainers.features import Features
from trainers.object_detection.ensemble import folded_layer, outputs_together
from trainers.object_detection.export import export_detector, load_detector, prove_same
from trainers.object_detection.maps import Pictures, levels_of, pictures_of
from trainers.object_detection.members import NOTHING, Job, Member, Stored, train_members
from trainers.object_detection.pixels import (
    PixelPictures,
    frozen_graph,
    level_graph,
    stored_inputs,
)
from trainers.object_detection.settings import drawn
from trainers.object_detection.symmetry import truthful_views
from trainers.object_detection.unfrozen import Unfreezing
from trainers.result import Curve, TrialResult
from trainers.samples import Samples, payloads_of

logger = logging.getLogger(__name__)

FINE_TUNED = "fine_tuned"
"""Mode of a branch whose backbone is trained, from pixels, with its only member."""
LOOKED_AT = 160
"""Pictures whose maps are computed to tell which views are truthful, where none are cached."""
PROVEN_SAMPLES = 4
SHOWN_AT_ONCE = 32
FIGURES = ("ap50", "ap", "ap75", "worst_class_ap50", "worst_class", "precision", "recall", "f1")


def feature_width(branch: Mapping[str, Any]) -> int:
    """R · D: what the branch's backbone gives at its input size for all inputs of a picture."""
    operations = branch["preprocessing"]
    levels = get_feature_maps(str(branch["backbone"])).levels
    return input_count(operations) * feature_count(levels, *output_size(operations))


def run(
    branch: Mapping[str, Any],
    plan: Mapping[str, Any],
    samples: Samples,
    features: Features,
    blobs: Blobs,
    *,
    checkpoint_key: str,
    threads: int,
    folder: Path,
    safety_seconds: float,
) -> TrialResult:
    """Train the branch's members, export them as one detector below `folder`, prove Paddle = ONNX.

    Args:
        checkpoint_key: below it each member keeps its state between tries.
        threads: members that train at a time, unless the branch's work names another number of
            `processes`; the result is the same for any.

    Raises:
        BadInput: no picture has a box, or none is left to validate on.
    """
    labels, work = tuple(plan["labels"]), branch["work"]
    operations = branch["preprocessing"]
    maps = get_feature_maps(str(branch["backbone"]))
    pictures = _pictures(branch, maps, samples, features, blobs, labels, folder)
    _check(pictures, samples)
    views = _views(pictures, maps, work)
    pictures = replace(pictures, trained=views)
    jobs = _jobs(branch, plan, samples, pictures, blobs, checkpoint_key, folder, safety_seconds)
    members = train_members(jobs, int(work.get("processes", threads)))
    usable = [pictures.views[view] for view in views]
    mirrored = bool(work["mirrored"]) and "mirror" in usable
    exported = folder / "export"
    model = export_detector(
        exported,
        maps,
        [member.head for member in members],
        [member.shape for member in members],
        mirrored=mirrored,
    )
    answers = _answers(jobs, members, pictures, samples, labels, operations, model, mirrored)
    chosen = thresholds.choose(answers, str(plan["objective"]))
    figures = metrics.evaluate(answers, {"thresholds": chosen})
    validation = {name: figures[name] for name in FIGURES}
    logger.info(
        "AP50 %.3f, AP %.3f on %d pictures that were held out",
        validation["ap50"],
        validation["ap"],
        len(answers.answers),
    )
    found_nothing = not (validation["ap50"] or 0) >= NOTHING
    if found_nothing:
        logger.warning("the branch found nothing: its detector has no box right; do not use it")

    def prepare(payload: bytes) -> NDArray[np.float32]:
        return inputs(operations, decode_picture(payload, JUDGED.maximum_pixels))

    payloads = payloads_of(samples, blobs, PROVEN_SAMPLES)
    detector = load_detector(exported)
    proof = prove_same(model, detector, np.concatenate([prepare(each) for each in payloads]))
    logger.info("Paddle and ONNX differ by at most %.1e on %d pictures", proof, len(payloads))
    return TrialResult(
        model=model,
        parameters=exported / PARAMETERS_FILE,
        network=exported / NETWORK_FILE,
        parameter_count=sum(int(np.prod(each.shape)) for each in detector.parameters()),
        preprocess=prepare,
        predict=lambda batch: onnx_scores(model, batch),
        golden_payloads=golden_payloads(),
        preprocessing=[dict(operation) for operation in operations],
        answers=answers,
        validation=validation,
        thresholds=chosen,
        temperature=1.0,
        winner={
            "members": [_winner(job, member) for job, member in zip(jobs, members, strict=True)],
            "mirrored": mirrored,
            "views": usable,
            **({"found_nothing": True} if found_nothing else {}),
        },
        curves=_curves(members),
        stopped_by_clock=any(member.stopped_by_clock for member in members),
        proof=proof,
    )


def _pictures(
    branch: Mapping[str, Any],
    maps: FeatureMaps,
    samples: Samples,
    features: Features,
    blobs: Blobs,
    labels: Sequence[str],
    folder: Path,
) -> Pictures:
    """The pictures with their cached maps, or with their pixels where the backbone is trained."""
    operations = branch["preprocessing"]
    tuned = branch["mode"] == FINE_TUNED
    found = pictures_of(
        stored_inputs(samples, blobs, operations, folder / "inputs.f16")
        if tuned
        else _a_row_an_input(features.matrix, input_count(operations)),
        features.views,
        levels_of(maps.name, *output_size(operations)),
        operations,
        samples.annotations,
        samples.sizes,
        labels,
    )
    if not tuned:
        return found
    work = branch["work"]
    graph = frozen_graph(maps, str(work["frozen_to"]))
    return PixelPictures(**vars(found), graph=graph, threads=int(work["threads"]))


def _a_row_an_input(matrix: NDArray[np.float16], count: int) -> NDArray[np.float16]:
    """(V, N, R · D) → (V, N · R, D)."""
    views, samples, width = matrix.shape
    return matrix.reshape(views, samples * count, width // count)


def _views(pictures: Pictures, maps: FeatureMaps, work: Mapping[str, Any]) -> tuple[int, ...]:
    """Indices of the views to learn from."""
    if not work.get("views_checked", True):
        return tuple(range(len(pictures.views)))
    rows = np.arange(len(pictures.boxes))
    if isinstance(pictures, PixelPictures):
        # Their maps have to be computed for that, so only those of some.
        rows = np.unique(np.linspace(0, len(rows) - 1, LOOKED_AT).astype(int))
        pictures = pictures.through(level_graph(maps))
    return truthful_views(pictures, rows)


def _check(pictures: Pictures, samples: Samples) -> None:
    if not any(len(boxes) for boxes in pictures.boxes):
        raise BadInput("No picture has a box to learn from", way_out="Add pictures with boxes")
    validating = np.flatnonzero(_folds(pictures, samples) >= 0)
    if not any(len(pictures.boxes[row]) for row in validating.tolist()):
        raise BadInput(
            "No picture with a box is left to validate on", way_out="Add pictures of each class"
        )


def _jobs(
    branch: Mapping[str, Any],
    plan: Mapping[str, Any],
    samples: Samples,
    pictures: Pictures,
    blobs: Blobs,
    checkpoint_key: str,
    folder: Path,
    safety_seconds: float,
) -> list[Job]:
    """One job a member; where there are folds, each member holds out another one."""
    work, seed = branch["work"], int(plan["seed"])
    count, tried = int(work["members"]), int(work["candidates"])
    settings = drawn(1 + count * (tried - 1), int(work["width"]), seed)
    settings = [replace(each, **work.get("settings", {})) for each in settings]
    backbone = None
    if branch["mode"] == FINE_TUNED:
        backbone = Unfreezing(str(branch["backbone"]), work["frozen_to"], work["weights"])
    stored = _stored(pictures.matrix, folder)
    empty = np.zeros((len(pictures.views), 0, 0), np.float16)
    folds = _folds(pictures, samples)
    usable = [fold for fold in range(samples.fold_count) if (folds == fold).any()]
    asked = int(work.get("measured_pictures", 10**9))
    jobs = []
    for number in range(count):
        held_out = np.flatnonzero(folds == usable[number % len(usable)])
        rows = np.setdiff1d(np.arange(len(folds)), held_out)
        others = settings[1 + number * (tried - 1) : 1 + (number + 1) * (tried - 1)]
        jobs.append(
            Job(
                number=number,
                features=stored,
                pictures=pictures.over(empty),
                rows=_instructive(pictures, rows) if len(folds) > len(samples.folds) else rows,
                held_out=held_out,
                settings=[settings[0], *others],
                classes=len(plan["labels"]),
                rungs=work["rungs"],
                patience=int(work["patience"]),
                objective=thresholds.OBJECTIVES[str(plan["objective"])],
                seed=seed,
                seconds=safety_seconds,
                blobs=blobs,
                checkpoint=f"{checkpoint_key}/member-{number}.npz",
                epoch_pictures=int(work.get("epoch_pictures", 0)),
                measured=_evenly(held_out, asked, tiled=len(folds) > len(samples.folds)),
                threads=int(work.get("threads", 1)),
                backbone=backbone,
            )
        )
    return jobs


def _folds(pictures: Pictures, samples: Samples) -> NDArray[np.int64]:
    """The fold of each row of the pictures, R a sample."""
    return np.repeat(samples.folds, len(pictures.boxes) // max(1, len(samples.folds)))


def _instructive(pictures: Pictures, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tiles with boxes, and as many without: most of small objects' pictures is empty."""
    holds = np.array([len(pictures.boxes[row]) > 0 for row in rows.tolist()], np.bool_)
    empty = rows[~holds]
    kept = np.linspace(0, len(empty) - 1, min(len(empty), max(1, int(holds.sum()))))
    return np.sort(np.concatenate([rows[holds], empty[kept.astype(np.int64)]]))


def _evenly(rows: NDArray[np.int64], most: int, tiled: bool) -> NDArray[np.int64]:
    """At most so many of the rows. Of tiles by chance: every n-th may be the same corner each time."""
    if tiled:
        return np.sort(np.random.default_rng(len(rows)).permutation(rows)[:most])
    return rows[:: -(-len(rows) // most)]


def _stored(matrix: NDArray[np.float16], folder: Path) -> Stored:
    if not isinstance(matrix, np.memmap):
        copy = np.memmap(folder / "maps.f16", np.float16, "w+", shape=matrix.shape)
        copy[...] = matrix
        copy.flush()
        matrix = copy
    return Stored.of(matrix)


def _answers(
    jobs: Sequence[Job],
    members: Sequence[Member],
    pictures: Pictures,
    samples: Samples,
    labels: tuple[str, ...],
    operations: Sequence[Mapping[str, Any]],
    model: Path,
    mirrored: bool,
) -> Answers:
    """Answers to all pictures that some member held out, by the members that did."""
    count = input_count(operations)
    at_once = max(1, SHOWN_AT_ONCE // count)
    by_rows: dict[tuple[int, ...], list[int]] = {}
    for number, job in enumerate(jobs):
        held_out = np.unique(job.held_out // count)
        by_rows.setdefault(tuple(int(row) for row in held_out), []).append(number)
    found: dict[int, NDArray[np.float32]] = {}
    for rows, numbers in by_rows.items():
        asked = [members[number] for number in numbers]
        for start in range(0, len(rows), at_once):
            part = rows[start : start + at_once]
            shown = [count * row + number for row in part for number in range(count)]
            if isinstance(pictures, PixelPictures):
                # Its only member is the whole detector.
                outputs = onnx_scores(model, pictures.inputs([(row, 0) for row in shown]))
            else:
                heads = [folded_layer(member.head, member.shape) for member in asked]
                outputs = outputs_together(heads, pictures, shown, mirrored=mirrored)
            outputs = outputs.reshape(len(part), count, *outputs.shape[1:])
            for row, output in zip(part, outputs, strict=True):
                width, height = (int(size) for size in samples.sizes[row])
                found[row] = task_answers.answer(
                    output, (height, width, 3), {"preprocessing": operations}
                )
    rows_in_order = sorted(found)
    return Answers(
        labels,
        [found[row] for row in rows_in_order],
        [samples.annotations[row] for row in rows_in_order],
        tuple(samples.sample_ids[row] for row in rows_in_order),
    )


def _winner(job: Job, member: Member) -> dict[str, Any]:
    best = member.records[0]
    return {
        **job.settings[best.index].to_json(),
        "candidate": best.index,
        "best_epoch": best.best_epoch,
        "trained_on": len(job.rows),
        "held_out": len(job.held_out),
    }


def _curves(members: Sequence[Member]) -> list[Curve]:
    """All candidates of all members, those of the detector first; numbered member by member."""
    rows = [
        (position, member_number, record)
        for member_number, member in enumerate(members)
        for position, record in enumerate(member.records)
    ]
    rows.sort(key=lambda row: (row[0] > 0, -row[2].rung, -row[2].score, row[1], row[2].index))
    return [
        Curve(
            candidate=number * len(members[0].settings) + record.index,
            rank=rank,
            parameters={"member": number, **members[number].settings[record.index].to_json()},
            points=record.curve,
            best=dict(record.best.figures) if record.best else {},
            score=record.score,
            best_epoch=record.best_epoch,
            epochs=record.epochs,
            rung=record.rung,
            stopped_early=record.stopped,
            reason=record.reason,
            member=position == 0,
        )
        for rank, (position, number, record) in enumerate(rows, 1)
    ]
