"""What every job runner agrees on: the arguments of a step, its result and what follows from it.

A job's outcome is what the job itself wrote: its result file and its exit code. Exit code 0 with a
result is success; 64 is bad input and is not retried; 75 and everything else is retried.

Stores are imported where they are used: the DAG files import this module, and have to parse fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowRuntimeError

from orchard.errors import EXIT_BAD_INPUT, EXIT_DONE, EXIT_TRY_AGAIN
from orchard.names import build_id_of
from orchard.settings import settings

_ENDED = frozenset({"success", "failed"})


@dataclass(frozen=True)
class Job:
    """One try of one step.

    Attributes:
        step: name of the step, which names its result file.
        program: what follows `python -m`, such as ("trainers", "trial").
        index: position among mapped instances; -1 where there are none.
        attempt: 1 for the first try.
    """

    step: str
    program: tuple[str, ...]
    owner: str
    build_id: str
    index: int
    attempt: int

    @property
    def arguments(self) -> list[str]:
        """The command line after the interpreter's own path."""
        listed = ["-m", *self.program, "--build", self.build_id, "--owner", self.owner]
        if self.index >= 0:
            listed += ["--index", str(self.index)]
        return [*listed, "--attempt", str(self.attempt)]

    def forget(self) -> None:
        """Remove an earlier try's result."""
        from orchard.blobs import Blobs
        from orchard.program import forget_result

        blobs = Blobs(settings().blobs_root)
        forget_result(blobs, self.owner, self.build_id, self.step, self.index)

    def result(self) -> dict[str, Any] | None:
        """What the step left: {"exit_code", "facts"}, or None."""
        from orchard.blobs import Blobs
        from orchard.program import read_result

        blobs = Blobs(settings().blobs_root)
        found: dict[str, Any] | None = read_result(
            blobs, self.owner, self.build_id, self.step, self.index
        )
        return found

    def conclude(self, exit_code: int) -> dict[str, Any]:
        """The step's facts, or the exception that says what Airflow has to do.

        Raises:
            AirflowFailException: bad input; no retry.
            AirflowException: a fault, an engine that is away, or success without a result; retry.
        """
        record = self.result()
        if exit_code == EXIT_DONE:
            if record is None or record["exit_code"] != EXIT_DONE:
                raise AirflowException(f"The step {self.step} ended without leaving its result")
            return dict(record["facts"])
        said = (record or {}).get("facts", {}).get("error", "")
        if exit_code == EXIT_BAD_INPUT:
            raise AirflowFailException(said or f"The step {self.step} refused its input")
        if exit_code == EXIT_TRY_AGAIN:
            raise AirflowException(
                said or f"An engine that {self.step} needs is away; it is tried again"
            )
        if exit_code < 0:
            raise AirflowException(
                f"The process of {self.step} was ended by signal {-exit_code}"
                + (" (out of memory, or by hand)" if exit_code == -9 else "")
                + "; it is tried again"
            )
        raise AirflowException(said or f"The step {self.step} ended with exit code {exit_code}")


def job_of(step: str, program: tuple[str, ...], index: int, context: Mapping[str, Any]) -> Job:
    """The job that belongs to a task instance."""
    run = context["dag_run"]
    return Job(
        step=step,
        program=program,
        owner=owner_of(context),
        build_id=build_id_of(run.dag_id, run.run_id),
        index=index,
        attempt=context["ti"].try_number,
    )


def owner_of(context: Mapping[str, Any]) -> str:
    """Whose run this is: the form's owner, or the one of the settings."""
    return str(context["params"].get("owner") or settings().owner)


def told(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What may travel by XCom: plain figures and ids, never data or locations of data."""
    return {
        name: value
        for name, value in facts.items()
        if isinstance(value, int | float | bool) or (isinstance(value, str) and len(value) < 400)
    }


def has_ended(task_instance: Any, dag_id: str, run_id: str) -> bool:
    """Whether Airflow says that a run has ended; a run that was deleted has."""
    try:
        state = task_instance.get_dagrun_state(dag_id, run_id)
    except AirflowRuntimeError as error:
        if "404" in str(error) or "not_found" in str(error).lower():
            return True
        raise
    return str(getattr(state, "value", state)) in _ENDED
