"""The task that finds the projects that are due for retraining."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException

from orchard.errors import OrchardError


class FindDue(BaseOperator):
    """Return one {"trigger_run_id", "conf"} a project that is due; say why for every project."""

    def execute(self, context: Any) -> list[dict[str, Any]]:
        """Look at every project that has retraining switched on."""
        from orchard import retraining
        from orchard.catalog.connection import documents

        try:
            starts, reasons = retraining.due(documents(), datetime.now(UTC))
        except OrchardError as error:
            raise AirflowException(str(error)) from error
        for reason in reasons:
            self.log.info("%s", reason)
        self.log.info(
            "%d projects have retraining switched on, %d builds are started",
            len(reasons),
            len(starts),
        )
        return starts
