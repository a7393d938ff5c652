from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pyarrow
import pyarrow.parquet as parquet
import pytest
from mlflow.tracking import MlflowClient

from orchard import bundle as bundles
from orchard import tracking
from orchard.blobs import Blobs, keys
from orchard.errors import BadInput, OrchardError, TryAgain
from orchard.inference import Model
from orchard.program import Step
from orchard.settings import settings
from tests.trainers import store
from trainers import trial
from trainers.samples import read_samples
from trainers.training import Trainer

WORK = {
    "candidates": 8,
    "rungs": [{"keep": 8, "epochs": 6}, {"keep": 3, "epochs": 30}],
    "members": 3,
    "fine_tune_epochs": 2,
    "unfrozen_blocks": 2,
}
VIEWS = ["plain", "mirror"]
KEY = f"lite0-{store.SIZE}-squash"
BASE = keys.trial(store.OWNER, store.BUILD, KEY)


def step(project: str = "shapes", index: int = 0, attempt: int = 1) -> Step:
    build = {
        "_id": store.BUILD,
        "owner": store.OWNER,
        "project": project,
        "run_id": "manual__1",
        "parameters": {},
    }
    blobs = Blobs(settings().blobs_root)
    return Step("trial", build, index, attempt, settings(), blobs, None)  # type: ignore[arg-type]


def fill(blobs: Blobs, per_class: int = 30, **changes: Any) -> list[store.Sample]:
    """Manifest, features and plan of a small version."""
    made = store.samples(per_class)
    store.write_manifest(blobs, made)
    store.write_features(blobs, made, VIEWS)
    plan = store.plan(WORK, VIEWS)
    plan["branches"][0].update(changes)
    blobs.write_json(keys.plan(store.OWNER, store.BUILD), plan)
    return made


def test_a_trial_leaves_a_proven_bundle_and_the_same_one_again(stores: Path) -> None:
    blobs = step().blobs
    made = fill(blobs)
    facts = trial.body(step())
    assert facts["bundle"] == bundles.bundle_hash(_local(blobs, stores / "one"))
    assert facts["validation"]["accuracy"] > 0.6
    assert facts["validation"]["samples"] == len(made)
    assert facts["proof"] < 1e-4
    assert facts["reproducible"] is True
    assert KEY in facts["branch"] and facts["bundle"] in facts["summary"]
    model = Model(bundles.read(stores / "one", facts["bundle"]))
    right = [int(model.answers([sample.payload])[0].argmax()) == _index(sample) for sample in made]
    assert np.mean(right) >= facts["validation"]["accuracy"]
    assert facts["support"] == len(made)
    assert model.verify() < 1e-4
    again = trial.body(step(attempt=2))
    assert again["bundle"] == facts["bundle"]
    assert again["mlflow_run_id"] == facts["mlflow_run_id"]
    _check_tables(blobs, made, facts)
    _check_runs(facts)


def _index(sample: store.Sample) -> int:
    return store.LABELS.index(sample.label)


def _local(blobs: Blobs, folder: Path) -> Path:
    blobs.download_folder(f"{BASE}/bundle", folder)
    return folder


def _check_tables(blobs: Blobs, made: list[store.Sample], facts: dict[str, Any]) -> None:
    with blobs.open(f"{BASE}/out_of_fold.parquet") as file:
        table: pyarrow.Table = parquet.read_table(file)
    assert table.column("sample_id").to_pylist() == [sample.sample_id for sample in made]
    assert [json.loads(text) for text in table.column("annotation").to_pylist()] == [
        sample.label for sample in made
    ]
    scores = np.array(table.column("answer").to_pylist())
    np.testing.assert_allclose(scores.sum(axis=1), 1.0, atol=1e-5)
    labels = json.loads(table.schema.metadata[b"labels"])
    answers = [labels[i] for i in scores.argmax(axis=1)]
    accuracy = np.mean([a == s.label for a, s in zip(answers, made, strict=True)])
    assert accuracy == pytest.approx(facts["validation"]["accuracy"])
    board = blobs.read_json(f"{BASE}/leaderboard.json")
    curves = blobs.read_json(f"{BASE}/curves.json")
    assert [row["rank"] for row in board] == list(range(1, 9))
    stopped = [row for row in board if row["stopped_early"]]
    assert len(stopped) == facts["stopped_early"] > 0
    assert "no better than" in stopped[0]["reason"]
    assert len(curves[str(stopped[0]["candidate"])]) >= 6


def _check_runs(facts: dict[str, Any]) -> None:
    """Seen through MLflow's own client: parent → branch → best five candidates, each once."""
    client = MlflowClient(settings().tracking_uri)
    branch = client.get_run(facts["mlflow_run_id"])
    parent = client.get_run(branch.data.tags["mlflow.parentRunId"])
    assert parent.data.tags["orchard.build_id"] == store.BUILD
    assert branch.info.status == "FINISHED"
    assert branch.data.tags["mlflow.runName"] == facts["title"]
    assert branch.data.metrics["accuracy"] == pytest.approx(facts["validation"]["accuracy"])
    assert branch.data.metrics["seconds"] > 0 and branch.data.metrics["memory_mb"] > 0
    runs = client.search_runs([branch.info.experiment_id], max_results=100)
    kinds = [run.data.tags["orchard.kind"] for run in runs]
    assert sorted(kinds) == ["branch", "build"] + ["candidate"] * 5 or sorted(kinds) == sorted(
        ["branch", "build"] + ["candidate"] * 5
    )
    candidates = [run for run in runs if run.data.tags["orchard.kind"] == "candidate"]
    stopped = [run for run in candidates if run.data.tags["stopped_early"] == "true"]
    assert stopped and "no better than" in stopped[0].data.tags["stop_reason"]
    curve = client.get_metric_history(stopped[0].info.run_id, "accuracy")
    assert len(curve) >= 6
    assert [point.step for point in curve] == sorted(point.step for point in curve)
    assert {"learning_rate", "optimiser", "hidden"} <= set(stopped[0].data.params)


def test_a_fine_tuned_branch_goes_on_from_its_checkpoint(
    stores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = step().blobs
    fill(blobs, per_class=12, mode="fine_tuned")
    facts = trial.body(step("tuned"))
    note = facts["winner"]["fine_tuning"]
    assert len(note["validation_accuracy"]) == 3
    assert note["stop_reason"] == "all 2 epochs done"
    assert not blobs.exists(f"{BASE}/checkpoint/state.npz")
    bundles.read(_local(blobs, stores / "undisturbed"), facts["bundle"])

    original, calls = Trainer._epoch, []

    def killed(self: Any, state: Any) -> None:
        calls.append(state.epoch)
        if len(calls) == 2:
            raise KeyboardInterrupt
        original(self, state)

    monkeypatch.setattr(Trainer, "_epoch", killed)
    with pytest.raises(KeyboardInterrupt):
        trial.body(step("tuned"))
    monkeypatch.setattr(Trainer, "_epoch", original)
    assert blobs.exists(f"{BASE}/checkpoint/state.npz")
    again = trial.body(step("tuned", attempt=2))
    assert again["bundle"] == facts["bundle"]


def test_mlflow_away_is_worth_another_try(stores: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCHARD_TRACKING_URI", "http://127.0.0.1:9")
    settings.cache_clear()
    fill(step().blobs, per_class=6)
    with pytest.raises(TryAgain, match="MLflow does not answer"):
        trial.body(step())


def test_an_index_outside_the_plan_is_refused(stores: Path) -> None:
    fill(step().blobs, per_class=6)
    with pytest.raises(BadInput, match="no such branch"):
        trial.body(step(index=3))


def test_samples_without_features_are_named(stores: Path) -> None:
    blobs = step().blobs
    made = fill(blobs, per_class=6)
    blobs.delete(f"{keys.features(store.OWNER, store.feature_key())}/part-{1:016x}")
    with pytest.raises(OrchardError, match="no features in the cache"):
        trial.body(step())
    assert len(made) == 18


def test_one_run_a_build_however_often_it_is_asked_for(stores: Path) -> None:
    first = tracking.parent_run(step("once"))
    assert tracking.parent_run(step("once")) == first
    assert first in tracking.run_url(first)
    tracking.log_artifact_bytes(first, "evaluation/report.html", b"<p>well</p>")
    tracking.log_metrics(first, {"test_accuracy": 0.9, "name": "not a number", "gone": np.inf})
    client = MlflowClient(settings().tracking_uri)
    run = client.get_run(first)
    assert run.data.metrics == {"test_accuracy": 0.9}
    names = [item.path for item in client.list_artifacts(first, "evaluation")]
    assert names == ["evaluation/report.html"]
    assert tracking.artifact_url(first, "evaluation/report.html").endswith("report.html")


@pytest.mark.parametrize("folds", [0, 5])
def test_samples_are_dealt_to_folds_as_the_manifest_says(stores: Path, folds: int) -> None:
    blobs = step().blobs
    made = store.samples(10)
    store.write_manifest(blobs, made)
    samples = read_samples(blobs, store.OWNER, store.DATASET, store.VERSION, folds)
    assert samples.sample_ids == [sample.sample_id for sample in made]
    assert samples.annotations == [sample.label for sample in made]
    expected = [s.fold if folds else (0 if s.fold == 0 else -1) for s in made]
    assert samples.folds.tolist() == expected


def test_the_graph_of_a_bundle_takes_any_number_of_pictures(stores: Path) -> None:
    blobs = step().blobs
    fill(blobs, per_class=8)
    trial.body(step("batches"))
    path = _local(blobs, stores / "bundle") / bundles.MODEL
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    values = np.random.default_rng(0).standard_normal((3, 3, store.SIZE, store.SIZE))
    scores = session.run(None, {"input": values.astype(np.float32)})[0]
    assert scores.shape == (3, len(store.LABELS))
    np.testing.assert_allclose(scores.sum(axis=1), 1, atol=1e-5)
