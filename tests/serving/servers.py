"""Real servers for tests: started on free ports, ended by their process id."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

REPOSITORY = Path(__file__).resolve().parents[2]
_START_SECONDS = 240.0
_STOP_SECONDS = 20.0


@dataclass
class Running:
    """A server that answers."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path


def free_port() -> int:
    """A port of the loopback address that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running(
    command: Sequence[str],
    url: str,
    alive: Callable[[], bool],
    log: Path,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Running]:
    """A server from the moment it lives to the end of the block; its log is shown if it dies."""
    log.parent.mkdir(parents=True, exist_ok=True)
    variables = {**os.environ, "PYTHONPATH": str(REPOSITORY), **(environment or {})}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=variables,
            cwd=REPOSITORY,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not alive():
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{command} did not start:\n{log.read_text()[-3000:]}")
            time.sleep(0.1)
        yield Running(process, url, log)
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until a condition is true. What follows an answer (a log line, a metric) needs it."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "this did not come true in time"
        time.sleep(0.05)


def answers(url: str) -> bool:
    """Whether an address answers with 200."""
    try:
        return httpx.get(url, timeout=5.0, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


def connects(port: int) -> bool:
    """Whether something listens on a port of the loopback address."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2.0).close()
    except OSError:
        return False
    return True


@contextlib.contextmanager
def service(root: Path, log: Path, *, processes: int = 2, **settings: object) -> Iterator[Running]:
    """The prediction service on a serving folder, ready."""
    root.mkdir(parents=True, exist_ok=True)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    environment = {
        "ORCHARD_HOME": str(log.parent / "home"),
        "ORCHARD_SERVING_FOLDER": str(root),
        "ORCHARD_SERVICE_PORT": str(port),
        "ORCHARD_SERVICE_PROCESSES": str(processes),
        **{f"ORCHARD_{name.upper()}": str(value) for name, value in settings.items()},
    }
    command = [sys.executable, "-m", "serving"]
    with running(command, url, lambda: answers(f"{url}/ready"), log, environment) as server:
        yield server
