"""A detector whose backbone is trained: from pretrained or random weights, in part or whole."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

from tests.trainers.object_detection.conftest import Trained, hashes
from tests.trainers.object_detection.synthetic import HEIGHT, TINY_MAPS, WIDTH, registered
from trainers.backbones.architecture import folded
from trainers.engine import paddle
from trainers.object_detection import population
from trainers.object_detection.detector import NETWORK
from trainers.object_detection.maps import split_maps
from trainers.object_detection.network import Head, Shape
from trainers.object_detection.pixels import (
    PixelPictures,
    entering,
    frozen_graph,
    level_graph,
)
from trainers.object_detection.unfrozen import Unfrozen, folded_arrays

LEVELS = ((12, 16, 24, 4), (16, 8, 12, 8), (28, 4, 6, 16))
WORK: dict[str, Any] = {
    "mode": "fine_tuned",
    "members": 1,
    "rungs": [{"keep": 1, "epochs": 2}],
    "frozen_to": "block0",
    "weights": "pretrained",
    "threads": 1,
}


def pictures(graph: bytes = b"") -> PixelPictures:
    random = np.random.default_rng(3)
    matrix = random.normal(size=(1, 5, 3 * HEIGHT * WIDTH)).astype(np.float16)
    none = [np.zeros((0, 4), np.float32)] * 5
    classes = [np.zeros(0, np.int64)] * 5
    views = ("plain", "mirror", "flip", "turn")
    return PixelPictures(matrix, views, LEVELS, HEIGHT, WIDTH, none, classes, graph=graph)


def model(frozen_to: str, weights: Any) -> Unfrozen:
    scales = [np.ones(channels, np.float32) for channels, *_ in LEVELS]
    return Unfrozen(TINY_MAPS, frozen_to, weights, Head(Shape(LEVELS, 8, 2), scales))


def test_a_view_of_pixels_is_the_picture_flipped() -> None:
    plain, mirror, flip, turn = pictures().inputs([(2, view) for view in range(4)])
    np.testing.assert_array_equal(mirror, plain[:, :, ::-1])
    np.testing.assert_array_equal(flip, plain[:, ::-1])
    np.testing.assert_array_equal(turn, plain[:, ::-1, ::-1])


@pytest.mark.parametrize("frozen_to", ["", "block0", "block2"])
def test_frozen_and_trained_blocks_together_are_the_whole_backbone(frozen_to: str) -> None:
    pixels = pictures(frozen_graph(TINY_MAPS, frozen_to))
    whole = model(frozen_to, "pretrained")
    seen: list[Any] = []
    whole.head.forward = lambda maps: seen.extend(each.numpy() for each in maps)  # type: ignore[method-assign]
    whole([paddle.to_tensor(each) for each in pixels.maps([(0, 0), (1, 1)])])
    expected = pixels.through(level_graph(TINY_MAPS)).maps([(0, 0), (1, 1)])
    assert len(seen) == len(expected) == 3
    for one, other in zip(seen, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_what_enters_the_trained_part_is_named_once() -> None:
    assert entering(TINY_MAPS, "") == []
    assert entering(TINY_MAPS, "stem") == ["stem"]
    assert entering(TINY_MAPS, "block1") == ["block1", "block0"]


def test_random_weights_are_folded_with_their_own_statistics() -> None:
    whole = model("", "random")
    inputs = paddle.to_tensor(pictures().inputs([(number, 0) for number in range(5)]))
    whole.train()
    for _ in range(3):
        whole.network(inputs)
    whole.eval()
    arrays = folded_arrays(whole)
    with paddle.no_grad():
        (before, *_), value = whole.network(inputs), inputs
        weight = paddle.to_tensor(arrays[f"{NETWORK}.stem.convolution.weight"])
        bias = paddle.to_tensor(arrays[f"{NETWORK}.stem.convolution.bias"])
        value = paddle.nn.functional.conv2d(value, weight, bias, stride=2, padding=[0, 1, 0, 1])
        after = paddle.nn.functional.relu6(value)
    np.testing.assert_allclose(before.numpy(), after.numpy(), atol=1e-4)


@pytest.fixture(scope="module")
def short(trained: Trained):  # type: ignore[no-untyped-def]
    return trained(**WORK)


def test_the_export_is_proven_and_only_the_trained_blocks_have_changed(short) -> None:  # type: ignore[no-untyped-def]
    assert short.proof < 1e-5
    arrays = paddle.load(str(short.parameters))
    weights = TINY_MAPS.backbone.load_weights()
    changed = set()
    for convolution in (c for block in TINY_MAPS.blocks for c in block.convolutions):
        pretrained, _ = folded(convolution, weights)
        own = np.asarray(arrays[f"{NETWORK}.{convolution.name}.weight"])
        if not np.array_equal(own, pretrained):
            changed.add(convolution.name.split(".")[0])
    assert changed == {"block1", "block2", "block3"}


def test_answers_are_those_of_the_exported_graph_to_what_was_held_out(short) -> None:  # type: ignore[no-untyped-def]
    assert len(short.answers.answers) == 4  # one member holds out a fourth of 16
    assert "ap50" in short.validation
    assert short.winner["mirrored"]


@pytest.mark.parametrize("weights", ["pretrained", "random"])
def test_it_goes_on_where_a_killed_trial_was(
    weights: str,
    trained: Trained,
    tmp_path,  # type: ignore[no-untyped-def]
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    frozen_to = "block0" if weights == "pretrained" else ""
    work = {**WORK, "weights": weights, "frozen_to": frozen_to, "rungs": [{"keep": 1, "epochs": 3}]}
    whole = trained(**work)

    class Killed(Exception):
        pass

    usual = population.Candidate.train_epoch

    def dying(self):  # type: ignore[no-untyped-def]
        if self.epoch == 2:
            raise Killed
        return usual(self)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(population.Candidate, "train_epoch", dying)
        trained(tmp_path, **work)
    resumed = trained(tmp_path, **work)
    assert "goes on from where an earlier try was" in caplog.text
    assert hashes(resumed) == hashes(whole)


def test_pretrained_blocks_learn_more_slowly_than_the_head() -> None:
    from trainers.object_detection.candidate import Candidate
    from trainers.object_detection.settings import Settings

    def moved(rate: float) -> float:
        with registered():
            candidate = Candidate(
                Settings(width=8, backbone_rate=rate, batch=2, joined=0.0),
                pictures(),
                np.arange(5),
                lambda settings, dropout: model("", "pretrained"),
                epochs=1,
                seed=1,
            )
        layer = candidate.model.network.stem.convolution
        before, shift, scale = (
            each.numpy().copy() for each in (layer.weight, layer.bias, layer.scale)
        )
        candidate.train_epoch()
        assert not np.array_equal(layer.bias.numpy(), shift)
        assert np.array_equal(layer.scale.numpy(), scale)
        return float(np.abs(layer.weight.numpy() - before).max())

    assert 0 < moved(0.1) < 0.3 * moved(1.0)


def test_levels_of_the_tests_are_those_of_the_backbone() -> None:
    features = np.zeros((1, sum(c * h * w for c, h, w, _ in LEVELS)), np.float32)
    shapes = [each.shape[1:] for each in split_maps(features, LEVELS)]
    assert shapes == [each.shape[1:] for each in pictures(level_graph(TINY_MAPS)).maps([(0, 0)])]
