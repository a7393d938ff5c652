"""A real stack for the tests of a file: every server, free ports, a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from orchard.api.airflow import Airflow
from orchard.settings import REPOSITORY, settings
from orchard.stack import control, processes

SECONDS_A_BUILD = 900.0


def orchard(
    *arguments: str, check: bool = True, checkout: Path = REPOSITORY
) -> subprocess.CompletedProcess[str]:
    """The command line, as a person calls it in a checkout."""
    done = subprocess.run(
        [sys.executable, "-m", "orchard", *arguments],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not check or done.returncode == 0, f"{arguments}: {done.stdout}\n{done.stderr}"
    return done


@contextmanager
def running(
    home: Path, checkout: Path = REPOSITORY, retrain_cron: str = "0 0 1 1 *"
) -> Iterator[Path]:
    """A stack of a checkout that is up; its home. Every process is gone in the end."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "ORCHARD_HOME": str(home),
            "ORCHARD_FIXED_PORTS": "false",
            "ORCHARD_RETRY_SECONDS": "1",
            "ORCHARD_CODE_VERSION": "tests",
            "ORCHARD_RETRAIN_CRON": retrain_cron,
            "PYTHONPATH": str(checkout),
        }.items():
            patch.setenv(name, value)
        for name in [name for name in os.environ if name.startswith("AIRFLOW_")]:
            patch.delenv(name)
        settings.cache_clear()
        try:
            orchard("up", checkout=checkout)
            settings.cache_clear()
            yield home
        finally:
            control.down(lambda text: None)
            left = processes.belonging(home)
            settings.cache_clear()
    assert not left, f"These processes stayed: {left}"


@pytest.fixture(scope="module")
def stack(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The home of a stack that is up; a module's RETRAIN_CRON says when `retrain` looks."""
    cron = getattr(request.module, "RETRAIN_CRON", "0 0 1 1 *")
    with running(tmp_path_factory.mktemp("stack"), retrain_cron=cron) as home:
        yield home


@pytest.fixture
def airflow(stack: Path) -> Iterator[Airflow]:
    """A logged-in client of the stack's Airflow."""
    with Airflow.connected() as client:
        yield client


def form(project: str, data: str, **more: Any) -> dict[str, Any]:
    """What a person fills in, with an approval that needs nobody."""
    return {
        "project": project,
        "task": "image_classification",
        "data": data,
        "minutes": 1,
        "approval": "floor",
        "floor": 0.5,
        **more,
    }


def states(airflow: Airflow, run_id: str) -> dict[str, str]:
    """State of each task instance, mapped ones with their index."""
    return {
        each["task_id"] + (f"[{each['map_index']}]" if each["map_index"] >= 0 else ""): str(
            each["state"]
        )
        for each in airflow.task_instances(run_id)
    }


def wait_for(
    condition: Callable[[], Any], what: str, seconds: float = SECONDS_A_BUILD, pause: float = 0.5
) -> Any:
    """The first true value of a condition; a failure that says what did not come."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        found = condition()
        if found:
            return found
        time.sleep(pause)
    return pytest.fail(f"After {seconds:.0f} s still not: {what}")


def wait_for_end(airflow: Airflow, run_id: str, state: str = "success") -> None:
    """Wait until a run has ended, in the state that is expected."""
    run = wait_for(
        lambda: (found := airflow.run(run_id))["state"] in {"success", "failed"} and found,
        f"the end of {run_id}",
    )
    told = states(airflow, run_id)
    if run["state"] != state:
        logs = {
            name: airflow.log(run_id, name.split("[")[0], 1)[-15:]
            for name, each in told.items()
            if each == "failed" and "[" not in name
        }
        pytest.fail(f"{run_id} ended {run['state']}: {told}\n{logs}")


def wait_for_line(airflow: Airflow, run_id: str, task_id: str, text: str) -> None:
    """Wait until a task's log holds a text: a state may be told before the last lines are."""
    wait_for(
        lambda: any(text in line for line in airflow.log(run_id, task_id, 1)),
        f"{text!r} in the log of {task_id}",
        20,
    )
