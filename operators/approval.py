"""The gate before the service: a person, a floor, or the champion decides."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from operators.contract import Job, job_of
from operators.links import ReportLink
from orchard.errors import EXIT_DONE, OrchardError


class Approval(ApprovalOperator):
    """Decide by the build's parameters; where a person is asked, wait without holding a slot.

    Skipped, with all after it, where the automatic decision is no. A person's no, or no answer in
    time, skips what follows. In each case what is in service stays.
    """

    operator_extra_links = (ReportLink(),)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(subject="A new model is ready", defaults=self.REJECT, **kwargs)
        self.addresses: dict[str, str] = {}

    def execute(self, context: Any) -> Any:
        """Decide, or ask."""
        from orchard import approving
        from orchard.catalog import builds
        from orchard.catalog.connection import documents

        job = job_of("evaluate", (), -1, context)
        try:
            build = builds.get(documents(), job.owner, job.build_id)
            record = job.result()
        except OrchardError as error:
            raise AirflowException(str(error)) from error
        if record is None or record["exit_code"] != EXIT_DONE:
            raise AirflowException("The evaluation left no result; clear `evaluate` and try again")
        parameters, facts = build["parameters"], record["facts"]
        self.addresses = {"report_url": str(facts.get("report_url", ""))}
        decision = approving.decide(parameters, facts)
        if decision is not None:
            self.log.info("%s: %s", "Approved" if decision.approved else "Kept", decision.reason)
            if not decision.approved:
                raise AirflowSkipException(f"What is in service stays: {decision.reason}")
            return {"approved": True, "reason": decision.reason}
        self.subject, self.body = approving.question(
            parameters, facts, self.addresses["report_url"]
        )
        self.response_timeout = timedelta(hours=float(parameters["wait_hours"]))
        self.log.info("%s\n%s", self.subject, self.body)
        _note(job, asked=datetime.now(UTC))
        return super().execute(context)

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        """Go on after the answer, or after the time for it."""
        job = job_of("evaluate", (), -1, context)
        _note(job, answered=datetime.now(UTC))
        facts = (job.result() or {}).get("facts", {})
        self.addresses = {"report_url": str(facts.get("report_url", ""))}
        return super().execute_complete(context, event)


def _note(job: Job, **times: datetime) -> None:
    """Record when a person was asked and answered: that time is not the build's own."""
    from orchard.catalog import builds
    from orchard.catalog.connection import documents

    try:
        builds.set_fields(documents(), job.owner, job.build_id, **times)
    except OrchardError as error:
        raise AirflowException(str(error)) from error
