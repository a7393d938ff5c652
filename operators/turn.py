"""The first task of a run: take note of what is wanted and wait until it is this run's turn."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseSensorOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from operators.contract import has_ended, owner_of
from orchard.errors import BadInput, OrchardError


class Turn(BaseSensorOperator):
    """Write the build's document and take the project's lease.

    One run at a time a project: while another run holds the lease, the log says which, and the
    task gives its slot back between two looks.
    """

    def poke(self, context: Any) -> bool:
        """Whether it is this run's turn."""
        from orchard.catalog import builds, leases
        from orchard.catalog.connection import documents
        from orchard.requests import parameters_of

        run = context["dag_run"]
        owner = owner_of(context)
        try:
            parameters = parameters_of(documents(), owner, dict(context["params"]))
            build = builds.create(
                documents(),
                owner,
                dag_id=run.dag_id,
                run_id=run.run_id,
                project=parameters["project"],
                parameters=parameters,
            )
            holder = leases.acquire(
                documents(),
                owner,
                parameters["project"],
                dag_id=run.dag_id,
                run_id=run.run_id,
                has_ended=lambda dag_id, run_id: has_ended(context["ti"], dag_id, run_id),
            )
        except BadInput as error:
            raise AirflowFailException(str(error)) from error
        except OrchardError as error:
            raise AirflowException(str(error)) from error
        if holder is not None:
            self.log.info(
                "The project %s is being worked on by the run %s since %s; this run waits for it",
                parameters["project"],
                holder["run_id"],
                f"{holder['since']:%Y-%m-%d %H:%M:%S} UTC",
            )
            return False
        self.log.info(
            "Build %s of the project %s begins: %s, %s minutes, optimise %s, approval by %s",
            build["_id"],
            parameters["project"],
            parameters["task"],
            parameters["minutes"],
            parameters["objective"],
            parameters["approval"],
        )
        return True
