"""A step for the tests of the runners: `python -m tests.operators.sample_step BEHAVIOUR --build …`."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from orchard.errors import BadInput, TryAgain
from orchard.program import Step, run


def body(step: Step) -> dict[str, Any]:
    """Do what the first argument says."""
    behaviour = sys.argv[1]
    if behaviour == "bad-input":
        raise BadInput("The pictures are upside down", value="a.jpg", way_out="Turn them")
    if behaviour == "try-again":
        raise TryAgain("The store is away")
    if behaviour == "fault":
        raise ZeroDivisionError("no such number")
    if behaviour == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    return {
        "index": step.index,
        "attempt": step.attempt,
        "project": step.project,
        "variable": os.environ.get("ORCHARD_SAMPLE", ""),
        "report_url": "http://127.0.0.1/report",
        "metrics": {"accuracy": 0.5},
        "location": "x" * 400,
        "summary": "Counted 3 pictures",
    }


if __name__ == "__main__":
    if sys.argv[1] == "no-result":
        sys.exit(0)
    sys.exit(run("sample", body, sys.argv[2:]))
