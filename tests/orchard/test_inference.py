"""A bundle at work on ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from orchard import bundle as bundles
from orchard.blobs import Blobs, keys
from orchard.errors import BadInput, NotFound, OrchardError
from orchard.inference import Graph, Model, fetch
from tests.small_build import COLOURS, OWNER, picture, write_bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> bundles.Bundle:
    return write_bundle(tmp_path_factory.mktemp("bundle"), COLOURS)


def test_bytes_become_scores_whatever_the_batch(bundle: bundles.Bundle) -> None:
    payloads = [picture(COLOURS[label], 7, (30 + 5 * i, 40)) for i, label in enumerate(COLOURS)] * 3
    scores = np.concatenate(Model(bundle, batch=5).answers(payloads))
    assert scores.shape == (12, 4)
    assert scores.dtype == np.float32
    assert scores.sum(axis=1) == pytest.approx(np.ones(12), abs=1e-5)
    assert [bundle.labels[best] for best in scores.argmax(axis=1)] == list(COLOURS) * 3
    model = Model(bundle, batch=1, threads=2)
    assert np.abs(np.concatenate(model.answers(payloads)) - scores).max() < 1e-5
    prepared = [model.prepared(payload) for payload in payloads]
    assert np.abs(np.concatenate(model.answers_of(prepared)) - scores).max() < 1e-5
    assert model.answers([]) == model.answers_of([]) == []


def test_an_answer_in_the_task_s_form(bundle: bundles.Bundle) -> None:
    model = Model(bundle)
    answer = model.response(model.answers([picture(COLOURS["red"], 1)])[0], {"top_num": 1})
    assert answer["results"][0]["name"] == "red"


def test_golden_vectors_hold_and_a_changed_graph_is_found(tmp_path: Path) -> None:
    good = write_bundle(tmp_path / "good", COLOURS)
    assert Model(good).verify() <= 1e-6
    other = write_bundle(tmp_path / "other", COLOURS, sharpness=5.0)
    (good.folder / bundles.MODEL).write_bytes(other.model.read_bytes())
    with pytest.raises(OrchardError, match="output"):
        Model(bundles.read(good.folder)).verify()


def test_no_picture_is_refused(bundle: bundles.Bundle) -> None:
    with pytest.raises(BadInput):
        Model(bundle).answers([picture(COLOURS["red"], 1), b"<html>"])


def test_a_graph_that_is_none_or_has_other_names_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"no graph")
    with pytest.raises(BadInput, match="loaded"):
        Graph(path)
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    kind = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [onnx.helper.make_tensor_value_info("x", kind, [1])],
        [onnx.helper.make_tensor_value_info("y", kind, [1])],
    )
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8
    )
    onnx.save(model, path)
    with pytest.raises(BadInput, match="'x', 'y'"):
        Graph(path)


def test_a_bundle_comes_from_the_store_verified(bundle: bundles.Bundle, tmp_path: Path) -> None:
    blobs = Blobs(f"file://{tmp_path / 'blobs'}")
    blobs.upload_folder(bundle.folder, keys.bundle(OWNER, bundle.hash))
    assert fetch(blobs, OWNER, bundle.hash, tmp_path / "cache").hash == bundle.hash
    assert fetch(blobs, OWNER, bundle.hash, tmp_path / "cache").hash == bundle.hash
    (tmp_path / "cache" / bundle.hash / "model.onnx").write_bytes(b"changed")
    with pytest.raises(OrchardError, match=bundle.hash):
        fetch(blobs, OWNER, bundle.hash, tmp_path / "cache")
    with pytest.raises(NotFound):
        fetch(blobs, OWNER, "f" * 16, tmp_path / "cache")
