"""Builds, runners and a replaced cluster for the tests of the operators."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchard.catalog import builds
from orchard.catalog.connection import documents
from orchard.settings import settings
from tests.operators.runners import DAG_ID, Cluster

OWNER = "local"


@pytest.fixture
def build(orchard_home: Path) -> Callable[..., str]:
    """Makes the document of a run's build. Returns its id."""

    def make(run_id: str = "run", **parameters: Any) -> str:
        made = builds.create(
            documents(),
            OWNER,
            dag_id=DAG_ID,
            run_id=run_id,
            project="colours",
            parameters=parameters,
        )
        return str(made["_id"])

    return make


@pytest.fixture
def cluster(orchard_home: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A cluster in place of Kubernetes; its pods get this installation's settings."""
    from operators.pod import PodJob

    made = Cluster()
    names = ("HOME", "DOCUMENTS_URI", "DOCUMENTS_DATABASE")
    handed = {f"ORCHARD_{name}": os.environ[f"ORCHARD_{name}"] for name in names}
    monkeypatch.setenv("ORCHARD_POD_ENVIRONMENT", json.dumps({**handed, "ORCHARD_SAMPLE": "given"}))
    settings.cache_clear()
    hook = SimpleNamespace(is_in_cluster=False, get_namespace=lambda: None)
    monkeypatch.setattr(PodJob, "hook", hook)
    monkeypatch.setattr(PodJob, "client", made)
    monkeypatch.setattr(PodJob, "pod_manager", made)
    return made


@pytest.fixture(params=["process", "pod"])
def runner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type[Any]:
    """The operator class of each job runner, as the factory gives it."""
    from operators.job import job_operator

    request.getfixturevalue("orchard_home")
    if request.param == "pod":
        request.getfixturevalue("cluster")
    monkeypatch.setenv("ORCHARD_SAMPLE", "given")
    monkeypatch.setenv("ORCHARD_JOB_RUNNER", request.param)
    settings.cache_clear()
    return job_operator()
