"""The task that finds due projects, and the one that makes the plan's trials."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from operators.due import FindDue
from operators.plan import Plan
from orchard import retraining
from orchard.catalog import changes, projects
from orchard.catalog.connection import documents
from orchard.errors import BadInput, TryAgain
from orchard.planning import step as planning
from tests.operators.runners import context_of, listen


def test_each_project_gets_a_line_and_the_due_ones_a_build(orchard_home: Path) -> None:
    store = documents()
    for name in ("colours", "shapes", "words"):
        projects.ensure(store, "local", name, "image_classification")
    for name in ("colours", "shapes"):
        retraining.switch_on(store, "local", name, cron=None, minimum_samples=5)
    changes.add(store, "local", "colours", change_id="a", location="/pictures", files=6)
    operator = FindDue(task_id="find_due")
    told = listen(operator)
    starts = operator.execute({})
    assert [each["conf"]["project"] for each in starts] == ["colours"]
    assert starts[0]["conf"]["data"] == "newest"
    assert told.lines[0] == "local/colours: 6 new samples, 5 were asked for"
    assert told.lines[1] == "local/shapes: nothing new, nothing is started"
    assert told.lines[-1] == "2 projects have retraining switched on, 1 builds are started"
    assert operator.execute({}) == starts  # a repeat asks for the same run


PLAN = {
    "version": "0" * 16,
    "branches": [
        {"title": "Lite0 · 224 px", "seconds": 20.0},
        {"title": "Lite1 · 240 px", "seconds": 30.0, "gpus": 1},
    ],
    "reasons": ["small classes"],
    "seconds": {"prepare": 10.0, "trial": 50.0},
}


def test_the_plan_s_branches_become_trials(
    orchard_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "make_plan", lambda owner, build_id: PLAN)
    operator = Plan(task_id="plan")
    told = listen(operator)
    assert operator.execute(context_of()) == [
        {"index": 0, "title": "Lite0 · 224 px", "gpus": 0},
        {"index": 1, "title": "Lite1 · 240 px", "gpus": 1},
    ]
    assert told.lines[0] == "small classes"
    assert "estimated 60 s in all" in told.lines[-1]


@pytest.mark.parametrize(
    ("error", "kind"),
    [(BadInput("Nothing to learn"), AirflowFailException), (TryAgain("Away"), AirflowException)],
)
def test_errors_of_the_plan_are_retried_where_that_helps(
    orchard_home: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[Exception]
) -> None:
    def fail(owner: str, build_id: str) -> dict[str, Any]:
        raise error

    monkeypatch.setattr(planning, "make_plan", fail)
    with pytest.raises(kind) as caught:
        Plan(task_id="plan").execute(context_of())
    assert type(caught.value) is kind
