"""The trial of a picture classifier's branch: samples and features in, a proven export out."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.blobs import Blobs
from orchard.classification import thresholds
from orchard.tasks import Answers, task
from orchard.tasks.base import JUDGED
from trainers.backbones import feature_layout, get_backbone
from trainers.backbones.architecture import Weights
from trainers.backbones.export import export_classifier, load_classifier, onnx_scores, prove_equal
from trainers.classification.branch import search
from trainers.classification.outcome import curves_of, problem_of
from trainers.classification.population import log_softmax, measure_of
from trainers.features import Features
from trainers.head_weights import HeadWeights
from trainers.image_classification import fine_tuned
from trainers.result import TrialResult
from trainers.samples import Samples, payloads_of

logger = logging.getLogger(__name__)

TASK = "image_classification"
PROVEN_SAMPLES = 6


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
    checkpoint_key: str,
    threads: int,
    folder: Path,
    safety_seconds: float,
) -> TrialResult:
    """Train the branch, export its winner below `folder` and prove Paddle = ONNX.

    Args:
        checkpoint_key: where a fine-tuned branch keeps its state between tries.

    Raises:
        BadInput: fewer than two classes have samples.
    """
    labels = tuple(plan["labels"])
    backbone = get_backbone(str(branch["backbone"]))
    operations = list(branch["preprocessing"])
    room = task(TASK)

    def prepare(payload: bytes) -> NDArray[np.float32]:
        return room.inputs(operations, room.decode(payload, JUDGED))

    problem = problem_of(samples, labels)
    tuned = branch["mode"] == "fine_tuned"
    found = search(
        features,
        feature_layout(backbone.name),
        problem,
        branch["work"],
        objective=str(plan["objective"]),
        seed=int(plan["seed"]),
        folder=folder,
        safety_seconds=safety_seconds,
        refit_on_all=not tuned,
    )
    trained = _Trained(found.head, None, found.rows, found.logits, found.temperature)
    stopped, note = found.outcome.stopped_by_clock, {}
    if tuned:
        result, rows, clock = fine_tuned.train(
            backbone,
            found.head,
            samples,
            problem,
            branch["work"],
            blobs,
            lambda payload: prepare(payload)[0],
            checkpoint_key=checkpoint_key,
            objective=str(plan["objective"]),
            seed=int(plan["seed"]),
            threads=threads,
            folder=folder,
            safety_seconds=safety_seconds,
        )
        stopped = stopped or clock
        temperature = thresholds.temperature(result.validation_logits, problem.truth[rows])
        trained = _Trained(
            replace(result.head, temperature=temperature),
            result.weights,
            rows,
            result.validation_logits,
            temperature,
        )
        note = {
            "fine_tuning": {
                "best_epoch": result.best_epoch,
                "stop_reason": result.stop_reason,
                "frozen_accuracy": result.history[0].validation_accuracy,
                "validation_accuracy": [epoch.validation_accuracy for epoch in result.history],
            }
        }
    exported = folder / "export"
    model = export_classifier(exported, backbone, trained.head, trained.weights)
    payloads = payloads_of(samples, blobs, PROVEN_SAMPLES)
    classifier = load_classifier(exported)
    difference = prove_equal(
        model, classifier, np.concatenate([prepare(each) for each in payloads])
    )
    logger.info("Paddle and ONNX differ by at most %.1e on %d pictures", difference, len(payloads))
    truth = problem.truth[trained.rows]
    calibrated = (trained.logits / trained.temperature).astype(np.float32)
    answers = Answers(
        labels,
        np.exp(log_softmax(calibrated)).astype(np.float32)[:, None],
        [samples.annotations[row] for row in trained.rows],
        tuple(samples.sample_ids[row] for row in trained.rows),
    )
    return TrialResult(
        model=model,
        parameters=exported / "model.pdparams",
        network=exported / "network.json",
        parameter_count=sum(int(np.prod(each.shape)) for each in classifier.parameters()),
        preprocess=prepare,
        predict=lambda batch: onnx_scores(model, batch),
        golden_payloads=room.golden_payloads(),
        preprocessing=operations,
        answers=answers,
        validation=dict(measure_of(calibrated, truth, str(plan["objective"])).figures),
        thresholds=room.thresholds(answers, str(plan["objective"])),
        temperature=trained.temperature,
        winner={
            "members": [
                {**found.candidates[index].to_json(), "candidate": index} for index in found.members
            ],
            **note,
        },
        curves=curves_of(found),
        stopped_by_clock=stopped,
        proof=difference,
    )


@dataclass(frozen=True)
class _Trained:
    """The branch's model before its export, and its logits on the rows that validated it."""

    head: HeadWeights
    weights: Weights | None
    rows: NDArray[np.int64]
    logits: NDArray[np.float32]
    temperature: float
