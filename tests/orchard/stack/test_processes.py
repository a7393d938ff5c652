"""Processes of an installation: found by their marks, and nothing else is touched."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from orchard.stack import processes

PARENT = """
import signal, subprocess, sys, time
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., int]]:
    """Starts a server with a child in a session of its own, below a home. Returns its pid."""
    homes: set[Path] = set()

    def make(home: str, server: str, *arguments: str) -> int:
        folder = tmp_path / home
        homes.add(folder)
        log = folder / f"{server}.log"
        pid = processes.start(
            [sys.executable, "-c", PARENT, *arguments],
            environment={"PATH": os.environ["PATH"]},
            home=folder,
            server=server,
            log=log,
        )
        ends = time.monotonic() + 60
        while not log.read_text().endswith("\n"):
            assert time.monotonic() < ends
            time.sleep(0.02)
        return pid

    yield make
    for home in homes:
        for left in processes.belonging(home):
            left.kill()


def test_servers_and_their_children_are_found_by_home_and_name(
    start: Callable[..., int], tmp_path: Path
) -> None:
    mine, other = start("a", "documents"), start("a", "tracking")
    start("b", "documents")
    found = {each.pid for each in processes.belonging(tmp_path / "a", "documents")}
    child = int((tmp_path / "a" / "documents.log").read_text())
    assert found == {mine, child}
    assert other in {each.pid for each in processes.belonging(tmp_path / "a")}
    assert len(processes.belonging(tmp_path / "a")) == 4
    assert processes.belonging(tmp_path / "none") == []


def test_a_child_is_found_when_its_parent_was_killed(
    start: Callable[..., int], tmp_path: Path
) -> None:
    parent = psutil.Process(start("a", "documents"))
    child = int((tmp_path / "a" / "documents.log").read_text())
    parent.kill()
    psutil.wait_procs([parent], timeout=10)
    assert [each.pid for each in processes.belonging(tmp_path / "a")] == [child]


def test_all_are_ended_also_those_that_ignore_the_signal_and_no_others(
    start: Callable[..., int], tmp_path: Path
) -> None:
    start("a", "documents", "stubborn")
    stays = start("b", "documents")
    assert processes.end(processes.belonging(tmp_path / "a"), grace_seconds=0.3) == 2
    assert processes.belonging(tmp_path / "a") == []
    assert psutil.Process(stays).status() != psutil.STATUS_ZOMBIE
    assert processes.end([]) == 0


def test_a_process_without_the_server_s_mark_is_a_stranger(tmp_path: Path) -> None:
    marked = {"PATH": os.environ["PATH"], processes.HOME_MARK: str(tmp_path)}
    with subprocess.Popen(["sleep", "600"], env=marked) as stranger:
        try:
            assert processes.belonging(tmp_path) == []
        finally:
            stranger.kill()
