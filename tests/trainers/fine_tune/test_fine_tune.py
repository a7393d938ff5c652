from __future__ import annotations

import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from orchard.errors import BadInput
from trainers.backbones import Backbone
from trainers.backbones.export import (
    export_classifier,
    load_classifier,
    onnx_scores,
    prove_equal,
)
from trainers.fine_tune import Augmentation, FineTuned, FineTuneSettings, fine_tune
from trainers.fine_tune.augment import normalised
from trainers.head_weights import HeadWeights

ROOT = Path(__file__).parents[3]


class Stripes:
    """Pictures of stripes in one of three directions, in noise."""

    def __init__(self, count: int, seed: int, size: int = 16) -> None:
        random = np.random.default_rng(seed)
        self.labels = random.integers(0, 3, count)
        rows, columns = np.mgrid[:size, :size]
        phase = random.uniform(0, 6, (count, 1, 1))
        along = np.stack([rows, columns, rows + columns])[self.labels]
        pattern = 127 + 60 * np.sin(along * 1.6 + phase)[..., None]
        noisy = pattern + random.normal(0, 25, (count, size, size, 3))
        self.pixels = noisy.clip(0, 255).astype(np.uint8)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        return self.pixels[index], int(self.labels[index])


TRAINING, VALIDATION = Stripes(192, seed=1), Stripes(60, seed=2)
SETTINGS = FineTuneSettings(
    "block0",
    epochs=6,
    batch_size=16,
    learning_rate=2e-2,
    head_learning_rate=5e-2,
    patience=6,
    augmentation=Augmentation(mirror=False),
)


def start_head(features: int = 44) -> HeadWeights:
    zeros = np.zeros(features, np.float32)
    return HeadWeights(zeros, zeros + 1, [(np.zeros((features, 3), np.float32), zeros[:3])], 2.0)


def train(tiny: Backbone, folder: Path, settings: FineTuneSettings, **more: object) -> FineTuned:
    validation = more.pop("validation", VALIDATION)
    head = start_head(tiny.feature_count)
    return fine_tune(tiny, head, TRAINING, validation, folder=folder, settings=settings, **more)


def assert_same(first: FineTuned, second: FineTuned) -> None:
    for name, array in first.weights.items():
        np.testing.assert_array_equal(array, second.weights[name], err_msg=name)
    for one, other in zip(first.head.layers, second.head.layers, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])
    np.testing.assert_array_equal(first.validation_logits, second.validation_logits)
    assert first.stop_reason == second.stop_reason
    assert first.best_epoch == second.best_epoch
    curves = [[dataclasses.replace(e, seconds=0) for e in f.history] for f in (first, second)]
    assert str(curves[0]) == str(curves[1])


@pytest.mark.parametrize(
    ("first_block", "accuracy"),
    # the frozen blocks are random numbers: the more is trained, the better
    [("stem", 0.75), ("block0", 0.6), ("head", 0.4)],
)
def test_it_learns_and_exports(
    tmp_path: Path, tiny: Backbone, first_block: str, accuracy: float
) -> None:
    settings = dataclasses.replace(SETTINGS, first_block=first_block)
    result = train(tiny, tmp_path, settings)
    start = result.history[0]
    best = result.history[result.best_epoch]
    assert start.epoch == 0 and math.isnan(start.training_loss)
    assert start.validation_loss == pytest.approx(math.log(3), rel=1e-5)
    assert best.validation_accuracy > accuracy
    assert best.validation_loss < start.validation_loss
    frozen = [b.name for b in tiny.blocks]
    frozen = frozen[: frozen.index(first_block)]
    before = tiny.load_weights()
    for name, array in result.weights.items():
        kept = name.split(".")[0] in frozen or name.endswith(".scale")
        assert np.array_equal(array, before[name]) == kept, name

    path = export_classifier(tmp_path / "export", tiny, result.head, result.weights)
    inputs = np.stack([normalised(VALIDATION[i][0], tiny) for i in range(len(VALIDATION))])
    assert prove_equal(path, load_classifier(tmp_path / "export"), inputs) < 1e-4
    scores = np.exp(result.validation_logits)
    scores /= scores.sum(1, keepdims=True)
    # the cached maps are float16
    np.testing.assert_allclose(onnx_scores(path, inputs), scores, atol=5e-3)


@pytest.mark.parametrize("optimiser", ["adamw", "momentum"])
@pytest.mark.parametrize("first_block", ["stem", "block0"])
def test_a_disturbed_training_ends_as_an_undisturbed_one(
    tmp_path: Path, tiny: Backbone, optimiser: str, first_block: str
) -> None:
    settings = dataclasses.replace(
        SETTINGS, optimiser=optimiser, first_block=first_block, learning_rate=5e-3, epochs=4
    )
    undisturbed = train(tiny, tmp_path / "a", settings)
    for stops in (1, 2):
        part = train(tiny, tmp_path / "b", settings, should_stop=lambda: True)
        assert part.stop_reason == f"stopped from outside after epoch {stops}"
    assert_same(undisturbed, train(tiny, tmp_path / "b", settings))
    assert_same(undisturbed, train(tiny, tmp_path / "b", settings))


PROGRAM = """
import json, logging, sys
from pathlib import Path
from tests.trainers.backbones.tiny import TINY
from tests.trainers.fine_tune import test_fine_tune as t
from trainers.engine import paddle
paddle.nn.Linear(3, 3)
logging.basicConfig(level="INFO", stream=sys.stdout)
t.train(TINY, Path(sys.argv[1]), t.SETTINGS)
"""


def test_a_killed_training_goes_on(tmp_path: Path, tiny: Backbone) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path / "b")]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "epoch 2 of" in line:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    assert_same(train(tiny, tmp_path / "a", SETTINGS), train(tiny, tmp_path / "b", SETTINGS))


def test_a_half_filled_cache_is_filled_again(tmp_path: Path, tiny: Backbone) -> None:
    class Broken(Stripes):
        def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
            if index == 50:
                raise RuntimeError("away")
            return super().__getitem__(index)

    with pytest.raises(RuntimeError, match="away"):
        fine_tune(
            tiny, start_head(), Broken(192, 1), VALIDATION, folder=tmp_path / "b", settings=SETTINGS
        )
    assert_same(train(tiny, tmp_path / "a", SETTINGS), train(tiny, tmp_path / "b", SETTINGS))


def test_the_cache_is_used_again(tmp_path: Path, tiny: Backbone) -> None:
    train(tiny, tmp_path, SETTINGS)
    written = (tmp_path / "training" / "maps.npy").stat().st_mtime_ns
    train(tiny, tmp_path, dataclasses.replace(SETTINGS, learning_rate=1e-3))
    assert (tmp_path / "training" / "maps.npy").stat().st_mtime_ns == written
    train(tiny, tmp_path, dataclasses.replace(SETTINGS, views=2))
    assert (tmp_path / "training" / "maps.npy").stat().st_mtime_ns != written
    facts = json.loads((tmp_path / "training" / "facts.json").read_text())
    assert facts["shape"] == [192, 2, 8, 8, 8]


def test_other_settings_do_not_go_on_from_a_checkpoint(tmp_path: Path, tiny: Backbone) -> None:
    train(tiny, tmp_path, SETTINGS)
    other = dataclasses.replace(SETTINGS, epochs=2)
    assert len(train(tiny, tmp_path, other).history) == 3
    (tmp_path / "checkpoint.npz").write_bytes(b"PK half a file")
    assert len(train(tiny, tmp_path, other).history) == 3


def test_training_stops_early_and_keeps_the_best(tmp_path: Path, tiny: Backbone) -> None:
    settings = dataclasses.replace(SETTINGS, epochs=30, patience=2, objective="loss")
    result = train(tiny, tmp_path, dataclasses.replace(settings, learning_rate=0.3))
    assert result.stop_reason == "no better epoch in the last 2"
    losses = [epoch.validation_loss for epoch in result.history]
    assert losses[result.best_epoch] == min(losses)
    assert len(losses) == result.best_epoch + 3


def test_a_loss_that_is_no_number_keeps_the_start(tmp_path: Path, tiny: Backbone) -> None:
    settings = dataclasses.replace(SETTINGS, optimiser="momentum", learning_rate=1e30, warm_up=0.0)
    result = train(tiny, tmp_path, settings)
    assert "no longer a number" in result.stop_reason
    assert result.best_epoch == 0
    assert all(np.isfinite(array).all() for array in result.weights.values())


def test_without_validation_pictures_the_last_epoch_counts(tmp_path: Path, tiny: Backbone) -> None:
    result = train(tiny, tmp_path, SETTINGS, validation=None)
    assert result.best_epoch == SETTINGS.epochs
    assert result.validation_logits.shape == (0, 3)
    assert result.stop_reason == "all 6 epochs done"


def test_class_weights_move_the_answers(tmp_path: Path, tiny: Backbone) -> None:
    settings = dataclasses.replace(SETTINGS, epochs=1)
    heavy = dataclasses.replace(settings, class_weights=(50.0, 1.0, 1.0))
    shares = [
        float((train(tiny, tmp_path / str(i), s, validation=VALIDATION).history[-1]).training_loss)
        for i, s in enumerate((settings, heavy))
    ]
    assert shares[0] != pytest.approx(shares[1], rel=1e-3)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"first_block": "block9"}, "stem, block0"),
        ({"epochs": 0}, "epochs"),
        ({"label_smoothing": 1.0}, "label_smoothing"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"optimiser": "lion"}, "lion"),
        ({"class_weights": (1.0,)}, "3 classes"),
    ],
)
def test_settings_out_of_range_are_refused(
    tmp_path: Path, tiny: Backbone, change: dict[str, object], text: str
) -> None:
    with pytest.raises(BadInput, match=text):
        train(tiny, tmp_path, dataclasses.replace(SETTINGS, **change))


def test_labels_out_of_range_are_refused(tmp_path: Path, tiny: Backbone) -> None:
    pictures = Stripes(8, 0)
    pictures.labels[3] = 7
    with pytest.raises(BadInput, match="from 0 to 2"):
        fine_tune(tiny, start_head(), pictures, None, folder=tmp_path, settings=SETTINGS)


def test_progress_has_numbers(
    tmp_path: Path, tiny: Backbone, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    train(tiny, tmp_path, dataclasses.replace(SETTINGS, epochs=1))
    assert "frozen part: 192 of 192 pictures" in caplog.text
    assert "epoch 1 of 1: training loss" in caplog.text
    assert "training ends: all 1 epochs done" in caplog.text
