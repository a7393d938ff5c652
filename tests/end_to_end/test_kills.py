"""Every task killed once in mid-work, the scheduler and the documents server too: same bundle."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from orchard.api.airflow import Airflow
from orchard.blobs import Blobs, keys
from orchard.catalog.connection import documents
from orchard.names import build_id_of
from orchard.settings import settings
from orchard.stack import control
from tests.end_to_end import pictures
from tests.end_to_end.conftest import (
    form,
    orchard,
    states,
    wait_for,
    wait_for_end,
)
from tests.programs import lives, programs, working_on

pytestmark = pytest.mark.long

KILLED = {
    "ingest": 0.5,
    "check": 4.0,
    "prepare": 4.0,
    "trial": 2.0,
    "select": 0.4,
    "evaluate": 3.0,
    "publish": 0.7,
}
"""Seconds into each step at which its process is killed."""
LIGHT = ("turn", "plan", "approve")
"""Tasks that are no program of their own."""


@pytest.mark.timeout(1200)
def test_a_run_in_which_everything_is_killed_once_gives_the_same_bundle(
    stack: Path, airflow: Airflow
) -> None:
    data = str(pictures.write(stack / "imports" / "shapes", 30))
    undisturbed = airflow.trigger(form("shapes", data, owner="calm", endpoint="calm"))
    wait_for_end(airflow, undisturbed)

    disturbed = airflow.trigger(form("shapes", data, owner="wild", endpoint="wild"))
    killed = _kill_everything_once(airflow, disturbed)
    wait_for_end(airflow, disturbed)

    assert killed == {*KILLED, *LIGHT, "scheduler", "documents"}
    assert _bundle("wild", disturbed) == _bundle("calm", undisturbed)
    versions = list(documents().versions.find({"owner": "wild"}))
    assert len(versions) == 1, "a half-written version became visible"
    folder = keys.version("wild", "shapes", versions[0]["version"])
    names = {key.rsplit("/", 1)[1] for key in Blobs(settings().blobs_root).list(folder)}
    assert names == {"manifest", "refused", "summary.json"}


def _kill_everything_once(airflow: Airflow, run_id: str) -> set[str]:
    """Kill each step's process once in mid-work, the light tasks' own processes as they appear, the
    documents server during prepare's first try, the scheduler during a trial. Returns what was
    killed."""
    killed: set[str] = set()
    light = {
        str(each["id"]): str(each["task_id"])
        for each in airflow.task_instances(run_id)
        if each["task_id"] in LIGHT
    }
    begun: dict[int, float] = {}
    ends = time.monotonic() + 900
    while time.monotonic() < ends:
        killed |= _kill_light(light)
        for process, line in working_on(_id(run_id)):
            step = _step_of(" ".join(line))
            began = begun.setdefault(process.pid, time.monotonic())
            if step is None or step in killed or time.monotonic() - began < KILLED[step]:
                continue
            os.kill(process.pid, signal.SIGKILL)
            killed.add(step)
            if step == "prepare":
                _kill_server("documents")
                killed.add("documents")
                orchard("up")
            if step == "trial":
                _kill_server("airflow-scheduler")
                killed.add("scheduler")
                orchard("up")
        if airflow.run(run_id)["state"] in {"success", "failed"}:
            break
        time.sleep(0.05)
    return killed


def _kill_light(light: dict[str, str]) -> set[str]:
    """Kill the process of a task that runs in Airflow's own; it bears the id of its first try."""
    killed = set()
    for process, line in programs():
        text = " ".join(line).strip()
        found = next((each for each in light if text == f"airflow worker -- {each}"), None)
        if found is not None:
            process.kill()
            killed.add(light.pop(found))
    return killed


def _kill_server(name: str) -> None:
    pid = next(each.pid for each in control.status() if each.name == name)
    assert pid is not None
    psutil.Process(pid).kill()
    wait_for(lambda: not lives(pid), f"the end of {name}", 10, 0.1)


def _step_of(line: str) -> str | None:
    return next(
        (step for step in KILLED if f".{step} " in line or f"trainers {step} " in line), None
    )


def _id(run_id: str) -> str:
    return build_id_of("build_model", run_id)


def _bundle(owner: str, run_id: str) -> str:
    facts = Blobs(settings().blobs_root).read_json(keys.result(owner, _id(run_id), "select"))
    return str(facts["facts"]["bundle"])


def test_everything_killed_at_once_comes_back_with_nothing_lost(
    stack: Path, airflow: Airflow
) -> None:
    before = {each["dag_run_id"] for each in _runs(airflow)}
    for condition in control.status():
        if condition.pid is not None and lives(condition.pid):
            os.kill(condition.pid, signal.SIGKILL)
    orchard("up")
    assert all(each.up for each in control.status())
    with Airflow.connected() as again:
        assert {each["dag_run_id"] for each in _runs(again)} == before
        assert set(states(again, next(iter(before))).values())


def _runs(airflow: Airflow) -> list[dict[str, str]]:
    return list(airflow.call("GET", "/api/v2/dags/build_model/dagRuns")["dag_runs"])
