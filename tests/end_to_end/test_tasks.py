"""Every task goes the same way: from a folder of samples through the DAG to an endpoint.

The stack runs from a copy of the checkout in which a task of texts has its two folders and nothing
else was changed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import toy_task
from tests.end_to_end.conftest import orchard, running
from tests.toy_task import samples as texts


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
    unseen = next(installation.example("machine", 1, seed=99).rglob("*.wav"))
    answer = installation.json("predict", "machine", str(unseen))["answer"]
    assert len(answer["results"]) == 3
