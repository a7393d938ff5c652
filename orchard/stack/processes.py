"""Starting, finding and ending processes that belong to one installation.

A process belongs to an installation when its environment holds the installation's home, and to a
server when it also holds the server's name. Children inherit both, so that nothing is missed when a
parent was killed, and nothing else on the machine is touched.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

HOME_MARK = "ORCHARD_HOME"
SERVER_MARK = "ORCHARD_SERVER"


def belonging(home: Path, server: str | None = None) -> list[psutil.Process]:
    """Living processes of an installation, or of one of its servers; never the caller itself."""
    mine = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    found = []
    for process in psutil.process_iter():
        if process.pid in mine:
            continue
        with contextlib.suppress(psutil.Error, OSError):
            marks = process.environ()
            if marks.get(HOME_MARK) != str(home) or SERVER_MARK not in marks:
                continue
            if server is not None and marks[SERVER_MARK] != server:
                continue
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def start(
    command: list[str], *, environment: Mapping[str, str], home: Path, server: str, log: Path
) -> int:
    """Start a server in a session of its own, its output appended to a log. Returns the pid."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**environment, HOME_MARK: str(home), SERVER_MARK: server},
            preexec_fn=_default_signals,
        )
    return process.pid


def end(processes: Iterable[psutil.Process], grace_seconds: float = 8.0) -> int:
    """End processes: an interrupt first, after the grace for good. Returns how many there were."""
    listed = list(processes)
    for process in listed:
        with contextlib.suppress(psutil.Error):
            process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + grace_seconds
    _, alive = psutil.wait_procs(listed, timeout=max(0.0, deadline - time.monotonic()))
    for process in alive:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=5)
    return len(listed)


def _default_signals() -> None:
    """A shell starts background commands with the interrupt ignored; servers need it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
