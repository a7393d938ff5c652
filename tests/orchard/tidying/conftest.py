"""A project with builds, versions, segments and all kinds of leftovers, in a real store."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from operators.idle import FindIdle
from orchard import program
from orchard.blobs import Blobs, SegmentWriter, keys
from orchard.catalog import builds, datasets, leases, projects
from orchard.catalog.connection import documents
from orchard.names import build_id_of
from orchard.settings import settings
from orchard.steps import tidy
from tests.operators.runners import context_of, listen

TASK = "image_classification"
FORM: dict[str, Any] = {"days": 0, "builds": 1, "dry_run": False, "owner": None}


class Runs(SimpleNamespace):
    """What Airflow says of runs of `build_model`; one that it does not know has ended."""

    def get_dagrun_state(self, dag_id: str, run_id: str) -> str:
        return str(self.states.get(run_id, "success"))

    def get_dr_count(self, dag_id: str, run_ids: list[str], states: list[str]) -> int:
        return sum(self.states.get(each) in states for each in run_ids)


@dataclass
class Ground:
    """One installation's state, and the two tasks of `tidy` on it."""

    home: Path
    blobs: Blobs

    def build(self, run_id: str, owner: str = "local", project: str = "colours") -> str:
        """A build as its first task leaves it: document and lease."""
        projects.ensure(documents(), owner, project, TASK)
        made = builds.create(
            documents(), owner, dag_id="build_model", run_id=run_id, project=project, parameters={}
        )
        leases.acquire(
            documents(), owner, project,
            dag_id="build_model", run_id=run_id, has_ended=lambda dag_id, run_id: True,
        )  # fmt: skip
        return str(made["_id"])

    def segment(self, payload: bytes, owner: str = "local", project: str = "colours") -> str:
        """A segment with one sample. Returns its key."""
        with SegmentWriter(self.blobs, owner, project, 1000) as writer:
            writer.add(payload, None)
            return writer.close()[0][1].segment

    def version(
        self, name: str, build_id: str, segments: list[str], parent: str | None,
        owner: str = "local", project: str = "colours",
    ) -> None:  # fmt: skip
        """A committed version whose samples lie in these segments."""
        key = keys.version(owner, project, name)
        self.table(f"{key}/manifest/part-0.parquet", segments)
        self.blobs.write_json(
            keys.result(owner, build_id, "check"), {"exit_code": 0, "facts": {"version": name}}
        )
        datasets.commit_version(
            documents(), owner, project=project, dataset=project, version=name,
            parent=parent, build_id=build_id, summary={},
        )  # fmt: skip

    def table(self, key: str, segments: list[str]) -> None:
        """A Parquet file that names segments."""
        buffer = io.BytesIO()
        pq.write_table(pa.table({"segment": segments}), buffer)
        self.blobs.write(key, buffer.getvalue())

    def tidy(self, states: dict[str, str] | None = None, **form: Any) -> dict[str, Any]:
        """Both tasks of a run, as Airflow would run them. Returns the facts of the second."""
        context = context_of("tidying", **{**FORM, **form})
        context["dag_run"].dag_id = "tidy"
        context["ti"] = Runs(states=states or {})
        finding = FindIdle(task_id="find_idle")
        self.said = listen(finding)
        finding.execute(context)
        return self.remove()

    def remove(self) -> dict[str, Any]:
        """The second task alone."""
        build_id = build_id_of("tidy", "tidying")
        assert program.run("remove", tidy.body, ["--build", build_id]) == 0
        return dict(program.read_result(self.blobs, "local", build_id, "remove")["facts"])

    def tree(self) -> dict[str, bytes]:
        """Every file below the home but the result of tidying itself."""
        own = build_id_of("tidy", "tidying")
        return {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in self.home.rglob("*")
            if path.is_file() and own not in str(path)
        }


@pytest.fixture
def ground(orchard_home: Path) -> Ground:
    """An installation with nothing in it."""
    return Ground(orchard_home, Blobs(settings().blobs_root))
