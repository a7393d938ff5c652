"""Factories: which operator class runs a step, by the names in the settings."""

from __future__ import annotations

from airflow.sdk import BaseOperator

from orchard.settings import settings


def job_operator() -> type[BaseOperator]:
    """The operator class of the settings' job runner. Only that runner's module is imported."""
    if settings().job_runner == "pod":
        from operators.pod import PodJob

        return PodJob
    from operators.process import ProcessJob

    return ProcessJob


def spark_operator() -> type[BaseOperator]:
    """The operator class that runs a Spark job: its driver is a process here, or a pod."""
    if settings().spark_runner == "pod":
        from operators.pod import PodJob

        return PodJob
    from operators.process import ProcessJob

    return ProcessJob
