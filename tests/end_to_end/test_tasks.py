"""Every task goes the same way: from a folder of samples through the DAG to an endpoint.

The stack runs from a copy of the checkout in which a task of texts has its two folders and nothing
else was changed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from orchard.api.airflow import Airflow
from orchard.blobs import Blobs, keys
from orchard.names import build_id_of
from orchard.settings import settings
from tests import toy_task
from tests.end_to_end.conftest import (
    form,
    orchard,
    running,
    wait_for,
    wait_for_end,
)
from tests.programs import working_on
from tests.toy_task import samples as texts

pytestmark = pytest.mark.long

KILLED = {"prepare": 4.0, "trial": 4.0}
"""Seconds into each step at which its process is killed."""


@dataclass(frozen=True)
class Installation:
    """A stack that is up, and the checkout that it runs from."""

    home: Path
    checkout: Path

    def json(self, *arguments: str) -> dict[str, Any]:
        """What a verb of the command line answers with `--json`."""
        return dict(json.loads(orchard(*arguments, "--json", checkout=self.checkout).stdout))

    def example(self, name: str, count: int, seed: int = 7) -> Path:
        """A generated example set below the import root."""
        folder = self.home / "imports" / f"{name}-{seed}"
        command = [sys.executable, "-m", "examples", name, "--folder", str(folder)]
        command += ["--count", str(count), "--seed", str(seed)]
        subprocess.run(command, cwd=self.checkout, check=True, capture_output=True)
        return folder

    def disturbed(self, project: str, data: Path, task: str) -> str:
        """The bundle of a run by another owner in which two steps are killed in mid-work."""
        filled = form(project, str(data), task=task, owner="wild", endpoint=f"wild-{project}")
        with Airflow.connected() as airflow:
            run_id = airflow.trigger({**filled, "floor": 0.0})
            for step, seconds in KILLED.items():
                self._kill(run_id, step, seconds)
            wait_for_end(airflow, run_id)
            for step in KILLED:
                assert any(
                    each["try_number"] > 1
                    for each in airflow.task_instances(run_id)
                    if each["task_id"] == step
                ), f"{step} was not tried again"
        facts = Blobs(settings().blobs_root).read_json(
            keys.result("wild", build_id_of("build_model", run_id), "select")
        )
        return str(facts["facts"]["bundle"])

    def _kill(self, run_id: str, step: str, seconds: float) -> None:
        """SIGKILL the program of a step some seconds after it began."""
        build_id = build_id_of("build_model", run_id)

        def found() -> psutil.Process | None:
            return next(
                (
                    process
                    for process, line in working_on(build_id)
                    if f".{step} " in (text := " ".join(line)) or f"trainers {step}" in text
                ),
                None,
            )

        process = wait_for(found, f"the program of {step}", pause=0.05)
        time.sleep(seconds)
        process.kill()


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("tasks")
    checkout = toy_task.checkout(folder / "checkout")
    with running(folder / "home", checkout) as home:
        yield Installation(home, checkout)


def test_a_task_in_two_new_folders_goes_through_the_dag(installation: Installation) -> None:
    data = installation.home / "imports" / "notes"
    texts.write(data, 30)
    figures = installation.json(
        "train", str(data), "notes", "--task", toy_task.NAME, "--minutes", "1", "--floor", "0.8"
    )
    assert figures["task"] == toy_task.NAME
    assert figures["test_samples"] == 12
    assert figures["accuracy"] >= 0.9
    unseen = installation.home / "unseen.txt"
    unseen.write_bytes(texts.text("kitchen", 999))
    answer = installation.json("predict", "notes", str(unseen))["answer"]
    assert answer["results"][0]["name"] == "kitchen"


def test_boxes_are_found_by_an_endpoint(installation: Installation) -> None:
    data = installation.example("shelf", 60)
    figures = installation.json(
        "train", str(data), "shelf", "--task", "object_detection", "--minutes", "1", "--floor", "0"
    )
    assert figures["ap50"] >= 0.3
    assert installation.disturbed("shelf", data, "object_detection") == figures["bundle"]
    assert {"ap", "f1", "threshold"} <= set(figures)
    unseen = next(installation.example("shelf", 1, seed=99).rglob("*.jpg"))
    answer = installation.json("predict", "shelf", str(unseen))["answer"]
    assert answer["results"]
    for result in answer["results"]:
        assert set(result["location"]) == {"left", "top", "width", "height"}
        assert result["score"] >= figures["threshold"] - 1e-6


def test_sounds_are_told_apart_by_an_endpoint(installation: Installation) -> None:
    data = installation.example("machine", 24)
    figures = installation.json(
        "train", str(data), "machine", "--task", "sound_classification", "--minutes", "1",
        "--floor", "0",
    )  # fmt: skip
    assert figures["accuracy"] >= 0.7
    assert installation.disturbed("machine", data, "sound_classification") == figures["bundle"]
    unseen = next(installation.example("machine", 1, seed=99).rglob("*.wav"))
    answer = installation.json("predict", "machine", str(unseen))["answer"]
    assert len(answer["results"]) == 3
