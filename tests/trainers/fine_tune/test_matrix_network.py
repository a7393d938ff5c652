from __future__ import annotations

import numpy as np
import pytest

from tests.trainers.backbones.tiny import random_weights
from trainers.backbones import Backbone
from trainers.backbones.architecture import Block, Convolution
from trainers.backbones.network import BlockNetwork, build_network
from trainers.engine import paddle
from trainers.fine_tune import matrix_network
from trainers.fine_tune.matrix_network import MatrixNetwork


def as_matrix(pictures: np.ndarray) -> paddle.Tensor:
    samples, channels = pictures.shape[:2]
    values = pictures.reshape(samples, channels, -1).transpose(1, 0, 2)
    return paddle.to_tensor(np.ascontiguousarray(values))


@pytest.mark.parametrize("largest", [0, 12_000], ids=["convolution kernel", "matrix"])
@pytest.mark.parametrize(("height", "width"), [(16, 16), (8, 24)])
def test_it_computes_what_the_network_does(
    tiny: Backbone, height: int, width: int, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_network, "LARGEST_MATRIX", largest)
    pictures = np.random.default_rng(0).uniform(-1, 1, (3, 3, height, width)).astype("f4")
    network = build_network(tiny)
    parameters = [p for p in network.parameters() if p.trainable]
    results = []
    for features in (
        lambda: network.features(paddle.to_tensor(pictures)),
        lambda: MatrixNetwork(network, height, width).features(as_matrix(pictures)),
    ):
        values = features()
        (values**2).sum().backward()
        results.append((values.numpy(), [p.grad.numpy() for p in parameters]))
        for parameter in parameters:
            parameter.clear_gradient()
    np.testing.assert_allclose(results[1][0], results[0][0], atol=1e-5)
    for name, expected, found in zip(
        network.state_dict(), results[0][1], results[1][1], strict=False
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("kernel", [3, 5])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("height", "width"), [(4, 4), (2, 6), (8, 4)])
def test_depthwise_convolution_as_a_matrix(
    kernel: int, stride: int, height: int, width: int
) -> None:
    convolution = Convolution("block.depthwise", 4, 4, kernel, stride, groups=4, relu6=False)
    blocks = (Block("block", (convolution,)),)
    network = BlockNetwork(blocks, ["block"])
    network.load_weights(random_weights(blocks))
    values = np.random.default_rng(1).standard_normal((2, 4, height, width)).astype("f4")
    with paddle.no_grad():
        (expected,) = network(paddle.to_tensor(values))
        found = MatrixNetwork(network, height, width)(as_matrix(values))["block"]
    found_pictures = found.numpy().transpose(1, 0, 2).reshape(expected.shape)
    np.testing.assert_allclose(found_pictures, expected.numpy(), atol=1e-5)
