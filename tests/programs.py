"""The processes of this machine as they come and go: one that ends while it is looked at is gone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import psutil


def programs() -> Iterator[tuple[psutil.Process, list[str]]]:
    """Each living process with its command line; zombies have ended."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            line = process.cmdline()
            if process.status() != psutil.STATUS_ZOMBIE:
                yield process, line


def lives(pid: int) -> bool:
    """Whether a process has not ended; a zombie has."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def working_on(build_id: str) -> list[tuple[psutil.Process, list[str]]]:
    """Living processes that work on a build's step, with their command lines."""
    return [(process, line) for process, line in programs() if build_id in line]
