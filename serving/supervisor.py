"""Keeps the worker processes of the service: starts them, restarts what died, ends them all.

The supervisor alone listens and gives each connection to the worker that has the fewest (see
`serving.distribution`). Workers end by themselves when the supervisor is gone: they watch a pipe
whose other end only it holds.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from orchard.errors import TryAgain
from serving.distribution import Distributor

logger = logging.getLogger(__name__)

_BACKLOG = 1024
_STOP_SECONDS = 15.0
_POLL_SECONDS = 0.1
_SHORT_LIFE_SECONDS = 2.0
_LONGEST_PAUSE_SECONDS = 10.0


@dataclass
class _Worker:
    number: int
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    pause: float = 0.0
    start_at: float = 0.0


class Supervisor:
    """The parent of the workers.

    Args:
        host, port: where to listen; port 0 takes a free one.
        processes: number of workers.
    """

    def __init__(self, host: str, port: int, processes: int) -> None:
        listener = _listen(host, port)
        self.port = int(listener.getsockname()[1])
        self._distributor = Distributor(listener)
        self._life_read, self._life_write = os.pipe()
        self._state = Path(tempfile.mkdtemp(prefix="orchard-service-"))
        self._workers = [_Worker(number) for number in range(processes)]
        self._stopping = False

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT."""
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        try:
            while not self._stopping:
                for worker in self._workers:
                    self._care(worker)
                self._distributor.serve(_POLL_SECONDS)
        finally:
            self._stop()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._stopping = True

    def _care(self, worker: _Worker) -> None:
        now = time.monotonic()
        if worker.process is not None:
            code = worker.process.poll()
            if code is None:
                return
            lived = now - worker.started
            worker.pause = (
                min(max(worker.pause * 2, 0.5), _LONGEST_PAUSE_SECONDS)
                if lived < _SHORT_LIFE_SECONDS
                else 0.0
            )
            worker.start_at = now + worker.pause
            logger.warning(
                "Worker %d (process %d) ended with %d after %.0f s; a new one starts in %.1f s",
                worker.number,
                worker.process.pid,
                code,
                lived,
                worker.pause,
            )
            worker.process = None
        if now >= worker.start_at:
            self._start(worker)

    def _start(self, worker: _Worker) -> None:
        command = [sys.executable, "-m", "serving.worker"]
        worker.started = time.monotonic()
        with self._distributor.connect(worker.number) as link:
            command += ["--link", str(link.fileno()), "--life", str(self._life_read)]
            command += ["--state", str(self._state), "--number", str(worker.number)]
            worker.process = subprocess.Popen(
                command, pass_fds=(link.fileno(), self._life_read), stdin=subprocess.DEVNULL
            )

    def _stop(self) -> None:
        self._distributor.close()
        processes = [worker.process for worker in self._workers if worker.process is not None]
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + _STOP_SECONDS
        for process in processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                logger.warning("Process %d did not end in time and is killed", process.pid)
                process.kill()
                process.wait()
        os.close(self._life_write)
        os.close(self._life_read)
        shutil.rmtree(self._state, ignore_errors=True)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        raise TryAgain(
            f"The service cannot listen ({error.strerror or error})",
            value=f"{host}:{port}",
            way_out="Free the port, or set ORCHARD_SERVICE_PORT to another one",
        ) from error
    return listener
