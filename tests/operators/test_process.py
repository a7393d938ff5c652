"""The runner `process`, with real processes: output, the end of all that was started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException

from operators import process
from operators.process import ProcessJob
from orchard.settings import REPOSITORY
from tests.operators.runners import context_of, listen
from tests.programs import lives

_SECONDS = 60.0


@pytest.fixture
def step(
    tmp_path: Path, orchard_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], ProcessJob]]:
    """Makes an operator out of a step's source text, and ends what a failed test leaves."""
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{REPOSITORY}")
    monkeypatch.setenv("PIDS", str(tmp_path / "pids"))

    def make(source: str) -> ProcessJob:
        (tmp_path / "written_step.py").write_text(textwrap.dedent(source))
        return ProcessJob(task_id="sample", step="sample", program=["written_step"])

    yield make
    for pid in pids(tmp_path):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def pids(folder: Path) -> list[int]:
    """The numbers that a step and its children have written down."""
    path = folder / "pids"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def wait_for(true: Callable[[], bool]) -> None:
    """Wait until something is so."""
    ends = time.monotonic() + _SECONDS
    while not true():
        assert time.monotonic() < ends, "it did not happen in time"
        time.sleep(0.02)


def in_background(operator: ProcessJob) -> tuple[threading.Thread, list[BaseException]]:
    """Execute in a thread, as the signal of "mark failed" meets a task that is at work."""
    errors: list[BaseException] = []

    def execute() -> None:
        try:
            operator.execute(context_of())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=execute)
    thread.start()
    return thread, errors


NOTE = """
    import os, signal, subprocess, sys, time

    def note(pid):
        with open(os.environ["PIDS"], "a") as file:
            file.write(f"{pid}\\n")

    SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
    note(os.getpid())
"""


def test_lines_are_shown_while_the_step_runs(step: Callable[[str], ProcessJob]) -> None:
    operator = step(
        NOTE
        + """
    print("ünïcode \\udcff".encode("utf-8", "surrogateescape").decode("latin-1"), flush=True)
    sys.stderr.write("half a line, ")
    sys.stderr.flush()
    sys.stderr.write("and its end\\n")
    sys.stderr.flush()
    time.sleep(600)
    """
    )
    told = listen(operator)
    thread, _ = in_background(operator)
    wait_for(lambda: len(told.lines) >= 2)
    assert thread.is_alive()
    assert told.lines[1] == "half a line, and its end"
    operator.on_kill()
    thread.join(_SECONDS)


def test_much_output_does_not_stop_it(step: Callable[[str], ProcessJob]) -> None:
    operator = step(
        """
    import sys
    for number in range(20_000):
        print("%", number, "x" * 200)
        print("error", number, file=sys.stderr)
    sys.exit(3)
    """
    )
    told = listen(operator)
    with pytest.raises(AirflowException, match="exit code 3"):
        operator.execute(context_of())
    assert len(told.lines) == 40_000


def test_on_kill_ends_the_whole_tree(step: Callable[[str], ProcessJob], tmp_path: Path) -> None:
    operator = step(
        NOTE
        + """
    note(subprocess.Popen(SLEEP).pid)
    note(subprocess.Popen(SLEEP, process_group=0).pid)
    print("ready", flush=True)
    time.sleep(600)
    """
    )
    told = listen(operator)
    thread, errors = in_background(operator)
    wait_for(lambda: "ready" in told.lines)
    operator.on_kill()
    thread.join(_SECONDS)
    assert not thread.is_alive()
    assert len(pids(tmp_path)) == 3
    for pid in pids(tmp_path):
        wait_for(lambda pid=pid: not lives(pid))  # type: ignore[misc]
    assert "ended by signal 15" in str(errors[0])


def test_a_step_that_ignores_the_signal_is_ended_all_the_same(
    step: Callable[[str], ProcessJob], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_GRACE_SECONDS", 0.3)
    operator = step(
        NOTE
        + """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("ready", flush=True)
    time.sleep(600)
    """
    )
    told = listen(operator)
    thread, errors = in_background(operator)
    wait_for(lambda: "ready" in told.lines)
    operator.on_kill()
    thread.join(_SECONDS)
    assert not thread.is_alive()
    assert "ended by signal 9" in str(errors[0])


def test_a_child_that_holds_the_output_does_not_keep_the_task(
    step: Callable[[str], ProcessJob], tmp_path: Path
) -> None:
    operator = step(
        NOTE
        + """
    note(subprocess.Popen(SLEEP).pid)
    os.kill(os.getpid(), signal.SIGKILL)
    """
    )
    with pytest.raises(AirflowException, match="ended by signal 9"):
        operator.execute(context_of())
    child = pids(tmp_path)[1]
    wait_for(lambda: not lives(child))


def test_a_step_that_closes_its_output_is_waited_for(step: Callable[[str], ProcessJob]) -> None:
    operator = step(
        """
    import os, sys, time
    os.close(1)
    os.close(2)
    time.sleep(0.3)
    os._exit(5)
    """
    )
    with pytest.raises(AirflowException, match="exit code 5"):
        operator.execute(context_of())


def test_the_step_ends_with_a_task_that_is_killed(
    step: Callable[[str], ProcessJob], tmp_path: Path
) -> None:
    step(
        NOTE
        + """
    time.sleep(600)
    """
    )
    task = """
        import operators.process, tests.operators.runners as runners
        operator = operators.process.ProcessJob(
            task_id="sample", step="sample", program=["written_step"]
        )
        operator.execute(runners.context_of())
    """
    running = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(task)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: bool(pids(tmp_path)) or running.poll() is not None)
    finally:
        running.kill()
        running.wait()
    wait_for(lambda: not lives(pids(tmp_path)[0]))


def test_a_task_that_has_not_begun_can_be_killed(orchard_home: Path) -> None:
    operator: Any = ProcessJob(task_id="sample", step="sample", program=["written_step"])
    operator.on_kill()
