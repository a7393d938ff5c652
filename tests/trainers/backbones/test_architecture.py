from __future__ import annotations

import numpy as np
import pytest

from orchard.errors import BadInput, NotFound, OrchardError
from trainers.backbones import Backbone, backbones, feature_layout, get_backbone, register
from trainers.backbones.architecture import (
    Convolution,
    blocks_from_json,
    blocks_to_json,
    check_weights,
)

LITE = ("efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2")


def test_the_built_in_backbones_come_first() -> None:
    assert tuple(backbones())[:3] == LITE


@pytest.mark.parametrize(
    ("name", "million_parameters", "blocks"),
    [(LITE[0], 3.35, 18), (LITE[1], 4.11, 23), (LITE[2], 4.78, 23)],
)
def test_published_sizes(name: str, million_parameters: float, blocks: int) -> None:
    # The published 4.7, 5.4 and 6.1 million include the classifier's 1.281 million.
    backbone = get_backbone(name)
    assert backbone.parameters / 1e6 == pytest.approx(million_parameters, abs=0.01)
    assert len(backbone.blocks) == blocks
    assert [backbone.strides[b] for b in backbone.feature_blocks] == [8, 16, 16, 32, 32, 32]
    check_weights(backbone.blocks, backbone.load_weights())


def test_the_layout_covers_the_feature_vector_without_gaps() -> None:
    spans = feature_layout("efficientnet-lite0")
    assert [s[:2] for s in spans[:3]] == [("block4", "mean"), ("block4", "max"), ("block7", "mean")]
    assert [s[2] for s in spans] == [0, *(s[3] for s in spans[:-1])]
    assert spans[-1][3] == get_backbone("efficientnet-lite0").feature_count == 4048


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"),
    [(1, 1, (0, 0)), (3, 1, (1, 1)), (5, 1, (2, 2)), (3, 2, (0, 1)), (5, 2, (1, 2))],
)
def test_padding_is_tensorflows_same(kernel: int, stride: int, padding: tuple[int, int]) -> None:
    assert Convolution("b.c", 1, 1, kernel, stride).padding == padding


def test_blocks_survive_json(tiny: Backbone) -> None:
    assert blocks_from_json(blocks_to_json(tiny.blocks)) == tiny.blocks


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(NotFound, match="efficientnet-lite2"):
        get_backbone("resnet")


def test_ones_own_backbone_can_be_registered(
    tiny: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainers.backbones.registry._registered", {})
    register(tiny)
    register(tiny)
    assert get_backbone("tiny") is tiny
    other = Backbone(**{**tiny.__dict__, "title": "Another"})
    with pytest.raises(OrchardError, match="tiny"):
        register(other)


def test_weights_of_another_shape_are_named(tiny: Backbone) -> None:
    weights = tiny.load_weights()
    with pytest.raises(BadInput, match="head.convolution.bias"):
        check_weights(tiny.blocks, {**weights, "head.convolution.bias": np.zeros(3, "f4")})
    with pytest.raises(BadInput, match="finite"):
        check_weights(tiny.blocks, {**weights, "head.convolution.bias": np.full(10, np.nan, "f4")})
