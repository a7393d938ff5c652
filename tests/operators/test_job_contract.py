"""One contract for both job runners: arguments, environment, result, exit codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from operators.links import ReportLink
from orchard.blobs import Blobs, keys
from orchard.settings import settings
from tests.operators.runners import context_of

Make = Callable[..., str]


def sample(runner: type[Any], behaviour: str, **more: Any) -> Any:
    """An operator whose step behaves like that."""
    program = ["tests.operators.sample_step", behaviour]
    return runner(task_id="sample", step="sample", program=program, **more)


def test_a_step_gets_its_arguments_and_hands_back_its_figures(
    runner: type[Any], build: Make
) -> None:
    build()
    operator = sample(runner, "fine", index=2, title="Third")
    assert {type(each) for each in operator.operator_extra_links} >= {ReportLink}
    assert ReportLink().get_link(operator, ti_key=None) == ""
    context = context_of(attempt=4)
    facts = operator.execute(context)
    assert facts["index"] == 2
    assert facts["attempt"] == 4
    assert facts["project"] == "colours"
    assert facts["variable"] == "given"
    assert facts["summary"] == "Counted 3 pictures"
    assert context["title"] == "Third"
    # what travels by XCom are plain figures
    assert "location" not in facts
    assert "metrics" not in facts
    # addresses become buttons
    assert ReportLink().get_link(operator, ti_key=None) == "http://127.0.0.1/report"


def test_bad_input_is_not_tried_again(runner: type[Any], build: Make) -> None:
    build()
    with pytest.raises(AirflowFailException, match="upside down.*a.jpg.*Turn them"):
        sample(runner, "bad-input").execute(context_of())


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        ("try-again", "The store is away"),
        ("fault", "ZeroDivisionError: no such number"),
        ("kill", "ended by signal 9 .out of memory"),
        ("no-result", "without leaving its result"),
    ],
)
def test_what_may_pass_is_tried_again(
    runner: type[Any], build: Make, behaviour: str, said: str
) -> None:
    build()
    with pytest.raises(AirflowException, match=said) as caught:
        sample(runner, behaviour).execute(context_of())
    assert not isinstance(caught.value, AirflowFailException)


def test_an_earlier_result_is_never_taken_for_a_new_one(runner: type[Any], build: Make) -> None:
    key = keys.result("local", build(), "sample")
    old = {"exit_code": 0, "facts": {"summary": "old"}}
    Blobs(settings().blobs_root).write_json(key, old)
    with pytest.raises(AirflowException, match="without leaving its result"):
        sample(runner, "no-result").execute(context_of())


def test_the_build_of_another_owner_is_not_found(runner: type[Any], build: Make) -> None:
    build()
    with pytest.raises(AirflowFailException, match="no such build"):
        sample(runner, "fine").execute(context_of(owner="stranger"))
