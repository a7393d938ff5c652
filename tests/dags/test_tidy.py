"""The DAG `tidy`: its form, its clock, its two tasks."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk import CronTriggerTimetable
from airflow.sdk.exceptions import ParamValidationError

from operators.idle import FindIdle
from operators.job import job_operator
from orchard.settings import settings


@pytest.fixture
def module(modules: dict[str, Any]) -> Any:
    """The DAG's file."""
    return modules["tidy"]


def test_it_runs_every_night_and_never_twice_at_once(module: Any) -> None:
    assert isinstance(module.dag.schedule, CronTriggerTimetable)
    assert module.dag.schedule.expression == settings().tidy_cron
    assert module.dag.max_active_runs == 1


def test_projects_are_found_before_a_program_removes(module: Any) -> None:
    assert isinstance(module.dag.get_task("find_idle"), FindIdle)
    assert type(module.dag.get_task("remove")) is job_operator()
    assert module.dag.get_task("remove").step == "remove"
    assert module.dag.get_task("find_idle").downstream_task_ids == {"remove"}


def test_the_form_has_titles_help_and_defaults_that_are_careful(module: Any) -> None:
    for name, field in module.PARAMS.items():
        assert field.schema["title"], name
        assert field.description or field.schema["description"], name
    values = {name: field.resolve() for name, field in module.PARAMS.items()}
    assert values == {"dry_run": False, "days": 7, "builds": 10, "owner": None}


@pytest.mark.parametrize(
    ("name", "value"),
    [("days", 0), ("days", 1.5), ("builds", 0), ("owner", "A b"), ("dry_run", "yes")],
)
def test_the_form_refuses(module: Any, name: str, value: object) -> None:
    with pytest.raises(ParamValidationError):
        module.PARAMS[name].resolve(value=value)
