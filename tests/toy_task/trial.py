"""The trial of short texts: softmax regression by plain gradient descent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from orchard.blobs import Blobs, SegmentReader
from orchard.tasks import Answers, task
from trainers.features import Features
from trainers.result import Curve, TrialResult
from trainers.samples import Samples

Floats = NDArray[np.float32]
ROOM = task("short_text")


def feature_width(branch: Mapping[str, Any]) -> int:
    return 0


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
    labels = tuple(plan["labels"])
    operations = list(branch["preprocessing"])
    reader = SegmentReader(blobs)

    def prepare(payload: bytes) -> Floats:
        return ROOM.inputs(operations, ROOM.decode(payload))

    inputs = np.concatenate([prepare(reader.read(*place)) for place in samples.locations])
    reader.close()
    truth = np.array([labels.index(each) for each in samples.annotations])
    steps = int(branch["work"]["steps"])
    scores = np.zeros((len(truth), len(labels)), np.float32)
    for fold in range(samples.fold_count):
        own = samples.folds == fold
        scores[own] = softmax(inputs[own] @ fitted(inputs[~own], truth[~own], len(labels), steps))
    answers = Answers(labels, list(scores[:, None]), samples.annotations, tuple(samples.sample_ids))
    weights = fitted(inputs, truth, len(labels), steps)
    model = exported(folder / "model.onnx", weights)
    (folder / "weights.bin").write_bytes(weights.tobytes())
    (folder / "network.json").write_text(json.dumps({"shape": list(weights.shape)}))

    def predict(rows: Floats) -> Floats:
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        found: Floats = session.run(None, {"input": rows})[0]
        return found

    figures = ROOM.metrics(answers, {})
    names = ("accuracy", "macro_f1", "worst_class_recall", "log_loss")
    validation = {name: figures[name] for name in names}
    curve = Curve(
        candidate=0,
        rank=1,
        parameters={"steps": steps},
        points=[{"epoch": steps, "score": figures["accuracy"], **validation}],
        best=validation,
        score=figures["accuracy"],
        best_epoch=steps,
        epochs=steps,
        rung=0,
        stopped_early=False,
        reason="all steps done",
        member=True,
    )
    return TrialResult(
        model=model,
        parameters=folder / "weights.bin",
        network=folder / "network.json",
        parameter_count=weights.size,
        preprocess=prepare,
        predict=predict,
        golden_payloads=ROOM.golden_payloads(),
        preprocessing=operations,
        answers=answers,
        validation=validation,
        thresholds=ROOM.thresholds(answers, str(plan["objective"])),
        temperature=1.0,
        winner={"steps": steps},
        curves=[curve],
        stopped_by_clock=False,
        proof=float(np.abs(predict(inputs[:4]) - softmax(inputs[:4] @ weights)).max()),
    )


def softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)


def fitted(inputs: Floats, truth: NDArray[np.int64], classes: int, steps: int) -> Floats:
    weights = np.zeros((inputs.shape[1], classes), np.float32)
    wanted = np.eye(classes, dtype=np.float32)[truth]
    for _ in range(steps):
        error = softmax(inputs @ weights) - wanted
        weights -= np.float32(20 / len(truth)) * (inputs.T @ error) + np.float32(1e-4) * weights
    return weights


def exported(path: Path, weights: Floats) -> Path:
    nodes = [
        helper.make_node("MatMul", ["input", "weights"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["scores"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "short-text",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["n", weights.shape[0]])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", weights.shape[1]])],
        [numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path
