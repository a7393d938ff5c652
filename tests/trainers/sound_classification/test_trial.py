"""A trial of a sound classifier, from recordings to a proven export."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from orchard.blobs import Blobs, keys
from orchard.features import Extraction, extracted, recipes_of
from orchard.preprocess.sound import mel_operation, standard
from orchard.tasks import task
from tests.orchard.odd_sounds import encoded
from tests.trainers import store
from trainers.backbones import get_backbone, log_mel, speech_embedding
from trainers.backbones.feature_graph import feature_graph
from trainers.backbones.speech_graph import feature_graph as speech_feature_graph
from trainers.features import Features, read_features
from trainers.result import TrialResult
from trainers.samples import Samples, read_samples
from trainers.sound_classification import trial
from trainers.training import Trainer

TASK = task("sound_classification")
WORK = {
    "candidates": 4,
    "rungs": [{"keep": 4, "epochs": 3}, {"keep": 2, "epochs": 10}],
    "members": 2,
    "scratch_epochs": 24,
}
CHECKPOINT = "local/builds/x/checkpoint"
RATE = 16_000
SAMPLES = 16_000


def recording(label: int, seed: int) -> bytes:
    """A hum of a class's own rhythm and pitch in noise, 0.6 to 2.4 seconds."""
    generator = np.random.default_rng([label, seed])
    time = np.arange(int(generator.uniform(0.6, 2.4) * RATE)) / RATE
    pitch = (260, 420, 700)[label] * generator.uniform(0.94, 1.06)
    beat = 1 + np.sign(np.sin(2 * np.pi * (3, 5, 8)[label] * time))
    sound = 0.1 * beat * np.sin(2 * np.pi * pitch * time)
    noise = generator.normal(size=len(time)) * 0.05
    return encoded((sound + noise) * generator.uniform(0.2, 1.0))


def made(per_class: int) -> list[store.Sample]:
    rows = []
    for label, name in enumerate(store.LABELS):
        for seed in range(per_class):
            payload = recording(label, seed)
            identity = hashlib.sha256(payload).hexdigest()
            rows.append(store.Sample(identity, payload, name, "train", seed % 5))
    return sorted(rows, key=lambda sample: sample.sample_id)


GRAPHS = {speech_embedding.NAME: speech_feature_graph, log_mel.NAME: log_mel.feature_graph}
"""Graphs that take samples; the others take pictures of them."""


def branch(backbone: str, windows: int) -> dict[str, Any]:
    more = [] if backbone in GRAPHS else [mel_operation(hop=250, bands=64)]
    return {
        "key": "branch",
        "title": "Branch",
        "backbone": backbone,
        "mode": "from_scratch" if backbone == log_mel.NAME else "frozen",
        "views": ["plain", "shift"],
        "windows": windows,
        "preprocessing": [*standard(SAMPLES, count=windows, fill="zeros"), *more],
        "answer_preprocessing": [*standard(SAMPLES, fill="zeros"), *more],
        "feature_key": f"{backbone}-{windows}",
        "work": WORK,
    }


def graph_of(backbone: str) -> bytes:
    if backbone in GRAPHS:
        return GRAPHS[backbone]()
    return feature_graph(get_backbone(backbone))


def trained(
    folder: Path, backbone: str, windows: int, **work: int
) -> tuple[TrialResult, list[store.Sample]]:
    """The features of a small set as `prepare` computes them, and the trial on them."""
    folder.mkdir(exist_ok=True)
    blobs = Blobs(f"file://{folder / 'blobs'}")
    rows = made(10)
    store.write_manifest(blobs, rows)
    blobs.write(keys.backbone(backbone), graph_of(backbone))
    plan = {**store.plan({}, []), "task": TASK.name, "branches": [branch(backbone, windows)]}
    samples = read_samples(blobs, store.OWNER, store.DATASET, store.VERSION, 5)
    _prepare(blobs, plan, samples)
    chosen = plan["branches"][0]
    chosen["work"] = {**WORK, **work}
    place = Path(tempfile.mkdtemp(dir=folder))
    features = read_features(
        blobs,
        store.OWNER,
        chosen["feature_key"],
        samples.sample_ids,
        chosen["views"],
        trial.feature_width(chosen),
        place,
    )
    result = trial.run(
        chosen,
        plan,
        samples,
        features,
        blobs,
        checkpoint_key=CHECKPOINT,
        threads=1,
        folder=place,
        safety_seconds=work.get("seconds", 300),
    )
    return result, rows


def _prepare(blobs: Blobs, plan: dict[str, Any], samples: Samples) -> None:
    names = ("segment", "offset", "length")
    rows = [
        {"sample_id": name, **dict(zip(names, place, strict=True)), "wanted": [0]}
        for name, place in zip(samples.sample_ids, samples.locations, strict=True)
    ]
    extraction = Extraction(TASK, blobs, store.OWNER, tuple(recipes_of(plan, TASK)))
    (done,) = extracted([pa.RecordBatch.from_pylist(rows)], extraction, lambda count: None)
    assert done.to_pylist()[0]["computed"] == len(rows)


@pytest.mark.parametrize(
    ("backbone", "windows"),
    [
        (speech_embedding.NAME, 1),
        (speech_embedding.NAME, 2),
        ("efficientnet-lite0", 1),
        (log_mel.NAME, 1),
    ],
)
def test_a_branch_learns_and_its_export_answers_recordings(
    tmp_path: Path, backbone: str, windows: int
) -> None:
    result, rows = trained(tmp_path / "one", backbone, windows)
    assert result.validation["accuracy"] >= 0.8
    assert result.validation["samples"] == len(rows)
    assert result.proof < 1e-4
    assert set(result.thresholds["per_class"]) == set(store.LABELS)
    assert result.answers.truths == [sample.label for sample in rows]

    card = {
        "labels": list(store.LABELS),
        "preprocessing": result.preprocessing,
        "thresholds": result.thresholds,
    }
    assert TASK.metrics(result.answers, card)["accuracy"] == pytest.approx(
        result.validation["accuracy"]
    )
    right = 0
    for sample in rows:
        inputs = result.preprocess(sample.payload)
        answer = TASK.answer(result.predict(inputs), TASK.decode(sample.payload).shape, card)
        right += TASK.verdict(answer, sample.label, card).right
    assert right / len(rows) >= 0.85


def assert_same_bytes(one: TrialResult, other: TrialResult) -> None:
    for name in ("model", "parameters", "network"):
        assert getattr(one, name).read_bytes() == getattr(other, name).read_bytes()


@pytest.mark.parametrize("backbone", GRAPHS)
def test_equal_features_give_equal_bytes(tmp_path: Path, backbone: str) -> None:
    one, _ = trained(tmp_path / "one", backbone, 1, scratch_epochs=2)
    other, _ = trained(tmp_path / "other", backbone, 1, scratch_epochs=2)
    assert_same_bytes(one, other)


def test_a_network_from_scratch_goes_on_where_a_killed_one_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = trained(tmp_path / "whole", log_mel.NAME, 1, scratch_epochs=3)
    usual, begun = Trainer._epoch, []

    def dying(self: Any, state: Any) -> None:
        begun.append(state.epoch)
        if len(begun) == 6:
            raise KeyboardInterrupt
        usual(self, state)

    monkeypatch.setattr(Trainer, "_epoch", dying)
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "killed", log_mel.NAME, 1, scratch_epochs=3)
    resumed, _ = trained(tmp_path / "killed", log_mel.NAME, 1, scratch_epochs=3)
    # The first member is done, the second one has had two of its epochs.
    assert begun[5:] == [2, 2, *3 * [0, 1, 2]]
    assert_same_bytes(resumed, whole)
    assert [curve.to_json() for curve in resumed.curves] == [
        curve.to_json() for curve in whole.curves
    ]
    assert [point["epoch"] for point in resumed.curves[0].points] == [1, 2, 3]


def test_every_window_of_a_long_recording_has_its_say(tmp_path: Path) -> None:
    result, rows = trained(tmp_path, log_mel.NAME, 2, scratch_epochs=1)
    assert result.proof < 1e-5
    inputs = result.preprocess(max((row.payload for row in rows), key=len))
    assert len(inputs) > 2
    assert result.predict(inputs).shape == (len(inputs), len(store.LABELS))


def test_the_clock_ends_training_and_the_trial_says_so(tmp_path: Path) -> None:
    result, rows = trained(tmp_path, log_mel.NAME, 1, scratch_epochs=3, seconds=0)
    assert result.stopped_by_clock
    assert result.validation["samples"] == len(rows)
    assert "stopped from outside" in result.curves[0].reason


def test_windows_are_averaged(tmp_path: Path) -> None:
    matrix = np.arange(2 * 3 * 8, dtype=np.float16).reshape(2, 3, 8)
    features = Features(matrix, ("plain", "shift"), np.arange(3), {})
    found = trial.averaged(features, 2, tmp_path).matrix
    assert found.shape == (2, 3, 4)
    assert (found == matrix.reshape(2, 3, 2, 4).mean(axis=2)).all()
    assert trial.averaged(features, 1, tmp_path) is features
