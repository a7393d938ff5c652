"""The DAG `retrain`: its two clocks, and what it starts."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk import AssetOrTimeSchedule

from operators.due import FindDue
from orchard.names import NEW_DATA
from tests.operators.runners import context_of


@pytest.fixture
def dag(modules: dict[str, Any]) -> Any:
    """The DAG."""
    return modules["retrain"].dag


def test_it_runs_on_a_clock_and_on_new_data(dag: Any) -> None:
    schedule = dag.timetable if hasattr(dag, "timetable") else dag.schedule
    assert isinstance(schedule, AssetOrTimeSchedule)
    assert NEW_DATA in repr(schedule.asset_condition)
    assert dag.max_active_runs == 1


def test_it_starts_one_build_a_due_project(dag: Any) -> None:
    assert isinstance(dag.get_task("find_due"), FindDue)
    starts = dag.get_task("start_builds")
    assert starts.is_mapped
    assert starts.partial_kwargs["trigger_dag_id"] == "build_model"
    assert starts.partial_kwargs["skip_when_already_exists"] is True
    assert dag.get_task("find_due").downstream_task_ids == {"start_builds"}


def test_a_build_is_triggered_by_its_own_run_id_without_a_logical_date(dag: Any) -> None:
    from airflow.sdk.exceptions import DagRunTriggerException

    found = {"trigger_run_id": "retrain__local__a__1", "conf": {"project": "a", "minutes": 5}}
    operator = dag.get_task("start_builds").unmap(found)
    with pytest.raises(DagRunTriggerException) as asked:
        operator.execute(context_of())
    assert asked.value.dag_run_id == "retrain__local__a__1"
    assert asked.value.trigger_dag_id == "build_model"
    assert asked.value.conf == {"project": "a", "minutes": 5}
    assert asked.value.logical_date is None
    assert asked.value.skip_when_already_exists is True
