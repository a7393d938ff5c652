"""Hang Orchard's buttons into the Airflow UI."""

from __future__ import annotations

from airflow.plugins_manager import AirflowPlugin

from operators.links import ALL


class OrchardPlugin(AirflowPlugin):
    """Registers the links that tasks show."""

    name = "orchard"
    operator_extra_links = list(ALL)
