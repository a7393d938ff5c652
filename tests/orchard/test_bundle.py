"""Bundles: named by content, whole or not at all, with golden vectors that tell a wrong program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchard import bundle
from orchard.errors import BadInput, OrchardError

CARD: dict[str, Any] = {
    "task": "image_classification",
    "labels": ["a", "b"],
    "preprocessing": [],
    "backbone": "none",
    "thresholds": {"per_class": {"a": 0.5, "b": 0.5}, "not_sure": 0.4},
    "temperature": 1.0,
    "data": {},
    "validation": {},
    "objective": "accuracy",
    "code_version": "test",
    "winner": {},
}
FILES: dict[str, bytes | Path] = {"model.onnx": b"graph", "parameters.pdparams": b"numbers"}
PAYLOADS = (bytes(range(48)), bytes(range(48, 96)))


def preprocess(payload: bytes) -> np.ndarray:
    return np.frombuffer(payload, np.uint8).astype(np.float32).reshape(1, 3, 4, 4)


def predict(inputs: np.ndarray) -> np.ndarray:
    score = 1 / (1 + np.exp(-inputs.mean(axis=(1, 2, 3)) / 50))
    return np.stack([score, 1 - score], axis=1).astype(np.float32)


GOLDEN = bundle.make_golden(PAYLOADS, preprocess, predict)


def test_equal_content_has_one_name_and_other_content_another(tmp_path: Path) -> None:
    one = bundle.write(tmp_path / "one", CARD, FILES, GOLDEN)
    two = bundle.write(tmp_path / "two", dict(reversed(CARD.items())), FILES, GOLDEN)
    other = bundle.write(tmp_path / "three", {**CARD, "temperature": 2.0}, FILES, GOLDEN)
    assert one.hash == two.hash == bundle.bundle_hash(tmp_path / "one")
    assert other.hash != one.hash
    assert len(one.hash) == 16
    assert bundle.read(tmp_path / "one", one.hash).labels == ("a", "b")


def test_a_renamed_file_changes_the_name(tmp_path: Path) -> None:
    written = bundle.write(tmp_path / "one", CARD, FILES, GOLDEN)
    (written.folder / "parameters.pdparams").rename(written.folder / "weights")
    assert bundle.bundle_hash(written.folder) != written.hash


def test_changed_content_is_refused_by_name(tmp_path: Path) -> None:
    written = bundle.write(tmp_path / "one", CARD, FILES, GOLDEN)
    (written.folder / "model.onnx").write_bytes(b"grapf")
    with pytest.raises(OrchardError, match=written.hash):
        bundle.read(written.folder, written.hash)


def test_writing_again_replaces_whole(tmp_path: Path) -> None:
    bundle.write(tmp_path / "one", CARD, {**FILES, "extra": b"x"}, GOLDEN)
    bundle.write(tmp_path / "one", CARD, FILES, GOLDEN)
    assert not (tmp_path / "one" / "extra").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one"]


@pytest.mark.parametrize(
    "change",
    [
        {"labels": ["a", "a"]},
        {"labels": "ab"},
        {"temperature": "hot"},
        {"thresholds": {"per_class": {"a": 0.5}, "not_sure": 0.4}},
        {"thresholds": {}},
        {"winner": {"rate": float("nan")}},
        {"winner": {"set": {1, 2}}},
    ],
)
def test_a_wrong_card_is_refused_and_leaves_nothing(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        bundle.write(tmp_path / "one", {**CARD, **change}, FILES, GOLDEN)
    assert not list(tmp_path.iterdir())


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    card = {name: value for name, value in CARD.items() if name != "objective"}
    with pytest.raises(BadInput, match="objective"):
        bundle.write(tmp_path / "one", card, FILES, GOLDEN)


@pytest.mark.parametrize("name", ["../model", "a/b", "", "..", "bundle.json", "golden.npz"])
def test_a_file_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput):
        bundle.write(tmp_path / "one", CARD, {**FILES, name: b"x"}, GOLDEN)
    with pytest.raises(BadInput, match=r"model\.onnx"):
        bundle.write(tmp_path / "one", CARD, {}, GOLDEN)


@pytest.mark.parametrize("name", ["bundle.json", "model.onnx", "golden.npz"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    written = bundle.write(tmp_path / "one", CARD, FILES, GOLDEN)
    (written.folder / name).unlink()
    with pytest.raises(BadInput, match=name):
        bundle.read(written.folder)


@pytest.mark.parametrize("text", ["", "[]", "{", json.dumps({"format": 99})])
def test_a_card_that_cannot_be_read_is_refused(tmp_path: Path, text: str) -> None:
    written = bundle.write(tmp_path / "one", CARD, FILES, GOLDEN)
    (written.folder / "bundle.json").write_text(text)
    with pytest.raises(BadInput):
        bundle.read(written.folder)


def test_golden_vectors_are_the_same_bytes_again_and_pass(tmp_path: Path) -> None:
    assert bundle.make_golden(PAYLOADS, preprocess, predict) == GOLDEN
    written = bundle.write(tmp_path / "one", CARD, FILES, GOLDEN)
    assert bundle.check_golden(written.folder, preprocess, predict) == 0.0


def test_a_program_that_prepares_or_predicts_differently_is_found(tmp_path: Path) -> None:
    folder = bundle.write(tmp_path / "one", CARD, FILES, GOLDEN).folder
    with pytest.raises(OrchardError, match="input"):
        bundle.check_golden(folder, lambda payload: preprocess(payload)[:, ::-1], predict)
    with pytest.raises(OrchardError, match="output"):
        bundle.check_golden(folder, preprocess, lambda inputs: predict(inputs)[:, ::-1])
    with pytest.raises(OrchardError, match="output"):
        bundle.check_golden(folder, preprocess, lambda inputs: predict(inputs) * np.nan)
    with pytest.raises(OrchardError, match="output"):
        bundle.check_golden(folder, preprocess, lambda inputs: predict(inputs)[:, :1])


def test_a_difference_within_the_tolerance_is_taken_and_told(tmp_path: Path) -> None:
    folder = bundle.write(tmp_path / "one", CARD, FILES, GOLDEN).folder
    difference = bundle.check_golden(
        folder, lambda payload: preprocess(payload) + 3e-5, lambda inputs: predict(inputs) + 5e-5
    )
    assert 4e-5 < difference < 1e-4


def test_golden_vectors_need_a_sample_and_a_readable_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        bundle.make_golden([], preprocess, predict)
    written = bundle.write(tmp_path / "one", CARD, FILES, b"no archive")
    with pytest.raises(BadInput, match="golden"):
        bundle.check_golden(written.folder, preprocess, predict)
