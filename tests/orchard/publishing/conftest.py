"""A small world with real servers: documents, MLflow and the prediction service."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from orchard.blobs import Blobs, SegmentWriter, keys
from orchard.catalog import builds
from orchard.catalog.connection import Documents, documents
from orchard.program import Step
from orchard.publishing.registry import Registry
from orchard.settings import Settings
from tests.serving import servers
from tests.serving.bundles import COLOURS, make_bundle, picture

OWNER = "local"
PROJECT = "colours"
VERSION = "0123456789abcdef"
TASK = "image_classification"


@dataclass
class World:
    """What a test has at hand."""

    settings: Settings
    blobs: Blobs
    documents: Documents
    service: servers.Running
    folder: Path
    run_id: str

    def bundle(self, sharpness: float) -> str:
        """A bundle in the store. Returns its hash."""
        folder = self.folder / "made"
        name = make_bundle(folder, sharpness=sharpness)
        self.blobs.upload_folder(folder / name, keys.bundle(OWNER, name))
        return name

    def step(self, bundle: str, run: str, endpoint: str = PROJECT) -> Step:
        """The publish step of a build whose earlier steps have left their results."""
        build = builds.create(
            self.documents,
            OWNER,
            dag_id="build_model",
            run_id=run,
            project=PROJECT,
            parameters={"task": TASK, "dataset": PROJECT, "endpoint": endpoint},
        )
        facts: dict[str, dict[str, Any]] = {
            "select": {"bundle": bundle, "branch": "one", "mlflow_run_id": self.run_id},
            "check": {"version": VERSION},
        }
        for name, each in facts.items():
            key = keys.result(OWNER, build["_id"], name)
            self.blobs.write_json(key, {"exit_code": 0, "facts": each})
        return Step("publish", build, -1, 1, self.settings, self.blobs, self.documents)


@pytest.fixture(scope="session")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Addresses of a documents server and an MLflow server."""
    folder = tmp_path_factory.mktemp("engines")
    port = servers.free_port()
    documents_command = [str(Path(sys.executable).parent / "nx-27017"), "--data-dir"]
    documents_command += [str(folder / "documents"), "--pid-file", str(folder / "documents.pid")]
    documents_command += ["--host", "127.0.0.1", "-p", str(port)]
    tracking_port = servers.free_port()
    tracking = f"http://127.0.0.1:{tracking_port}"
    tracking_command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1"]
    tracking_command += ["--port", str(tracking_port), "--workers", "1", "--no-serve-artifacts"]
    tracking_command += ["--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}"]
    tracking_command += ["--default-artifact-root", f"file://{folder / 'artifacts'}"]
    uri = f"mongodb://127.0.0.1:{port}"
    with (
        servers.running(
            documents_command, uri, lambda: servers.connects(port), folder / "documents.log"
        ),
        servers.running(
            tracking_command,
            tracking,
            lambda: servers.answers(f"{tracking}/health"),
            folder / "mlflow.log",
            {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        ),
    ):
        yield uri, tracking


@pytest.fixture
def world(tmp_path: Path, engines: tuple[str, str]) -> Iterator[World]:
    """A store with a data set version, a service without endpoints, an owner's documents."""
    uri, tracking = engines
    root = tmp_path / "serving"
    with servers.service(root, tmp_path / "service.log") as service:
        settings = Settings(
            home=tmp_path / "home",
            documents_uri=uri,
            documents_database=f"test-{tmp_path.name}"[:60],
            tracking_uri=tracking,
            serving_folder=str(root),
            service_url=service.url,
        )
        blobs = Blobs(settings.blobs_root)
        _write_version(blobs)
        run_id = _run(Registry(tracking))
        database = documents(uri, settings.documents_database)
        yield World(settings, blobs, database, service, tmp_path, run_id)


def _run(registry: Registry) -> str:
    run = registry._call("POST", "runs/create", {"experiment_id": "0", "start_time": 0})
    return str(run["run"]["info"]["run_id"])


def _write_version(blobs: Blobs) -> None:
    rows: list[dict[str, Any]] = []
    with SegmentWriter(blobs, OWNER, PROJECT, 1 << 20) as writer:
        for number in range(60):
            shade = sorted(COLOURS)[number % 3]
            sample = picture(shade, (30 + number, 40))
            writer.add(sample, (f"{shade}/{number}.png", shade, sample))
        for tag, reference in writer.close():
            assert isinstance(tag, tuple)
            path, colour, payload = tag
            rows.append(
                {
                    "sample_id": hashlib.sha256(payload).hexdigest(),
                    "path": path,
                    "segment": reference.segment,
                    "offset": reference.offset,
                    "length": reference.length,
                    "label": colour,
                    "split": "train" if len(rows) < 20 else "test",
                }
            )
    rows.sort(key=lambda row: str(row["sample_id"]))
    key = f"{keys.version(OWNER, PROJECT, VERSION)}/manifest/part-0.parquet"
    with blobs.writing(key) as file:
        parquet.write_table(pa.Table.from_pylist(rows), file)
