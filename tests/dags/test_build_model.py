"""The DAG `build_model`: its form, its order, who runs what."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk.exceptions import ParamValidationError

from operators.approval import Approval
from operators.job import job_operator, spark_operator
from operators.plan import Plan
from operators.turn import Turn

REQUIRED = {"project", "data"}
OPEN = {"project", "task", "data"}
ORDER = [
    *("turn", "ingest", "check", "plan", "prepare", "trial", "select", "evaluate"),
    *("approve", "publish"),
]


@pytest.fixture
def dag(modules: dict[str, Any]) -> Any:
    """The DAG."""
    return modules["build_model"].dag


@pytest.fixture
def form(modules: dict[str, Any]) -> dict[str, Any]:
    """The form's fields."""
    return dict(modules["build_model"].PARAMS)


def test_every_field_has_title_help_section_and_limits(form: dict[str, Any]) -> None:
    for name, field in form.items():
        schema = field.schema
        assert schema["title"], name
        assert field.description or schema["description"], name
        assert schema.get("section") or name in OPEN, name
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if {"integer", "number"} & set(kinds):
            assert "minimum" in schema or "exclusiveMinimum" in schema, name
            assert "maximum" in schema, name
        if "string" in kinds:
            assert {"enum", "pattern", "maxLength"} & set(schema), name


def test_only_project_and_data_must_be_filled_in(form: dict[str, Any]) -> None:
    for name, field in form.items():
        if name in REQUIRED:
            with pytest.raises(ParamValidationError):
                field.resolve()
        else:
            field.resolve()


def test_the_required_fields_are_in_the_section_that_is_open(form: dict[str, Any]) -> None:
    """Airflow opens the section of the fields that name none, and folds the named ones."""
    assert {name for name, field in form.items() if "section" not in field.schema} == OPEN
    assert set(REQUIRED) <= OPEN


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("project", "Two Words"),
        ("project", ""),
        ("project", "x" * 42),
        ("project", "a/b"),
        ("task", "fortune_telling"),
        ("data", ""),
        ("minutes", 0),
        ("minutes", 241),
        ("minutes", 2.5),
        ("objective", "speed"),
        ("approval", "nobody"),
        ("floor", 1.01),
        ("floor", -0.1),
        ("margin", 2),
        ("wait_hours", 0),
        ("wait_hours", 721),
        ("endpoint", "Über"),
        ("owner", "a b"),
    ],
)
def test_the_form_refuses(form: dict[str, Any], name: str, value: object) -> None:
    with pytest.raises(ParamValidationError):
        form[name].resolve(value=value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("project", "keyboard-2"), ("data", "/srv/photos"), ("data", "newest"), ("minutes", 240)),
        *(("floor", 1), ("margin", 0), ("endpoint", "line-3"), ("endpoint", None)),
        *(("approval", "champion"), ("objective", "worst_class_recall"), ("wait_hours", 0.5)),
    ],
)
def test_the_form_takes(form: dict[str, Any], name: str, value: object) -> None:
    assert form[name].resolve(value=value) == value


def test_the_steps_follow_one_another(dag: Any) -> None:
    assert [task.task_id for task in dag.topological_sort()] == ORDER
    for before, after in zip(ORDER, ORDER[1:], strict=False):
        assert after in dag.get_task(before).downstream_task_ids
    assert dag.get_task("publish").trigger_rule == "all_success"


def test_each_step_is_run_by_the_class_of_its_runner(dag: Any) -> None:
    classes = {task.task_id: task for task in dag.tasks}
    for name in ("ingest", "select", "publish"):
        assert type(classes[name]) is job_operator()
    for name in ("check", "prepare", "evaluate"):
        assert type(classes[name]) is spark_operator()
    assert classes["trial"].is_mapped
    assert classes["trial"].operator_class is job_operator()
    assert isinstance(classes["turn"], Turn)
    assert isinstance(classes["plan"], Plan)
    assert isinstance(classes["approve"], Approval)


def test_the_result_file_is_named_as_the_task(dag: Any) -> None:
    for task in dag.tasks:
        step = task.partial_kwargs.get("step") if task.is_mapped else getattr(task, "step", None)
        assert step in (None, task.task_id)


def test_pauses_grow_and_waiting_holds_no_slot(dag: Any) -> None:
    ingest = dag.get_task("ingest")
    assert ingest.retry_exponential_backoff
    assert ingest.max_retry_delay.total_seconds() == 300
    assert dag.get_task("turn").mode == "reschedule"
    assert dag.schedule is None


def test_trials_have_readable_labels_and_do_not_take_every_slot(dag: Any) -> None:
    trial = dag.get_task("trial")
    assert trial.partial_kwargs["map_index_template"] == "{{ title }}"
    assert trial.partial_kwargs["max_active_tis_per_dagrun"] == 2
