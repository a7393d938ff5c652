"""The job runner `process`: a step is a process on this machine, in a process group of its own."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from airflow.sdk import BaseOperator

from operators.contract import job_of, told
from operators.links import ALL
from orchard.settings import REPOSITORY

_GRACE_SECONDS = 5.0
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


class ProcessJob(BaseOperator):
    """Run a step as a process and show its output in the task log while it runs.

    The process gets its own group, which ends with the task: on "mark failed", on a time limit and
    when the task's own process dies, even by SIGKILL (the kernel then ends the step too). What the
    step itself has started and left behind is ended when the step is over.

    Args:
        step: name of the step, as its result file is named.
        program: what follows `python -m`.
        index: position among mapped instances; -1 where there are none.
        title: what a mapped instance is called in the UI.
        gpus: as for a pod; a process sees the GPUs that this machine has.
    """

    template_fields: Sequence[str] = ("index", "title")
    operator_extra_links = ALL

    def __init__(
        self,
        *,
        step: str,
        program: Sequence[str],
        index: int = -1,
        title: str = "",
        gpus: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.step = step
        self.program = tuple(program)
        self.index = index
        self.title = title
        self.gpus = gpus
        self.addresses: dict[str, str] = {}
        self._process: subprocess.Popen[str] | None = None

    def execute(self, context: Any) -> dict[str, Any]:
        """Start the step, pass on its lines, and return its figures."""
        context["title"] = self.title
        job = job_of(self.step, self.program, int(self.index), context)
        job.forget()
        self._process = subprocess.Popen(
            [sys.executable, *job.arguments],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            bufsize=1,
            process_group=0,
            preexec_fn=_die_with(os.getpid()),
        )
        # A child that outlives the step would hold the output open, and the reading would not end.
        watch = threading.Thread(target=self._end_group_after_leader, daemon=True)
        watch.start()
        try:
            assert self._process.stdout is not None
            for line in self._process.stdout:
                self.log.info("%s", line.rstrip("\n"))
            watch.join()
            exit_code = self._process.wait()
        finally:
            self._end_group()
        facts = job.conclude(exit_code)
        self.addresses = {
            name: str(value) for name, value in facts.items() if name.endswith("_url")
        }
        return told(facts)

    def on_kill(self) -> None:
        """End the step and all that it has started: politely first, then for good."""
        if self._process is None or self._process.poll() is not None:
            return
        import psutil

        descendants: list[psutil.Process] = []
        with contextlib.suppress(psutil.Error):
            descendants = psutil.Process(self._process.pid).children(recursive=True)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE_SECONDS)
        self._end_group()
        for process in descendants:  # those that have made a group of their own
            with contextlib.suppress(psutil.Error):
                process.kill()

    def _end_group_after_leader(self) -> None:
        """Wait for the step; end its group while the step's number cannot be another's yet."""
        if self._process is not None:
            with contextlib.suppress(ChildProcessError):
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
            self._end_group()

    def _end_group(self) -> None:
        """No process of the group outlives the task."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)


def _die_with(parent: int) -> Callable[[], None]:
    """What the new process does first: have the kernel end it when its parent ends.

    Only system calls, no lock is taken, as is asked of what runs between fork and exec.
    """

    def prepare() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return prepare
