"""Buttons on a task: MLflow's run, the report, the endpoint."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperatorLink


class _AddressLink(BaseOperatorLink):
    """A link whose address is the fact of this name in what the step left."""

    fact = ""
    title = ""

    @property
    def name(self) -> str:
        return self.title

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """The address, or an empty text where the step left none."""
        return str(getattr(operator, "addresses", {}).get(self.fact, ""))


class TrackingLink(_AddressLink):
    """The run in MLflow."""

    fact = "tracking_url"
    title = "MLflow run"


class ReportLink(_AddressLink):
    """The evaluation report."""

    fact = "report_url"
    title = "Report"


class EndpointLink(_AddressLink):
    """The endpoint's page in the prediction service."""

    fact = "endpoint_url"
    title = "Endpoint"


ALL = (TrackingLink(), ReportLink(), EndpointLink())
