"""MLflow's artifacts on a real HDFS: logged past the server, opened through it."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from orchard import tracking
from orchard.blobs import Blobs
from orchard.settings import settings
from tests.serving import servers

pytestmark = pytest.mark.cluster

BUILD = "0123456789abcdef"
REPORT = b"<!doctype html><h1>Report</h1>"


@pytest.fixture
def server(
    hdfs_uri: str, orchard_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Address of an MLflow server whose artifacts lie on HDFS: directly, and by its proxy."""
    base = f"{hdfs_uri}/tests/{uuid.uuid4().hex}"
    port = servers.free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--workers", "1", "--backend-store-uri", f"sqlite:///{tmp_path / 'mlflow.db'}"]
    command += ["--default-artifact-root", f"{base}/direct"]
    command += ["--serve-artifacts", "--artifacts-destination", f"{base}/proxied"]
    monkeypatch.setenv("ORCHARD_TRACKING_URI", url)
    settings.cache_clear()
    with servers.running(
        command, url, lambda: servers.answers(f"{url}/health"), tmp_path / "mlflow.log"
    ):
        yield url
    parent, name = base.rsplit("/", 1)
    Blobs(parent).delete(name)


def test_a_report_that_a_step_logged_opens_in_mlflow(server: str) -> None:
    run = tracking.build_run("ann", "keys", BUILD)
    tracking.log_artifact_bytes(run, "report.html", REPORT)
    tracking.log_artifact_bytes(run, "plots/curve.json", b"{}")
    assert tracking.artifact_url(run, "report.html").endswith(f"{run}/artifacts/report.html")

    # what the page asks for: the folder for its tree, then the file
    listed = httpx.get(f"{server}/ajax-api/2.0/mlflow/artifacts/list", params={"run_id": run})
    found = listed.json()
    assert found["root_uri"].startswith("hdfs://")
    assert found["files"] == [
        {"path": "plots", "is_dir": True},
        {"path": "report.html", "is_dir": False, "file_size": len(REPORT)},
    ]
    opened = httpx.get(f"{server}/get-artifact", params={"path": "report.html", "run_uuid": run})
    assert opened.status_code == 200
    assert opened.content == REPORT

    absent = httpx.get(f"{server}/get-artifact", params={"path": "none.html", "run_uuid": run})
    assert absent.status_code == 404


def test_artifacts_go_through_the_server_too(server: str) -> None:
    address = f"{server}/api/2.0/mlflow-artifacts/artifacts/7/abc/artifacts/a/model.bin"
    assert httpx.put(address, content=b"x" * 3_000_000).status_code == 200
    assert httpx.get(address).content == b"x" * 3_000_000
    listed = httpx.get(
        f"{server}/api/2.0/mlflow-artifacts/artifacts", params={"path": "7/abc/artifacts"}
    )
    assert listed.json() == {"files": [{"path": "a", "is_dir": True}]}
    assert httpx.delete(address).status_code == 200
    assert httpx.get(address).status_code == 404
