"""The task that chooses the branches: it reads the version's summary and writes the plan."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from operators.contract import job_of
from orchard.errors import BadInput, OrchardError


class Plan(BaseOperator):
    """Choose the branches of a build and record the fixed work of each.

    Returns one {"index", "title", "gpus"} a branch, over which the trials are mapped.
    """

    def execute(self, context: Any) -> list[dict[str, Any]]:
        """Make the plan, say why, and store it."""
        from orchard.planning.step import make_plan

        job = job_of("plan", (), -1, context)
        try:
            plan = make_plan(job.owner, job.build_id)
        except BadInput as error:
            raise AirflowFailException(str(error)) from error
        except OrchardError as error:
            raise AirflowException(str(error)) from error
        for reason in plan["reasons"]:
            self.log.info("%s", reason)
        for branch in plan["branches"]:
            self.log.info("Branch %s: about %.0f s", branch["title"], branch["seconds"])
        self.log.info(
            "%d branches on version %s; estimated %.0f s in all",
            len(plan["branches"]),
            plan["version"],
            sum(plan["seconds"].values()),
        )
        return [
            {"index": index, "title": branch["title"], "gpus": int(branch.get("gpus", 0))}
            for index, branch in enumerate(plan["branches"])
        ]
