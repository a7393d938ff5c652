"""The trial of a sound classifier's branch: samples and features in, a proven export out."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.blobs import Blobs
from orchard.classification import thresholds
from orchard.preprocess.sound import window_of
from orchard.tasks import Answers, task
from orchard.tasks.base import JUDGED
from trainers.backbones import feature_layout, get_backbone, log_mel, speech_embedding
from trainers.backbones.export import export_classifier, load_classifier, onnx_scores, prove_equal
from trainers.classification.bases import Layout, Recipe
from trainers.classification.branch import search
from trainers.classification.candidates import RECIPES, Candidate, draw
from trainers.classification.heads import Problem
from trainers.classification.outcome import curves_of, problem_of
from trainers.classification.population import log_softmax, measure_of
from trainers.engine import paddle
from trainers.features import ROWS_A_BATCH, Features
from trainers.result import Curve, TrialResult
from trainers.samples import Samples, payloads_of
from trainers.sound_classification import classifier, scratch, scratch_classifier

logger = logging.getLogger(__name__)

TASK = "sound_classification"
PROVEN_SAMPLES = 6

SPEECH_RECIPES = (Recipe("all", "both", "feature"), Recipe("all", "both", "block"))
"""The embedding together with the layer before it: alone, it knows fewer kinds of sound apart."""


def feature_width(branch: Mapping[str, Any]) -> int:
    """Numbers of all windows of a recording."""
    if _is_scratch(branch):
        samples = int(window_of(branch["preprocessing"])["samples"])
        return log_mel.BANDS * log_mel.frames(samples) * int(branch["windows"])
    return _feature_count(branch) * int(branch["windows"])


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

    Heads train on the mean of a recording's windows' features; networks from scratch on one window
    at a time. The exported graph answers each window, and the task takes the mean of the answers.

    Args:
        checkpoint_key: below it networks from scratch keep their state between tries.

    Raises:
        BadInput: fewer than two classes have samples.
    """
    labels, objective = tuple(plan["labels"]), str(plan["objective"])
    operations = list(branch["answer_preprocessing"])
    room = task(TASK)

    def prepare(payload: bytes) -> NDArray[np.float32]:
        return room.inputs(operations, room.decode(payload, JUDGED))

    problem = problem_of(samples, labels)
    if _is_scratch(branch):
        found = _from_scratch(
            branch, plan, problem, features, blobs, checkpoint_key, folder, safety_seconds
        )
    else:
        found = _frozen(branch, plan, problem, features, folder, safety_seconds)
    model, layer = found.model, found.layer
    rows = np.concatenate([prepare(each) for each in payloads_of(samples, blobs, PROVEN_SAMPLES)])
    difference = prove_equal(model, layer, rows)
    logger.info("Paddle and ONNX differ by at most %.1e on %d windows", difference, len(rows))
    truth = problem.truth[found.rows]
    calibrated = (found.logits / found.temperature).astype(np.float32)
    scores = np.exp(log_softmax(calibrated)).astype(np.float32)
    card = {"preprocessing": operations}
    length = (int(window_of(operations)["samples"]),)
    answers = Answers(
        labels,
        [room.answer(row[None], length, card) for row in scores],
        [samples.annotations[row] for row in found.rows],
        tuple(samples.sample_ids[row] for row in found.rows),
    )
    return TrialResult(
        model=model,
        parameters=model.parent / "model.pdparams",
        network=model.parent / "network.json",
        parameter_count=sum(int(np.prod(each.shape)) for each in layer.parameters()),
        preprocess=prepare,
        predict=lambda batch: onnx_scores(model, batch),
        golden_payloads=room.golden_payloads(),
        preprocessing=operations,
        answers=answers,
        validation=dict(measure_of(calibrated, truth, objective).figures),
        thresholds=room.thresholds(answers, objective),
        temperature=found.temperature,
        winner={"members": found.members},
        curves=found.curves,
        stopped_by_clock=found.stopped_by_clock,
        proof=difference,
    )


@dataclass(frozen=True)
class _Trained:
    """A branch's exported model, and what it said of the recordings that validated it.

    Attributes:
        rows: (n,) positions of the recordings; `logits` (n, K), before temperature.
        members: hyper-parameters of what was put together.
    """

    model: Path
    layer: paddle.nn.Layer
    rows: NDArray[np.int64]
    logits: NDArray[np.float32]
    temperature: float
    members: list[dict[str, Any]]
    curves: list[Curve]
    stopped_by_clock: bool


def _frozen(
    branch: Mapping[str, Any],
    plan: Mapping[str, Any],
    problem: Problem,
    features: Features,
    folder: Path,
    safety_seconds: float,
) -> _Trained:
    """Search heads on features that were computed once."""
    found = search(
        averaged(features, int(branch["windows"]), folder),
        layout_of(branch),
        problem,
        branch["work"],
        objective=str(plan["objective"]),
        seed=int(plan["seed"]),
        folder=folder,
        safety_seconds=safety_seconds,
        candidates=candidates_of(branch, int(plan["seed"])),
    )
    exported = folder / "export"
    if _is_speech(branch):
        model = classifier.export(exported, found.head)
        layer: paddle.nn.Layer = classifier.load(exported)
    else:
        model = export_classifier(exported, str(branch["backbone"]), found.head)
        layer = load_classifier(exported)
    return _Trained(
        model,
        layer,
        found.rows,
        found.logits,
        found.temperature,
        [{**found.candidates[index].to_json(), "candidate": index} for index in found.members],
        curves_of(found),
        found.outcome.stopped_by_clock,
    )


def _from_scratch(
    branch: Mapping[str, Any],
    plan: Mapping[str, Any],
    problem: Problem,
    features: Features,
    blobs: Blobs,
    checkpoint_key: str,
    folder: Path,
    safety_seconds: float,
) -> _Trained:
    """Train members on spectrograms that were computed once."""
    trained = scratch.train(
        features,
        int(branch["windows"]),
        problem,
        branch["work"],
        blobs,
        checkpoint_key=checkpoint_key,
        objective=str(plan["objective"]),
        seed=int(plan["seed"]),
        folder=folder,
        safety_seconds=safety_seconds,
    )
    temperature = thresholds.temperature(trained.logits, problem.truth[trained.rows])
    exported = folder / "export"
    return _Trained(
        scratch_classifier.export(exported, trained.arrays, temperature),
        scratch_classifier.load(exported),
        trained.rows,
        trained.logits,
        temperature,
        [member.parameters for member in trained.members],
        scratch.curves_of(trained),
        trained.stopped_by_clock,
    )


def layout_of(branch: Mapping[str, Any]) -> Layout:
    """(block, pooling, start, stop) of each part of one window's features."""
    if _is_speech(branch):
        return [(s.block, s.pooling, s.start, s.stop) for s in speech_embedding.layout()]
    return feature_layout(str(branch["backbone"]))


def candidates_of(branch: Mapping[str, Any], seed: int) -> list[Candidate]:
    """The heads that are tried."""
    recipes = SPEECH_RECIPES if _is_speech(branch) else RECIPES
    return draw(int(branch["work"]["candidates"]), seed, recipes)


def averaged(features: Features, windows: int, folder: Path) -> Features:
    """Features of W windows a recording, (V, N, W·D), → of their mean, (V, N, D)."""
    if windows == 1:
        return features
    views, count, width = features.matrix.shape
    shape = (views, count, width // windows)
    matrix = np.memmap(folder / "averaged.f16", np.float16, "w+", shape=shape)
    for view in range(views):
        for start in range(0, count, ROWS_A_BATCH):
            rows = np.asarray(features.matrix[view, start : start + ROWS_A_BATCH], np.float32)
            matrix[view, start : start + len(rows)] = rows.reshape(
                len(rows), windows, shape[2]
            ).mean(axis=1)
    return Features(matrix, features.views, features.rows, features.failures)


def _is_scratch(branch: Mapping[str, Any]) -> bool:
    return branch["mode"] == "from_scratch"


def _is_speech(branch: Mapping[str, Any]) -> bool:
    return branch["backbone"] == speech_embedding.NAME


def _feature_count(branch: Mapping[str, Any]) -> int:
    if _is_speech(branch):
        return speech_embedding.FEATURE_COUNT
    return get_backbone(str(branch["backbone"])).feature_count
