"""A real MLflow server on a free port, and settings that name it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchard.settings import settings
from tests.conftest import free_port

SECONDS_TO_START = 400.0


@pytest.fixture(scope="session")
def tracking_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an MLflow server on SQLite, its artifacts in a folder."""
    folder = tmp_path_factory.mktemp("mlflow")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
            + ["--workers", "1", "--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}"]
            + ["--default-artifact-root", f"file://{folder / 'artifacts'}"]
            + ["--no-serve-artifacts"],
            stdout=log,
            stderr=log,
            start_new_session=True,
            # Its job runner is not used here, and outlives the server.
            env={**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        )
    try:
        _wait_for(address, process, folder / "log")
        yield address
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def stores(tmp_path: Path, tracking_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of state of its own; the settings name it and the MLflow server."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("ORCHARD_HOME", str(home))
    monkeypatch.setenv("ORCHARD_TRACKING_URI", tracking_server)
    settings.cache_clear()
    yield home
    settings.cache_clear()


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < ends and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=2) as reply:
                if reply.status == 200:
                    return
        except OSError:
            time.sleep(0.3)
    pytest.fail(f"MLflow did not start: {log.read_text()[-800:]}")
