"""The automatic decision and the question to a person."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchard.approving import decide, question

SHARES = st.floats(0, 1)


def parameters(**changed: Any) -> dict[str, Any]:
    """A build's parameters."""
    return {
        "project": "keys",
        "endpoint": "line",
        "task": "image_classification",
        "objective": "accuracy",
        "approval": "person",
        "floor": 0.9,
        "margin": 0.01,
        "wait_hours": 72.0,
        **changed,
    }


def facts(figure: float, champion: float | None = None, name: str = "accuracy") -> dict[str, Any]:
    """What evaluate found."""
    before = None if champion is None else {"bundle": "b", "metrics": {name: champion}}
    return {"metrics": {name: figure, "test_samples": 60, "calibrated": True}, "champion": before}


@given(SHARES, SHARES)
def test_the_floor_is_reached_or_not(figure: float, floor: float) -> None:
    decision = decide(parameters(approval="floor", floor=floor), facts(figure))
    assert decision is not None
    assert decision.approved == (figure >= floor)
    assert f"{floor:.3f}" in decision.reason


@given(SHARES, SHARES, SHARES)
def test_a_challenger_must_be_better_by_the_margin(
    figure: float, best: float, margin: float
) -> None:
    decision = decide(parameters(approval="champion", margin=margin), facts(figure, best))
    assert decision is not None
    if decision.approved:
        assert figure > best
        assert figure >= best + margin
    else:
        assert figure <= best or figure < best + margin


def test_the_first_model_needs_no_champion() -> None:
    decision = decide(parameters(approval="champion"), facts(0.1))
    assert decision is not None
    assert decision.approved


def test_what_is_optimised_decides() -> None:
    told = facts(0.5, name="worst_class_recall")
    told["metrics"]["accuracy"] = 0.99
    given = parameters(approval="floor", objective="worst_class_recall")
    decision = decide(given, told)
    assert decision is not None
    assert not decision.approved
    assert "worst class recall 0.500" in decision.reason


def test_a_person_is_asked() -> None:
    assert decide(parameters(), facts(1.0)) is None


@pytest.mark.parametrize(("champion", "shown"), [(None, "—"), (0.875, "0.875")])
def test_the_question_has_the_figures_beside_the_champion_s(
    champion: float | None, shown: str
) -> None:
    subject, body = question(parameters(), facts(0.9, champion), "http://127.0.0.1/r")
    assert subject == "Put the new model of keys into service?"
    assert f"| accuracy | 0.900 | {shown} |" in body
    assert "| test samples | 60 | — |" in body
    assert "calibrated" not in body
    assert "(http://127.0.0.1/r)" in body
    assert "no answer in 72 hours" in body
    assert "report" not in question(parameters(), facts(0.9), "")[1].lower()


def test_a_model_that_learnt_nothing_is_not_offered_in_silence() -> None:
    assert "learnt nothing" in question(parameters(), facts(0.0), "")[1]
    assert "learnt nothing" not in question(parameters(), facts(0.5), "")[1]


def test_an_unknown_figure_is_not_approved_by_itself() -> None:
    told = facts(0.5)
    told["metrics"]["accuracy"] = None
    for approval in ("floor", "champion"):
        decision = decide(parameters(approval=approval), told)
        assert decision is not None and not decision.approved
        assert "unknown" in decision.reason
    assert decide(parameters(), told) is None
