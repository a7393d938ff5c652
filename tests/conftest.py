"""What many tests share: a documents server, a folder of state, settings that name them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from orchard.settings import settings
from tests.cluster.hdfs import Hdfs

# A busy machine makes any single example slow; the whole test has a time limit of its own.
hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")

_SECONDS_TO_START = 60.0
_LONGEST = ("test_main_job.py", "test_kills.py", "test_tasks.py", "test_hundred_thousand.py")
"""Files whose tests take minutes. Workers take whole files, in this order and then as collected."""


_airflow_home = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Airflow writes its configuration where it is imported first: into a folder of this process."""
    config.stash[_airflow_home] = tempfile.mkdtemp(prefix="orchard-airflow-")
    os.environ["AIRFLOW_HOME"] = config.stash[_airflow_home]
    # Else every MLflow server of a test starts eight more processes for jobs that nobody asks for.
    os.environ["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] = "false"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Longest files first, so that no worker is left with one of them when all else is done."""
    rank = {name: number for number, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(rank)))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Nothing stays."""
    shutil.rmtree(config.stash[_airflow_home], ignore_errors=True)


def free_port() -> int:
    """A port on loopback that is free at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def documents_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URI of a documents server of this test process."""
    folder = tmp_path_factory.mktemp("documents")
    port = free_port()
    server = Path(sys.executable).with_name("nx-27017")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [server, "--data-dir", folder / "data", "--host", "127.0.0.1", "-p", str(port)]
            + ["--pid-file", folder / "pid"],
            stdout=log,
            stderr=log,
        )
    try:
        _wait_for(port, process, folder / "log")
        yield f"mongodb://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < ends:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    pytest.fail(f"The documents server did not start: {log.read_text()[-500:]}")


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    """A real HDFS of this test process, for tests that are marked `cluster`."""
    cluster = Hdfs(tmp_path_factory.mktemp("hdfs"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.remove()


@pytest.fixture(scope="session")
def hdfs_uri(request: pytest.FixtureRequest) -> str:
    """Address of an HDFS: of ORCHARD_TEST_HDFS_URI where it is set, else one of the tests' own."""
    given = os.environ.get("ORCHARD_TEST_HDFS_URI", "").rstrip("/")
    return given or str(request.getfixturevalue("hdfs").uri)


@pytest.fixture
def orchard_home(
    tmp_path: Path, documents_server: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A folder of state of its own and a database of its own, named by the settings.

    Programs that a test starts find the same, by the environment.
    """
    home = tmp_path / "home"
    (home / "imports").mkdir(parents=True)
    database = f"test_{abs(hash(str(tmp_path))) % 10**12}"
    values = {
        "ORCHARD_HOME": str(home),
        "ORCHARD_DOCUMENTS_URI": documents_server,
        "ORCHARD_DOCUMENTS_DATABASE": database,
        "ORCHARD_IMPORT_ROOTS": f'["{tmp_path}"]',
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    settings.cache_clear()
    yield home
    settings.cache_clear()


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One Spark session for all tests of this process; the steps' own programs use it too."""
    from spark_jobs import session

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ORCHARD_HOME", str(tmp_path_factory.mktemp("spark")))
        settings.cache_clear()
        started = session.spark("tests")
    settings.cache_clear()
    yield started
    session.end(started)
