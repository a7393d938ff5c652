"""Up, down, status: the local stack as a whole."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from orchard.errors import OrchardError, TryAgain
from orchard.settings import REPOSITORY, Settings, settings
from orchard.stack import java, preparing, processes, state
from orchard.stack.servers import (
    Server,
    airflow_environment,
    servers,
    write_airflow_password,
)

Say = Callable[[str], None]
_READY_SECONDS = 180.0


@dataclass(frozen=True)
class Condition:
    """How a server is.

    Attributes:
        up: it runs and answers.
        detail: why it is not, or how long it has been running.
    """

    name: str
    up: bool
    detail: str
    address: str
    pid: int | None


def up(say: Say = print, *, class_archive: bool = True) -> list[Condition]:
    """Start what is not running, wait until all answer. What runs is left alone.

    Args:
        class_archive: also begin to make Spark's class archive by the side, where it is missing.

    Raises:
        OrchardError: a server does not come up; the end of its log is shown.
    """
    with _lock(settings().home):
        return _up(say, class_archive)


def _up(say: Say, class_archive: bool) -> list[Condition]:
    home = settings().home
    running = _recorded(home)
    alive = {name for name, process in running.items() if process is not None}
    ports = state.load_ports(home, _port_names(alive), fixed=settings().fixed_ports)
    secrets = state.load_secrets(home)
    current = _configure(home, ports)
    environment = {**os.environ, **_environment(current, ports, secrets)}
    preparing.folders(current)
    write_airflow_password(current, secrets)
    listed = servers(current, ports)
    wanted = [each for each in listed if not (each.name in alive and _answers_within(each, 3.0))]
    airflow = [each for each in wanted if each.name.startswith("airflow")]
    for server in wanted:
        if server not in airflow:
            _start(server, home, environment, say)
    preparing.airflow_database(current, environment, say)
    for server in airflow:
        _start(server, home, environment, say)
    preparing.backbones(current, environment, say)
    for server in listed:
        _wait(server, home, say)
    if class_archive:
        preparing.class_archive(current, environment, say)
    return status()


def down(say: Say = print) -> int:
    """End every process of the installation. Returns how many there were."""
    home = settings().home
    with _lock(home):
        schedulers = processes.belonging(home, "airflow-scheduler")
        count = processes.end(schedulers, grace_seconds=6)
        count += processes.end(processes.belonging(home))
        shutil.rmtree(home / "run", ignore_errors=True)
    say(f"{count} processes ended")
    return count


def status() -> list[Condition]:
    """How each server is, and why one is down."""
    home = settings().home
    if not (home / "ports.json").exists():
        return []
    ports = json.loads((home / "ports.json").read_text())
    running = _recorded(home)
    return [
        _condition(server, running.get(server.name), home) for server in servers(settings(), ports)
    ]


def clean(say: Say = print) -> None:
    """End everything and remove all state: a full reset."""
    down(say)
    shutil.rmtree(settings().home, ignore_errors=True)
    say(f"{settings().home} removed")


def login() -> tuple[str, str]:
    """Name and password of the Airflow UI."""
    return "admin", state.load_secrets(settings().home).admin_password


def _configure(home: Path, ports: dict[str, int]) -> Settings:
    values = {
        "documents_uri": f"mongodb://127.0.0.1:{ports['documents']}",
        "tracking_uri": f"http://127.0.0.1:{ports['tracking']}",
        "service_url": f"http://127.0.0.1:{ports['service']}",
        "service_port": str(ports["service"]),
        "airflow_url": f"http://127.0.0.1:{ports['airflow']}",
        "java_home": str(java.require(settings().java_home)),
        "code_version": _code_version(),
    }
    state.write_settings(home, values)
    settings.cache_clear()
    return settings()


def _environment(
    current: Settings, ports: dict[str, int], secrets: state.Secrets
) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{current.java_home}/bin:{os.environ.get('PATH', '')}"
    return {
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONUNBUFFERED": "1",
        "PATH": path,
        "JAVA_HOME": str(current.java_home),
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        # Airflow renames its processes; without this that would wipe the marks they are found by.
        "SPT_NOENV": "1",
        "GIT_PYTHON_REFRESH": "quiet",
        # The servers ask each other directly, whatever proxy leads to the world outside.
        **_without_proxy(),
        **airflow_environment(current, ports, secrets),
        processes.HOME_MARK: str(current.home),
    }


def _without_proxy() -> dict[str, str]:
    given = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    value = f"{given},127.0.0.1,localhost".strip(",")
    return {"no_proxy": value, "NO_PROXY": value}


def _start(server: Server, home: Path, environment: dict[str, str], say: Say) -> None:
    left = processes.belonging(home, server.name)
    if left:
        processes.end(left, grace_seconds=3)
    (home / "run").mkdir(parents=True, exist_ok=True)
    (home / "run" / f"{server.name}.pid").unlink(missing_ok=True)
    say(f"Starting {server.name}")
    pid = processes.start(
        server.command,
        environment={**environment, **server.environment},
        home=home,
        server=server.name,
        log=home / "logs" / f"{server.name}.log",
    )
    record = home / "run" / f"{server.name}.json"
    with contextlib.suppress(psutil.Error):
        created = psutil.Process(pid).create_time()
        state.write_private(record, json.dumps({"pid": pid, "created": created}))


def _wait(server: Server, home: Path, say: Say) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not server.alive():
        if _recorded(home).get(server.name) is None:
            raise OrchardError(
                f"{server.name} ended while it was starting",
                value=preparing.tail(home / "logs" / f"{server.name}.log"),
                way_out=f"The whole log is {home / 'logs' / (server.name + '.log')}",
            )
        if time.monotonic() > deadline:
            raise TryAgain(
                f"{server.name} does not answer after {_READY_SECONDS:.0f} s",
                value=preparing.tail(home / "logs" / f"{server.name}.log"),
            )
        time.sleep(0.2)


def _answers_within(server: Server, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if server.alive():
            return True
        time.sleep(0.2)
    return False


def _recorded(home: Path) -> dict[str, psutil.Process | None]:
    """The recorded process of each server, None where it is gone (or the number is another's)."""
    found: dict[str, psutil.Process | None] = {}
    for record in sorted((home / "run").glob("*.json")):
        entry = json.loads(record.read_text() or "{}")
        process = None
        with contextlib.suppress(psutil.Error, KeyError):
            candidate = psutil.Process(entry["pid"])
            same = abs(candidate.create_time() - entry["created"]) < 1
            if same and candidate.status() != psutil.STATUS_ZOMBIE:
                process = candidate
        found[record.stem] = process
    return found


def _condition(server: Server, process: psutil.Process | None, home: Path) -> Condition:
    if process is None:
        reason = "not started" if not (home / "run" / f"{server.name}.json").exists() else "ended"
        detail = (
            reason
            if reason == "not started"
            else f"ended; {preparing.tail(home / 'logs' / (server.name + '.log'), 1)}"
        )
        return Condition(server.name, False, detail, server.address, None)
    if not server.alive():
        return Condition(
            server.name, False, "runs, but does not answer", server.address, process.pid
        )
    minutes = (time.time() - process.create_time()) / 60
    return Condition(server.name, True, f"up for {minutes:.0f} min", server.address, process.pid)


def _port_names(alive: set[str]) -> set[str]:
    names = alive & {"documents", "tracking", "service"}
    if "airflow-api" in alive:
        names |= {"airflow"}
    if "airflow-scheduler" in alive:
        names |= {"airflow_logs"}
    return names


def _code_version() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"


@contextlib.contextmanager
def _lock(home: Path) -> Iterator[None]:
    """One start or stop at a time."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
