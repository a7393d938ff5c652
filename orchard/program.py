"""What every step that runs outside Airflow shares: arguments, log, result file and exit code.

A step is started as `python -m <module> --build ID [--index N] [--attempt N]`, by a process on this
machine or in a pod alike. Whatever it needs it finds by its build's document. It leaves a result
file (see `orchard.blobs.keys.result`) and ends with 0 (done), 64 (bad input, do not retry),
75 (try again) or 1 (a fault).
"""

from __future__ import annotations

import argparse
import logging
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from orchard.blobs import Blobs, keys
from orchard.catalog import builds
from orchard.catalog.connection import Document, Documents, documents
from orchard.errors import EXIT_DONE, EXIT_FAILED, NotFound, OrchardError
from orchard.settings import Settings, settings

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Step:
    """What a step has at hand.

    Attributes:
        name: the step's name, as the task in the DAG is called.
        build: the build's document (`owner`, `project`, `parameters`, …).
        index: position among the mapped instances of this step; -1 where there are none.
        attempt: 1 for the first try, then counted up.
    """

    name: str
    build: Document
    index: int
    attempt: int
    settings: Settings
    blobs: Blobs
    documents: Documents
    started: float = field(default_factory=time.monotonic)

    @property
    def owner(self) -> str:
        return str(self.build["owner"])

    @property
    def project(self) -> str:
        return str(self.build["project"])

    @property
    def build_id(self) -> str:
        return str(self.build["_id"])

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.build["parameters"])

    def result_of(self, step: str, index: int = -1) -> dict[str, Any]:
        """The facts of an earlier step of this build. Raises NotFound."""
        return dict(
            self.blobs.read_json(keys.result(self.owner, self.build_id, step, index))["facts"]
        )


Body = Callable[[Step], dict[str, Any]]


def run(name: str, body: Body, arguments: Sequence[str] | None = None) -> int:
    """Run a step's body and leave its result. Returns the exit code.

    `body` returns the step's facts as JSON; the key "summary" is the last line of the log.
    """
    parser = argparse.ArgumentParser(prog=name)
    parser.add_argument("--build", required=True, help="id of the build, 16 hexadecimal digits")
    parser.add_argument("--owner", default=None, help="owner of the build; default: the settings'")
    parser.add_argument("--index", type=int, default=-1, help="which mapped instance")
    parser.add_argument("--attempt", type=int, default=1, help="which try, from 1")
    given = parser.parse_args(arguments)
    set_up_log()
    signal.signal(signal.SIGTERM, _end_on_signal)
    owner = given.owner or settings().owner
    try:
        step = Step(
            name=name,
            build=builds.get(documents(), owner, given.build),
            index=given.index,
            attempt=given.attempt,
            settings=settings(),
            blobs=Blobs(settings().blobs_root),
            documents=documents(),
        )
        facts = body(step)
    except OrchardError as error:
        logger.error("%s", error)
        _leave(owner, given.build, name, given.index, error.exit_code, {"error": str(error)})
        return error.exit_code
    except Exception as error:
        logger.exception("The step %s met a fault", name)
        text = f"{type(error).__name__}: {error}"
        _leave(owner, given.build, name, given.index, EXIT_FAILED, {"error": text})
        return EXIT_FAILED
    seconds = time.monotonic() - step.started
    facts = {**facts, "seconds": round(seconds, 2)}
    _leave(owner, given.build, name, given.index, EXIT_DONE, facts)
    logger.info("%s — %.1f s, at most %d MB", facts.get("summary", "Done"), seconds, _peak())
    return EXIT_DONE


def set_up_log() -> None:
    """One plain line an event on standard output, which is what the task log shows."""
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s", force=True)
    for noisy in ("py4j", "mlflow", "urllib3", "fsspec", "pymongo", "matplotlib", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def read_result(blobs: Blobs, owner: str, build_id: str, step: str, index: int = -1) -> Any:
    """The result file of a step: {"exit_code", "facts"}; None where it left none."""
    try:
        return blobs.read_json(keys.result(owner, build_id, step, index))
    except NotFound:
        return None


def forget_result(blobs: Blobs, owner: str, build_id: str, step: str, index: int = -1) -> None:
    """Remove a result before a step starts, so that an old one is never taken for a new one."""
    blobs.delete(keys.result(owner, build_id, step, index))


def _leave(
    owner: str, build_id: str, step: str, index: int, exit_code: int, facts: dict[str, Any]
) -> None:
    record = {"exit_code": exit_code, "facts": facts}
    try:
        key = keys.result(owner, build_id, step, index)
        Blobs(settings().blobs_root).write_json(key, record)
    except OrchardError as error:
        logger.error("The result could not be stored. %s", error)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _end_on_signal(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


class Progress:
    """Says how far a long piece of work is: n of m, rate, time left, at most every few seconds."""

    def __init__(self, what: str, total: int | None = None, every_seconds: float = 3.0) -> None:
        self._what = what
        self._total = total
        self._every = every_seconds
        self._started = time.monotonic()
        self._said = self._started
        self.done = 0

    def advance(self, count: int = 1) -> None:
        """Count work that is done and say so when it is time."""
        self.done += count
        now = time.monotonic()
        if now - self._said >= self._every:
            self._said = now
            logger.info("%s", self.line(now))

    def line(self, now: float | None = None) -> str:
        """The state as one line."""
        seconds = max((now or time.monotonic()) - self._started, 1e-6)
        rate = self.done / seconds
        if self._total is None:
            return f"{self.done:,} {self._what}, {rate:,.0f} a second"
        left = (self._total - self.done) / rate if rate > 0 else float("inf")
        return f"{self.done:,} of {self._total:,} {self._what}, {rate:,.1f} a second, {left:,.0f} s left"
