"""The gate: floor, champion, person; what stays where nobody answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.providers.standard.operators import hitl
from airflow.sdk.exceptions import AirflowException, AirflowSkipException, TaskAwaitingInput

from operators.approval import Approval
from operators.links import ReportLink
from orchard.blobs import Blobs, keys
from orchard.catalog import builds
from orchard.catalog.connection import documents
from orchard.settings import settings
from tests.operators.runners import context_of, listen

Make = Callable[..., str]
REPORT = "http://127.0.0.1:5000/report"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The questions that were put to Airflow."""
    questions: list[dict[str, Any]] = []
    monkeypatch.setattr(hitl, "upsert_hitl_detail", lambda **given: questions.append(given))
    return questions


@pytest.fixture
def evaluated(build: Make) -> Callable[..., str]:
    """Makes a build whose evaluation has ended. Returns its id."""

    def make(
        accuracy: float = 0.9,
        champion: float | None = None,
        exit_code: int = 0,
        **parameters: Any,
    ) -> str:
        given = {
            "project": "colours",
            "endpoint": "colours",
            "approval": "person",
            "task": "image_classification",
            "objective": "accuracy",
            "floor": 0.8,
            "margin": 0.01,
            "wait_hours": 48.0,
            **parameters,
        }
        facts: dict[str, Any] = {
            "metrics": {"accuracy": accuracy, "test_samples": 40},
            "champion": None if champion is None else {"metrics": {"accuracy": champion}},
            "report_url": REPORT,
        }
        build_id = build(**given)
        Blobs(settings().blobs_root).write_json(
            keys.result("local", build_id, "evaluate"), {"exit_code": exit_code, "facts": facts}
        )
        return build_id

    return make


def approval() -> Approval:
    """The operator as the DAG has it, with a logger that keeps its lines."""
    operator = Approval(task_id="approve")
    listen(operator)
    context = context_of()
    context["ti"].id = "0" * 8
    return operator


def run(operator: Approval) -> Any:
    """Execute with a context that has the id that Airflow's question needs."""
    context = context_of()
    context["task_instance"].id = "0"
    return operator.execute(context)


@pytest.mark.parametrize(
    ("accuracy", "champion", "approval_by", "said"),
    [
        (0.9, None, "floor", "0.900 reaches the floor of 0.800"),
        (0.9, 0.85, "champion", "0.900 against the champion's 0.850"),
        (0.2, None, "champion", "no other model in service"),
    ],
)
def test_it_decides_for_the_model(
    evaluated: Make, accuracy: float, champion: float | None, approval_by: str, said: str
) -> None:
    evaluated(accuracy, champion, approval=approval_by)
    operator = approval()
    answer = run(operator)
    assert answer["approved"] is True
    assert said in answer["reason"]
    assert ReportLink().get_link(operator, ti_key=None) == REPORT


@pytest.mark.parametrize(
    ("accuracy", "champion", "approval_by", "said"),
    [
        (0.79, None, "floor", "0.790 is below the floor of 0.800"),
        (0.9, 0.895, "champion", "at least 0.010 better is asked for"),
        (0.9, 0.9, "champion", "0.900 against the champion's 0.900"),
    ],
)
def test_a_no_skips_and_says_why(
    evaluated: Make, accuracy: float, champion: float | None, approval_by: str, said: str
) -> None:
    evaluated(accuracy, champion, approval=approval_by)
    with pytest.raises(AirflowSkipException, match=f"stays: .*{said}"):
        run(approval())


def test_a_person_is_asked_with_the_figures_beside_the_champion_s(
    evaluated: Make, asked: list[dict[str, Any]]
) -> None:
    build_id = evaluated(0.9, 0.875)
    with pytest.raises(TaskAwaitingInput) as waiting:
        run(approval())
    assert waiting.value.timeout == timedelta(hours=48)
    question = asked[0]
    assert question["options"] == ["Approve", "Reject"]
    assert question["defaults"] == ["Reject"]  # no answer in time keeps what is in service
    assert "| accuracy | 0.900 | 0.875 |" in question["body"]
    assert "| test samples | 40 | — |" in question["body"]
    assert REPORT in question["body"]
    assert "colours" in question["subject"]
    assert builds.get(documents(), "local", build_id)["asked"] <= datetime.now(UTC)


def test_the_wait_for_the_answer_is_noted_and_the_link_stays(
    evaluated: Make, asked: list[dict[str, Any]]
) -> None:
    build_id = evaluated()
    with pytest.raises(TaskAwaitingInput):
        run(approval())
    after = approval()  # Airflow goes on in another process
    event = {
        "chosen_options": ["Approve"],
        "params_input": {},
        "responded_at": datetime.now(UTC),
        "responded_by_user": None,
    }
    answer = after.execute_complete(context_of(), event)
    assert answer["chosen_options"] == ["Approve"]
    found = builds.get(documents(), "local", build_id)
    assert found["answered"] >= found["asked"]
    assert ReportLink().get_link(after, ti_key=None) == REPORT


@pytest.mark.parametrize("exit_code", [1, 64])
def test_without_an_evaluation_nothing_is_decided(evaluated: Make, exit_code: int) -> None:
    evaluated(exit_code=exit_code, approval="floor")
    with pytest.raises(AirflowException, match="left no result"):
        run(approval())


def test_the_question_can_be_stored_as_text(evaluated: Make, asked: list[dict[str, Any]]) -> None:
    evaluated()
    with pytest.raises(TaskAwaitingInput):
        run(approval())
    json.dumps({name: asked[0][name] for name in ("subject", "body", "options", "defaults")})
