"""The network from scratch: what it is in training and what it is once folded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from orchard.errors import BadInput
from trainers.backbones.architecture import check_weights, parameters
from trainers.backbones.export import onnx_scores, prove_equal
from trainers.backbones.log_mel import BANDS, Spectrogram
from trainers.engine import paddle, seed_everything
from trainers.sound_classification import scratch_classifier as exported
from trainers.sound_classification.network import STRIDE, ScratchNetwork, blocks, folded_weights

CLASSES = 3


def trained(seed: int) -> ScratchNetwork:
    """A network whose running statistics are not those of the start."""
    seed_everything(seed)
    network = ScratchNetwork(CLASSES, dropout=0.0)
    network.train()
    generator = np.random.default_rng(seed)
    for _ in range(20):
        network(paddle.to_tensor(generator.normal(size=(4, 1, BANDS, 64)).astype(np.float32)))
    network.eval()
    return network


def samples(rows: int = 3) -> np.ndarray:
    return (0.1 * np.random.default_rng(9).normal(size=(rows, 16_000))).astype(np.float32)


def test_the_network_is_small_and_its_blocks_fit_together() -> None:
    assert parameters(blocks()) < 100_000
    check_weights(blocks(), folded_weights(ScratchNetwork(CLASSES, 0.0).arrays()))
    assert np.prod([block.stride for block in blocks()]) == STRIDE


def test_windows_of_a_recording_are_averaged() -> None:
    network = trained(1)
    values = np.random.default_rng(2).normal(size=(2, 3, BANDS, 64)).astype(np.float32)
    each = network(paddle.to_tensor(values.reshape(6, 1, BANDS, 64))).numpy().reshape(2, 3, -1)
    together = network(paddle.to_tensor(values)).numpy()
    assert together.shape == (2, CLASSES)
    np.testing.assert_allclose(together, each.mean(axis=1), atol=1e-4)


def test_arrays_carry_the_whole_state() -> None:
    network, other = trained(1), trained(2)
    other.load_arrays(network.arrays())
    value = paddle.to_tensor(np.ones((1, 1, BANDS, 64), np.float32))
    assert (network(value).numpy() == other(value).numpy()).all()


@pytest.mark.parametrize("members", [1, 3])
def test_members_answer_together_in_both_forms(tmp_path: Path, members: int) -> None:
    networks = [trained(seed) for seed in range(members)]
    model = exported.export(tmp_path, [network.arrays() for network in networks], 2.0)
    layer = exported.load(tmp_path)
    assert prove_equal(model, layer, samples()) < 1e-5
    spectrogram = Spectrogram()(paddle.to_tensor(samples()))
    logits = np.mean([n(spectrogram).numpy() for n in networks], axis=0) / 2.0
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(onnx_scores(model, samples()), scores, atol=1e-4)


def test_equal_members_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        exported.export(tmp_path / name, [trained(4).arrays()], 1.0)
    for file in ("model.onnx", "model.pdparams", "network.json"):
        one, other = ((tmp_path / name / file).read_bytes() for name in ("one", "other"))
        assert one == other


def test_parameters_of_another_description_are_refused(tmp_path: Path) -> None:
    exported.export(tmp_path, [trained(1).arrays()], 1.0)
    text = (tmp_path / "network.json").read_text()
    (tmp_path / "network.json").write_text(text.replace('"members": 1', '"members": 2'))
    with pytest.raises(BadInput, match="do not fit"):
        exported.load(tmp_path)
