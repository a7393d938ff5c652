"""The step `prepare` with real Spark and a real, small graph."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import onnx
import pyarrow.parquet as pq
import pytest
from onnx import TensorProto, helper

from orchard import preprocess
from orchard.blobs import Blobs, keys
from orchard.program import Step
from orchard.tasks import task
from spark_jobs import check, prepare
from tests.spark_jobs.intakes import DATASET, OWNER, Sample, picture, step, write_intake

pytestmark = pytest.mark.usefixtures("spark_session", "orchard_home")

CARD = {"normalisation": {"mean": [127.0] * 3, "scale": [128.0] * 3}}
KINDS = {"mean-32-squash": ("mean", 32, "squash"), "most-64-crop": ("most", 64, "crop")}


def store_backbones(blobs: Blobs) -> None:
    """Two graphs: the mean and the maximum of each plane."""
    for name, operator in (("mean", "GlobalAveragePool"), ("most", "GlobalMaxPool")):
        nodes = [
            helper.make_node(operator, ["input"], ["pooled"]),
            helper.make_node("Flatten", ["pooled"], ["features"]),
        ]
        graph = helper.make_graph(
            nodes,
            name,
            [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["n", 3, "h", "w"])],
            [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", 3])],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.checker.check_model(model)
        blobs.write(keys.backbone(name), model.SerializeToString())
        blobs.write_json(keys.backbone_card(name), CARD)


def write_plan(of: Step, version: str, views: dict[str, list[str]]) -> None:
    branches = [
        {
            "key": key,
            "backbone": KINDS[key][0],
            "size": KINDS[key][1],
            "fit": KINDS[key][2],
            "views": views[key],
            "preprocessing": preprocess.normalised(
                preprocess.standard(*KINDS[key][1:]), CARD["normalisation"]
            ),
            "feature_key": key,
        }
        for key in views
    ]
    of.blobs.write_json(
        keys.plan(OWNER, of.build_id),
        {
            "task": "image_classification",
            "dataset": DATASET,
            "version": version,
            "branches": branches,
        },
    )


def samples(count: int, first: int = 0) -> list[Sample]:
    return [
        (f"{label}/{first + n:03d}.png", picture(first + n + seed, size=(60, 40)))
        for label, seed in (("dent", 0), ("scratch", 1000))
        for n in range(count)
    ]


def checked(run_id: str, given: list[Sample]) -> tuple[Step, str]:
    of = step("check", run_id)
    write_intake(of, given)
    return of, check.body(of)["version"]


def rows_of(blobs: Blobs, feature_key: str) -> list[dict[str, Any]]:
    root = Path(blobs.url(keys.features(OWNER, feature_key)).removeprefix("file://"))
    assert all(folder.name.startswith("part-") for folder in root.iterdir())
    return [row for folder in sorted(root.iterdir()) for row in pq.read_table(folder).to_pylist()]


def test_exactly_what_is_missing_is_computed() -> None:
    of, version = checked("r1", samples(15))
    store_backbones(of.blobs)
    write_plan(of, version, {"mean-32-squash": ["plain"], "most-64-crop": ["plain", "mirror"]})
    facts = prepare.body(of)
    assert (facts["samples"], facts["computed"], facts["cached"]) == (24, 24, 0)
    rows = rows_of(of.blobs, "mean-32-squash")
    assert len(rows) == len({row["sample_id"] for row in rows}) == 24
    pairs = {(row["sample_id"], row["view"]) for row in rows_of(of.blobs, "most-64-crop")}
    assert len(pairs) == 48

    again = prepare.body(of)
    assert (again["computed"], again["cached"], again["failed"]) == (0, 24, 0)

    of2, next_version = checked("r2", samples(5, 500))
    write_plan(of2, next_version, {"mean-32-squash": ["plain"]})
    more = prepare.body(of2)
    assert more["cached"] == 24
    assert 0 < more["computed"] == more["samples"] - 24 <= 10

    write_plan(of2, next_version, {"mean-32-squash": ["plain", "mirror"]})
    mirrored = prepare.body(of2)
    assert mirrored["cached"] == 0
    found = rows_of(of2.blobs, "mean-32-squash")
    views = {(row["sample_id"], row["view"]) for row in found}
    assert len(views) == 2 * mirrored["samples"]


def test_features_are_those_of_the_graph() -> None:
    given = samples(10)
    of, version = checked("r1", given)
    store_backbones(of.blobs)
    write_plan(of, version, {"most-64-crop": ["plain", "mirror"]})
    prepare.body(of)
    payloads = {hashlib.sha256(payload).hexdigest(): payload for _, payload in given}
    operations = preprocess.standard(64, "crop")
    for row in rows_of(of.blobs, "most-64-crop"):
        pixels = task("image_classification").decode(payloads[row["sample_id"]])
        wanted = preprocess.apply(operations, pixels).max(axis=(1, 2)).astype("<f2")
        assert row["features"] == wanted.tobytes()
        assert row["failure"] is None


def test_a_picture_that_fails_is_a_row_with_its_reason() -> None:
    of, version = checked("r1", samples(10))
    store_backbones(of.blobs)
    write_plan(of, version, {"mean-32-squash": ["plain", "mirror"]})
    manifest = Path(of.blobs.url(keys.version(OWNER, DATASET, version)).removeprefix("file://"))
    row = next(r for r in pq.read_table(manifest / "manifest").to_pylist() if r["split"] == "train")
    segment = Path(of.blobs.url(row["segment"]).removeprefix("file://"))
    content = bytearray(segment.read_bytes())
    content[row["offset"] : row["offset"] + row["length"]] = b"\0" * row["length"]
    segment.write_bytes(bytes(content))
    facts = prepare.body(of)
    assert facts["failed"] == 1
    assert facts["computed"] == facts["samples"]
    failed = [r for r in rows_of(of.blobs, "mean-32-squash") if r["features"] is None]
    assert [(r["sample_id"], r["view"]) for r in failed] == [
        (row["sample_id"], "mirror"),
        (row["sample_id"], "plain"),
    ]
    assert all(r["failure"] for r in failed)
