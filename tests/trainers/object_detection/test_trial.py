"""A detector's trial on made-up pictures: it exports, is proven, repeatable, and says what failed."""

from __future__ import annotations

import logging

import numpy as np
import onnx
import pytest

from orchard.blobs import Blobs
from tests.trainers.object_detection.conftest import KEY, Trained, hashes
from tests.trainers.object_detection.synthetic import OPERATIONS, data, pixels_of
from trainers.object_detection import population

SHORT = {"rungs": [{"keep": 1, "epochs": 2}]}


@pytest.fixture(scope="module")
def short(trained: Trained):  # type: ignore[no-untyped-def]
    return trained(**SHORT)


def test_the_exported_graph_answers_as_the_contract_says(short) -> None:  # type: ignore[no-untyped-def]
    model = onnx.load(str(short.model))
    assert [each.name for each in model.graph.input] == ["input"]
    assert len(model.graph.output) == 1
    inputs = short.preprocess(short.golden_payloads[0])
    outputs = short.predict(np.concatenate([inputs, inputs]))
    positions = sum(64 // s * (96 // s) for s in (4, 8, 16))
    assert outputs.shape == (2, positions, 4 + 2)
    assert outputs.dtype == np.float32
    assert ((outputs[..., 4:] >= 0) & (outputs[..., 4:] <= 1)).all()
    assert (outputs[..., 2:4] >= outputs[..., :2]).all()
    np.testing.assert_allclose(outputs[0], outputs[1], atol=1e-5)


def test_paddle_and_onnx_give_the_same(short) -> None:  # type: ignore[no-untyped-def]
    assert short.proof < 1e-5


def test_a_mirrored_picture_gives_mirrored_boxes(short) -> None:  # type: ignore[no-untyped-def]
    assert short.winner["mirrored"]
    inputs = short.preprocess(short.golden_payloads[0])
    plain = short.predict(inputs)[0]
    mirrored = short.predict(np.ascontiguousarray(inputs[..., ::-1]))[0]
    # Positions are exchanged, so sort by what both have: the scores.
    np.testing.assert_allclose(np.sort(plain[:, 4]), np.sort(mirrored[:, 4]), atol=1e-5)
    first, second = plain[:, 0].sum(), (96 - mirrored[:, 2]).sum()
    assert first == pytest.approx(second, rel=1e-3)


def test_every_held_out_picture_has_an_answer_and_its_truth(short) -> None:  # type: ignore[no-untyped-def]
    assert len(short.answers.answers) == 8  # two members hold out a fourth of 16 each
    assert short.answers.labels == ("bright", "dark")
    assert all(answer.shape[1] == 6 for answer in short.answers.answers)
    assert "ap50" in short.validation
    assert short.preprocessing == OPERATIONS
    assert sum(curve.member for curve in short.curves) == 2


def test_two_processes_give_the_bytes_of_one(trained: Trained, short) -> None:  # type: ignore[no-untyped-def]
    assert hashes(trained(**SHORT, processes=2)) == hashes(short)


def test_a_trial_goes_on_where_a_killed_one_was(
    trained: Trained, tmp_path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:  # type: ignore[no-untyped-def]
    caplog.set_level(logging.INFO)
    work = {"members": 1, "candidates": 2, "patience": 9}
    rungs = [{"keep": 2, "epochs": 2}, {"keep": 1, "epochs": 2}]
    whole = trained(**work, rungs=rungs)

    class Killed(Exception):
        pass

    trained_epochs = []
    usual = population.Candidate.train_epoch

    def dying(self):  # type: ignore[no-untyped-def]
        trained_epochs.append(self.epoch)
        if len(trained_epochs) == 5:
            raise Killed
        return usual(self)

    monkeypatch.setattr(population.Candidate, "train_epoch", dying)
    with pytest.raises(Killed):
        trained(tmp_path, **work, rungs=rungs)
    assert Blobs(str(tmp_path / "store")).exists(f"{KEY}/member-0.npz")
    resumed = trained(tmp_path, **work, rungs=rungs)
    assert "goes on from where an earlier try was" in caplog.text
    # 4 epochs of both in the first rung are not trained again, only the two of the last one.
    assert trained_epochs[5:] == [2, 3]
    assert hashes(resumed) == hashes(whole)
    assert [curve.to_json() for curve in resumed.curves] == [
        curve.to_json() for curve in whole.curves
    ]


def test_a_detector_that_finds_nothing_says_so(
    trained: Trained, caplog: pytest.LogCaptureFixture
) -> None:
    result = trained(labelled=False, rungs=[{"keep": 1, "epochs": 6}], patience=2, members=1)
    assert result.winner["found_nothing"]
    assert "found nothing" in result.curves[0].reason
    assert result.curves[0].stopped_early
    assert result.curves[0].epochs < 6
    assert "the branch found nothing" in caplog.text


def test_a_detector_learns(trained: Trained) -> None:
    """More than chance after a few seconds: boxes of two kinds in grey noise."""
    result = trained(members=1, rungs=[{"keep": 1, "epochs": 40}], patience=40)
    assert result.validation["ap50"] > 0.3
    assert "found_nothing" not in result.winner


def test_the_store_of_the_tests_holds_what_is_drawn(tmp_path) -> None:  # type: ignore[no-untyped-def]
    blobs, samples, _ = data(tmp_path, 4)
    segment, offset, length = samples.locations[0]
    with blobs.open(segment) as file:
        file.seek(offset)
        pixels = pixels_of(file.read(length)).astype(float)
    box = samples.annotations[0]["boxes"][0]
    inside = pixels[
        box["top"] : box["top"] + box["height"], box["left"] : box["left"] + box["width"]
    ].mean()
    assert (inside > 160) if box["label"] == "bright" else (inside < 80)
