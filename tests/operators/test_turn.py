"""The first task of a run: what is wanted is noted, one run at a time has the project."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowRuntimeError

from operators.turn import Turn
from orchard.catalog import builds, leases
from orchard.catalog.connection import documents
from orchard.errors import TryAgain
from orchard.names import build_id_of
from tests.operators.runners import context_of, listen


class Runs:
    """States of other runs, as a task asks Airflow for them."""

    def __init__(self, states: dict[str, Any]) -> None:
        self.states = states

    def get_dagrun_state(self, dag_id: str, run_id: str) -> Any:
        """The state of a run, or Airflow's error where there is none."""
        if run_id not in self.states:
            error = SimpleNamespace(error=SimpleNamespace(value="DAG_NOT_FOUND"), detail={})
            error.model_dump = dict
            raise AirflowRuntimeError(error)  # type: ignore[arg-type]
        return self.states[run_id]


def poke(run_id: str, states: dict[str, Any] | None = None, **form: Any) -> tuple[bool, list[str]]:
    """Look once whether it is this run's turn; what was said goes with it."""
    sensor = Turn(task_id="turn")
    told = listen(sensor)
    filled = {
        "project": "colours",
        "task": "image_classification",
        "data": "/pictures",
        "minutes": 3,
        "objective": "accuracy",
        "approval": "person",
        **form,
    }
    context = {**context_of(run_id, **filled), "ti": Runs(states or {})}
    return bool(sensor.poke(context)), told.lines


def test_a_free_project_is_taken_and_the_build_is_noted(orchard_home: Path) -> None:
    taken, lines = poke("one")
    assert taken
    build = builds.get(documents(), "local", build_id_of("build_model", "one"))
    assert build["parameters"]["minutes"] == 3
    assert build["parameters"]["endpoint"] == "colours"
    assert build["_id"] in lines[-1]


def test_who_waits_says_for_which_run_and_goes_on_when_it_has_ended(orchard_home: Path) -> None:
    assert poke("one")[0]
    taken, lines = poke("two", {"one": "running"})
    assert not taken
    assert "by the run one since" in lines[-1]
    assert poke("one", {"one": "running"})[0]  # the holder's own next try
    for ended in ("success", "failed"):
        assert poke(f"after {ended}", {"one": ended, "after success": "failed"})[0]


def test_a_run_that_was_deleted_gives_its_turn_away(orchard_home: Path) -> None:
    assert poke("one")[0]
    assert poke("two", {})[0]


def test_states_of_airflow_s_own_kind_are_understood(orchard_home: Path) -> None:
    from airflow.sdk import DagRunState

    assert poke("one")[0]
    assert not poke("two", {"one": DagRunState.QUEUED})[0]
    assert poke("two", {"one": DagRunState.FAILED})[0]


def test_two_projects_do_not_wait_for_each_other(orchard_home: Path) -> None:
    assert poke("one")[0]
    assert poke("two", {"one": "running"}, project="shapes")[0]


def test_two_owners_of_one_project_name_do_not_wait_for_each_other(orchard_home: Path) -> None:
    assert poke("one")[0]
    assert poke("two", {"one": "running"}, owner="other", endpoint="colours-2")[0]


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"task": "fortune_telling"}, "no such task.*fortune_telling"),
        ({"project": "Two Words"}, "lower-case.*two-words"),
        ({"data": "newest"}, "no data yet"),
        ({"endpoint": "a/b"}, "lower-case"),
    ],
)
def test_a_form_that_cannot_be_used_fails_at_once(
    orchard_home: Path, form: dict[str, Any], said: str
) -> None:
    with pytest.raises(AirflowFailException, match=said):
        poke("one", **form)


def test_an_engine_that_is_away_is_tried_again(
    orchard_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise TryAgain("The documents server does not answer")

    monkeypatch.setattr(leases, "acquire", away)
    with pytest.raises(AirflowException, match="does not answer") as caught:
        poke("one")
    assert not isinstance(caught.value, AirflowFailException)
