"""Ingest, check and prepare over a real HDFS give what they give on a disk."""

from __future__ import annotations

import io
import uuid
import zipfile
from pathlib import Path
from typing import Any

import pytest

from orchard.blobs import Blobs, keys
from orchard.steps import ingest
from spark_jobs import check, prepare
from tests.cluster.builds import PICTURES, Way, way
from tests.spark_jobs.intakes import DATASET, OWNER
from tests.spark_jobs.test_prepare import store_backbones, write_plan

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("spark_session", "orchard_home")]

VIEWS = {"mean-32-squash": ["plain"], "most-64-crop": ["plain", "mirror"]}


def walked(on: Way) -> dict[str, Any]:
    """All three steps: the version's name, its rows, and the features."""
    ingested = on.go("ingest", ingest.body)
    version = str(on.go("check", check.body)["version"])
    store_backbones(on.of.blobs)
    write_plan(on.of, version, VIEWS)
    prepared = on.go("prepare", prepare.body)
    manifest = on.rows(f"{keys.version(OWNER, DATASET, version)}/manifest")
    rows = [row for key in VIEWS for row in on.rows(keys.features(OWNER, key))]
    return {
        "files": ingested["files"],
        "version": version,
        "manifest": manifest,
        "computed": prepared["computed"],
        "features": sorted(rows, key=lambda row: (row["sample_id"], row["view"], row["features"])),
    }


def test_the_same_version_and_the_same_features_as_on_a_disk(hdfs_uri: str, tmp_path: Path) -> None:
    name = uuid.uuid4().hex
    disk, remote = f"file://{tmp_path / 'store'}", f"{hdfs_uri}/tests/{name}"
    for path, payload in PICTURES.items():
        (tmp_path / "data" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / path).write_bytes(payload)
        Blobs(f"{remote}-data").write(f"set/{path}", payload)
    with way(disk, str(tmp_path / "data"), str(tmp_path), f"test_{name}_disk") as on:
        wanted = walked(on)
    with way(remote, f"{remote}-data/set", f"{remote}-data", f"test_{name}_hdfs") as on:
        found = walked(on)
        names = {row["path"] for row in on.intake()}
    assert wanted["files"] == len(PICTURES)
    assert wanted["computed"] > 0
    assert names == set(PICTURES)
    assert found == wanted
    Blobs(f"{hdfs_uri}/tests").delete(f"{name}-data")


def test_an_archive_is_taken_from_hdfs(hdfs_uri: str) -> None:
    name = uuid.uuid4().hex
    data = Blobs(f"{hdfs_uri}/tests/{name}")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, payload in PICTURES.items():
            archive.writestr(path, payload)
    data.write("in/set #1.zip", buffer.getvalue())
    imports = data.url("in")
    with way(data.url("store"), f"{imports}/set #1.zip", imports, f"test_{name}") as on:
        on.go("ingest", ingest.body)
        stored = {row["path"]: row["payload"] for row in on.intake()}
    assert stored == PICTURES
    Blobs(f"{hdfs_uri}/tests").delete(name)
