"""The main job from sample files to a prediction, as a person would do it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchard.api import importing, predicting, reports, training
from orchard.errors import EXIT_BAD_INPUT, EXIT_DONE, BadInput, OrchardError
from orchard.settings import REPOSITORY, settings

Say = Callable[[str], None]
PROJECT = "keyboard"
_MARKER = ".example.json"
_UNSEEN_SEED = 1_000_003
"""Seed of the pictures that belong to no split."""


def demo(say: Say, *, count: int = 120, minutes: int = 2) -> dict[str, Any]:
    """Generate the keyboard example, build a model through the DAG, and ask it about a new picture.

    Args:
        count: pictures a class.

    Returns the figures of `reports.report` with the prediction beside them.

    Raises BadInput where the example cannot be drawn in that size.
    """
    folder = settings().home / "examples" / f"{PROJECT}-{count}"
    unseen = settings().home / "examples" / f"{PROJECT}-unseen"
    say(f"Generating the example {PROJECT}: {count} pictures a class")
    _generate(folder, count, 7)
    _generate(unseen, 2, _UNSEEN_SEED)
    imported = importing.stage(folder, PROJECT, say)
    say(f"Data: {imported.files:,} files, {imported.bytes / 1e6:,.1f} MB in {imported.location}")
    watched = training.start(
        {
            "project": PROJECT,
            "task": task_of(folder),
            "data": imported.location,
            "minutes": minutes,
            "approval": "person",
        }
    )
    say(f"Triggered: run {watched.run_id}, build {watched.build_id}")
    training.watch(watched, say, answer="Approve")
    if not watched.published:
        raise training.failure_of(watched)
    sample = sorted(unseen.glob("*/*.jpg"))[0]
    prediction = predicting.predict(PROJECT, sample)
    best = prediction.answer["results"][0]
    say("")
    say(f"A picture that was in no split: {sample.parent.name}/{sample.name}")
    say(f"Answer: {best['name']}, confidence {best['score']:.3f}")
    say(f"Ask again:\n  {prediction.curl}")
    return {**reports.report(PROJECT), "prediction": prediction.answer}


def task_of(folder: Path) -> str:
    """The task that an example set in a folder is for, as its generator noted it there."""
    return str(json.loads((folder / _MARKER).read_text(encoding="utf-8"))["task"])


def _generate(folder: Path, count: int, seed: int) -> None:
    command = [sys.executable, "-m", "examples", PROJECT, "--folder", str(folder)]
    command += ["--count", str(count), "--seed", str(seed)]
    done = subprocess.run(command, cwd=REPOSITORY, check=False)
    if done.returncode != EXIT_DONE:
        kind = BadInput if done.returncode == EXIT_BAD_INPUT else OrchardError
        raise kind("The example could not be drawn", way_out="The lines above say why")
