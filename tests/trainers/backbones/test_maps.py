"""Feature maps: the layout of a row, and the graph against Paddle."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from orchard.errors import NotFound
from tests.trainers.object_detection.synthetic import BACKBONE, TINY_MAPS
from trainers.backbones.maps import (
    feature_count,
    feature_maps,
    get_feature_maps,
    map_shapes,
    maps_facts,
    maps_graph,
)
from trainers.backbones.network import build_network
from trainers.engine import paddle
from trainers.object_detection.maps import split_maps


def test_a_row_holds_the_maps_from_the_finest_to_the_coarsest() -> None:
    graph = maps_graph(TINY_MAPS)
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    inputs = np.random.default_rng(0).normal(0, 1, (2, 3, 32, 48)).astype(np.float32)
    (rows,) = session.run(None, {"input": inputs})
    assert rows.shape == (2, feature_count(TINY_MAPS.levels, 32, 48))
    levels = [
        (*shape, level.stride)
        for shape, level in zip(map_shapes(TINY_MAPS.levels, 32, 48), TINY_MAPS.levels, strict=True)
    ]
    network = build_network(BACKBONE, folded=True)
    network.eval()
    outputs = network.by_name(paddle.to_tensor(inputs))
    for level, found in zip(TINY_MAPS.levels, split_maps(rows, levels), strict=True):
        expected = np.concatenate([outputs[name].numpy() for name in level.blocks], axis=1)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_card_says_how_a_row_is_laid_out() -> None:
    maps = feature_maps()["efficientnet-lite0-maps"]
    facts = maps_facts(maps, b"graph")
    assert facts["kind"] == "maps"
    assert [(each["stride"], each["channels"]) for each in facts["levels"]] == [
        (8, 40),
        (16, 192),
        (32, 512),
    ]
    assert maps.blocks[-1].name == "block15"


def test_equal_graphs_have_equal_bytes() -> None:
    assert maps_graph(TINY_MAPS) == maps_graph(TINY_MAPS)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(NotFound, match="no such backbone"):
        get_feature_maps("nothing")
