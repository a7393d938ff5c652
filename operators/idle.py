"""The task that finds the projects that no run works on, and keeps runs off them."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException

from operators.contract import has_ended, owner_of
from orchard.errors import OrchardError
from orchard.names import BUILD_DAG

_RUNS_A_QUESTION = 50
_AT_WORK = ["queued", "running"]


class FindIdle(BaseOperator):
    """Take the lease of every project that no run works on, and note them for the step `remove`.

    A build that begins meanwhile waits for its turn until this run has ended. A project whose lease
    a run holds, or one of whose builds was cleared and is at work without it, is left out.
    """

    def execute(self, context: Any) -> dict[str, int]:
        """Return how many projects are idle and how many are not."""
        from orchard.catalog import builds
        from orchard.catalog.connection import documents

        params = context["params"]
        run = context["dag_run"]
        try:
            idle, others = self._divided(context)
            noted = {
                **{name: params[name] for name in ("days", "builds", "dry_run")},
                "projects": idle,
                "others": others,
            }
            build = builds.create(
                documents(),
                owner_of(context),
                dag_id=run.dag_id,
                run_id=run.run_id,
                project="",
                parameters=noted,
            )
            # The document of a run that is cleared has the projects of then.
            builds.set_fields(documents(), str(build["owner"]), str(build["_id"]), parameters=noted)
        except OrchardError as error:
            raise AirflowException(str(error)) from error
        self.log.info("%d projects can be tidied, %d are left alone", len(idle), len(others))
        return {"idle": len(idle), "others": len(others)}

    def _divided(self, context: Any) -> tuple[list[list[str]], list[list[str]]]:
        """[owner, project] of the projects that are idle, and of the others."""
        from orchard.catalog import builds, leases, projects
        from orchard.catalog.connection import documents

        run, task_instance = context["dag_run"], context["ti"]
        idle: list[list[str]] = []
        others: list[list[str]] = []
        for each in projects.every(documents()):
            owner, project = str(each["owner"]), str(each["project"])
            if context["params"].get("owner") not in (None, "", owner):
                others.append([owner, project])
                continue
            holder = leases.acquire(
                documents(),
                owner,
                project,
                dag_id=run.dag_id,
                run_id=run.run_id,
                has_ended=lambda dag_id, run_id: has_ended(task_instance, dag_id, run_id),
            )
            runs = [str(b["run_id"]) for b in builds.of_project(documents(), owner, project)]
            if holder is not None:
                self.log.info("%s/%s: the run %s works on it", owner, project, holder["run_id"])
            if holder is not None or _at_work(task_instance, runs):
                others.append([owner, project])
            else:
                idle.append([owner, project])
        return idle, others


def _at_work(task_instance: Any, runs: list[str]) -> bool:
    """Whether Airflow says of any of these runs of `build_model` that it has not ended."""
    return any(
        task_instance.get_dr_count(
            BUILD_DAG, run_ids=runs[start : start + _RUNS_A_QUESTION], states=_AT_WORK
        )
        for start in range(0, len(runs), _RUNS_A_QUESTION)
    )
