"""Training: trigger the DAG as the form does, watch it, and answer its question."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from orchard.api.airflow import Airflow
from orchard.errors import OrchardError, TryAgain
from orchard.names import build_id_of

Say = Callable[[str], None]
_POLL_SECONDS = 1.0
_WAITING = "awaiting_input"
_WORDS = {
    "running": "running",
    "success": "success",
    "failed": "failed",
    "skipped": "skipped",
    "upstream_failed": "not reached",
    "up_for_retry": "failed, is tried again",
    "up_for_reschedule": "waits, another run of the project is at work",
    _WAITING: "asks a person",
}
_ENDED = {"success", "failed"}
_CONSIDER_SECONDS = 3.0
"""How long a question stands before it is answered from here: Airflow takes a task that is answered
before its executor has reported the asking for one that was killed, and asks again."""


@dataclass
class Watched:
    """How a run went.

    Attributes:
        state: "success" or "failed" of the run.
        tasks: last state of each task instance, by name.
        seconds: from the trigger to the end.
    """

    run_id: str
    build_id: str
    state: str = ""
    seconds: float = 0.0
    tasks: dict[str, str] = field(default_factory=dict)
    said: set[tuple[str, int, str]] = field(default_factory=set)

    @property
    def published(self) -> bool:
        """Whether the model went into service."""
        return self.state == "success" and self.tasks.get("publish") == "success"


def start(form: dict[str, Any], run_id: str | None = None) -> Watched:
    """Trigger a build with the values of the form. Raises BadInput with the form's sentence."""
    with Airflow.connected() as airflow:
        started = airflow.trigger(form, run_id)
    return Watched(started, build_id_of("build_model", started))


def watch(
    watched: Watched,
    say: Say,
    *,
    answer: str | None = None,
    timeout_seconds: float = 6 * 3600,
) -> Watched:
    """Say one line whenever a task changes, with its figures, until the run ends.

    Args:
        answer: "Approve" or "Reject" to answer the question; None leaves it to a person.
    """
    begun = time.monotonic()
    asked_at: float | None = None
    with Airflow.connected() as airflow:
        while True:
            instances = _in_order(airflow, watched.run_id)
            for instance in instances:
                if _changed(watched, instance):
                    _say(airflow, watched, instance, time.monotonic() - begun, say)
            if watched.tasks.get("approve") != _WAITING:
                asked_at = None
            elif answer and asked_at is None:
                asked_at = time.monotonic()
            elif answer and asked_at and time.monotonic() - asked_at >= _CONSIDER_SECONDS:
                airflow.answer(watched.run_id, answer)
                say(f"[{time.monotonic() - begun:6.1f} s] approve   answered: {answer}")
                asked_at = float("inf")
            run = airflow.run(watched.run_id)
            watched.seconds = time.monotonic() - begun
            if run["state"] in _ENDED:
                watched.state = run["state"]
                for instance in _in_order(airflow, watched.run_id):
                    if _changed(watched, instance):
                        _say(airflow, watched, instance, watched.seconds, say)
                return watched
            if watched.seconds > timeout_seconds:
                raise TryAgain(f"The run has not ended after {timeout_seconds:.0f} s")
            time.sleep(_POLL_SECONDS)


def failure_of(watched: Watched) -> OrchardError:
    """The error of a run that failed: the last lines of the first failed task's log."""
    with Airflow.connected() as airflow:
        for instance in airflow.task_instances(watched.run_id):
            if instance["state"] == "failed":
                lines = airflow.log(
                    watched.run_id,
                    instance["task_id"],
                    instance["try_number"],
                    instance["map_index"],
                )
                told = [line for line in lines if line and not line.startswith("::")]
                return OrchardError(
                    f"The task {instance['task_id']} failed",
                    value="\n".join(told[-6:]),
                    way_out="Its whole log is in the Airflow UI",
                )
    return OrchardError("The run failed", value=watched.run_id)


def _in_order(airflow: Airflow, run_id: str) -> list[dict[str, Any]]:
    instances = airflow.task_instances(run_id)
    return sorted(instances, key=lambda each: (each["start_date"] or "~", each["map_index"]))


def _name(instance: dict[str, Any]) -> str:
    index = instance["map_index"]
    return str(instance["task_id"]) if index < 0 else f"{instance['task_id']}[{index}]"


def _changed(watched: Watched, instance: dict[str, Any]) -> bool:
    """Whether this state of this try is new, and one that is told."""
    name, state = _name(instance), instance["state"] or "none"
    watched.tasks[name] = state
    key = (name, int(instance["try_number"]), state)
    if key in watched.said or state not in _WORDS:
        return False
    watched.said.add(key)
    return True


def _say(
    airflow: Airflow, watched: Watched, instance: dict[str, Any], seconds: float, say: Say
) -> None:
    state = instance["state"]
    text = _WORDS[state]
    label = instance.get("rendered_map_index") or ""
    detail = ""
    if state == "success":
        returned = airflow.returned(watched.run_id, instance["task_id"], instance["map_index"])
        detail = _figures(returned)
        if instance.get("duration"):
            detail = f"{instance['duration']:.1f} s  {detail}"
    say(f"[{seconds:6.1f} s] {_name(instance):<9} {text:<8} {label} {detail}".rstrip())


def _figures(returned: Any) -> str:
    if isinstance(returned, list):
        return ", ".join(str(each.get("title", each)) for each in returned)
    if isinstance(returned, dict):
        return str(returned.get("summary") or returned.get("reason") or "")
    return ""
