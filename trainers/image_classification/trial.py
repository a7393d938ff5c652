"""The trial of a picture classifier's branch: samples and features in, a proven export out."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from orchard.blobs import Blobs
from orchard.errors import BadInput
from orchard.preprocess import apply, standard
from orchard.tasks import Scores, task
from orchard.tasks.image_classification import thresholds
from trainers.backbones import feature_layout, get_backbone
from trainers.backbones.export import export_classifier, load_classifier, onnx_scores, prove_equal
from trainers.features import Features
from trainers.image_classification.branch import Found, scores_of, search
from trainers.image_classification.heads import Problem
from trainers.result import Curve, TrialResult
from trainers.samples import Samples

logger = logging.getLogger(__name__)

TASK = "image_classification"
GOLDEN_SAMPLES = 4
PROVEN_SAMPLES = 16
LEADERBOARD = 100


def feature_width(branch: Mapping[str, Any]) -> int:
    """D of the branch's backbone."""
    return get_backbone(str(branch["backbone"])).feature_count


def run(
    branch: Mapping[str, Any],
    plan: Mapping[str, Any],
    samples: Samples,
    features: Features,
    blobs: Blobs,
    *,
    folder: Path,
    safety_seconds: float,
) -> TrialResult:
    """Train the branch, export its winner below `folder` and prove Paddle = ONNX.

    Raises:
        BadInput: fewer than two classes have samples.
    """
    labels = tuple(plan["labels"])
    problem = _problem(samples, labels, features)
    found = search(
        features,
        feature_layout(str(branch["backbone"])),
        problem,
        branch["work"],
        objective=str(plan["objective"]),
        seed=int(plan["seed"]),
        folder=folder,
        safety_seconds=safety_seconds,
    )
    scores = Scores(
        labels,
        scores_of(found),
        problem.truth[found.rows],
        tuple(samples.sample_ids[row] for row in found.rows),
    )
    operations = standard(int(branch["size"]), str(branch["fit"]))
    exported = folder / "export"
    model = export_classifier(exported, str(branch["backbone"]), found.head)
    payloads = _payloads(samples, blobs, PROVEN_SAMPLES)
    decode = task(TASK).decode
    inputs = np.stack([apply(operations, decode(payload)) for payload in payloads])
    difference = prove_equal(model, load_classifier(exported), inputs)
    logger.info("Paddle and ONNX differ by at most %.1e on %d pictures", difference, len(inputs))
    return TrialResult(
        model=model,
        parameters=exported / "model.pdparams",
        network=exported / "network.json",
        parameter_count=_parameter_count(exported),
        preprocess=lambda payload: apply(operations, decode(payload)),
        predict=lambda batch: onnx_scores(model, batch),
        golden_payloads=payloads[:GOLDEN_SAMPLES],
        preprocessing=list(operations),
        scores=scores,
        validation=dict(found.measure.figures),
        thresholds=thresholds.choose(scores, str(plan["objective"])),
        temperature=found.temperature,
        winner={
            "members": [
                {**found.candidates[index].to_json(), "candidate": index} for index in found.members
            ]
        },
        curves=_curves(found),
        stopped_by_clock=found.outcome.stopped_by_clock,
        proof=difference,
    )


def _problem(samples: Samples, labels: Sequence[str], features: Features) -> Problem:
    index = {label: number for number, label in enumerate(labels)}
    truth = np.array([index[str(annotation)] for annotation in samples.annotations], np.int64)
    if len(np.unique(truth)) < 2:
        raise BadInput(
            "Training needs pictures of at least two classes",
            value=len(np.unique(truth)),
            way_out="Add pictures of another class",
        )
    if not (samples.folds >= 0).any():
        raise BadInput("No picture is left to validate on", way_out="Add pictures of each class")
    return Problem(truth, samples.folds, samples.fold_count, len(labels))


def _curves(found: Found) -> list[Curve]:
    result = []
    for rank, record in enumerate(found.outcome.records, 1):
        candidate = found.candidates[record.index]
        result.append(
            Curve(
                candidate=record.index,
                rank=rank,
                parameters=candidate.to_json(),
                points=record.curve,
                best=dict(record.best.figures) if record.best else {},
                score=record.score,
                best_epoch=record.best_epoch,
                epochs=record.epochs,
                rung=record.rung,
                stopped_early=record.stopped,
                reason=record.reason,
                member=record.index in found.members,
            )
        )
    return result


def _payloads(samples: Samples, blobs: Blobs, count: int) -> list[bytes]:
    """Bytes of samples spread evenly over all."""
    rows = np.unique(np.linspace(0, len(samples.sample_ids) - 1, count).astype(int))
    return [_read(blobs, samples.locations[row]) for row in rows]


def _read(blobs: Blobs, location: tuple[str, int, int]) -> bytes:
    segment, offset, length = location
    with blobs.open(segment) as file:
        file.seek(offset)
        return file.read(length)


def _parameter_count(folder: Path) -> int:
    classifier = load_classifier(folder)
    return int(sum(int(np.prod(p.shape)) for p in classifier.parameters()))
