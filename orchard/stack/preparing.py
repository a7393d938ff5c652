"""What is made once: folders, Airflow's database, the backbones' graphs, Spark's class archive."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from orchard.blobs import Blobs, keys
from orchard.errors import OrchardError
from orchard.names import code_of
from orchard.settings import REPOSITORY, Settings
from orchard.stack import processes

Say = Callable[[str], None]
Environment = Mapping[str, str]


def folders(current: Settings) -> None:
    """Make the folders of state."""
    for folder in ("documents", "mlflow", "airflow", "imports", "serving", "blobs", "logs"):
        (current.home / folder).mkdir(parents=True, exist_ok=True)


def airflow_database(current: Settings, environment: Environment, say: Say) -> None:
    """Make Airflow's database."""
    marker = current.home / "airflow" / ".migrated"
    if not marker.exists():
        say("Preparing Airflow's database")
        _run_tool(["airflow", "db", "migrate"], environment, current.home / "logs" / "migrate.log")
        marker.touch()


def class_archive(current: Settings, environment: Environment, say: Say) -> None:
    """Begin to make the archive that shortens Spark's start; it takes half a minute by the side."""
    archive = current.home / "spark" / "classes.jsa"
    if archive.exists() or processes.belonging(current.home, "class-archive"):
        return
    say("Preparing Spark's class archive by the side, once (starts Spark faster from then on)")
    processes.start(
        [sys.executable, "-m", "spark_jobs.class_archive"],
        environment=environment,
        home=current.home,
        server="class-archive",
        log=current.home / "logs" / "class_archive.log",
    )


def backbones(current: Settings, environment: Environment, say: Say) -> None:
    """Put the backbones' feature graphs into the store, where they are missing or were made by
    other code, and once the speed of this machine's cores beside them."""
    blobs = Blobs(current.blobs_root)
    if blobs.exists(keys.backbones_complete()):
        made = blobs.read_json(keys.backbones_complete())
        if isinstance(made, dict) and made["code"] == code_of(
            REPOSITORY / "trainers" / "backbones"
        ):
            return
    say("Preparing the pretrained backbones, once")
    _run_tool(
        [sys.executable, "-m", "trainers", "backbones", "--store"],
        environment,
        current.home / "logs" / "backbones.log",
    )


def _run_tool(command: list[str], environment: Environment, log: Path) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    executable = shutil.which(command[0], path=environment["PATH"]) or command[0]
    with log.open("wb") as output:
        done = subprocess.run(
            [executable, *command[1:]],
            cwd=REPOSITORY,
            env={**environment, processes.SERVER_MARK: "tool"},
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode != 0:
        raise OrchardError(
            f"{' '.join(command[:4])} failed",
            value=tail(log),
            way_out=f"The whole log is {log}",
        )


def tail(log: Path, lines: int = 8) -> str:
    if not log.exists():
        return "no log"
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
