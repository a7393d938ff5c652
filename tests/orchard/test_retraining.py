"""Which projects are due, and that a repeat asks for the same run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchard import retraining
from orchard.catalog import builds, changes, projects
from orchard.catalog.connection import documents
from orchard.errors import BadInput, NotFound

TASK = "image_classification"


@pytest.fixture(autouse=True)
def project(orchard_home: Path) -> None:
    """The project `keys`."""
    projects.ensure(documents(), "ann", "keys", TASK)


def switch_on(cron: str | None = None, samples: int | None = None) -> dict[str, Any]:
    """Switch the retraining of `keys` on."""
    return retraining.switch_on(documents(), "ann", "keys", cron=cron, minimum_samples=samples)


def bring(change_id: str, files: int) -> None:
    """Bring data to `keys`."""
    changes.add(documents(), "ann", "keys", change_id=change_id, location="/x", files=files)


def due(now: datetime | None = None) -> tuple[list[dict[str, Any]], list[str]]:
    """What is due."""
    return retraining.due(documents(), now or datetime.now(UTC))


def test_without_a_rule_a_project_is_not_looked_at() -> None:
    bring("a", 5)
    assert due() == ([], [])
    switch_on(samples=1)
    assert len(due()[0]) == 1
    retraining.switch_off(documents(), "ann", "keys")
    assert due() == ([], [])


@pytest.mark.parametrize(
    ("cron", "samples", "said"),
    [
        (None, None, "needs a schedule"),
        ("every day", None, "no cron expression"),
        ("61 * * * *", None, "no cron expression"),
        (None, 0, "must be 1 or more"),
    ],
)
def test_a_rule_that_is_none_is_refused(cron: str | None, samples: int | None, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        switch_on(cron, samples)
    with pytest.raises(NotFound, match="Known: none yet"):
        retraining.switch_off(documents(), "bob", "keys")


@pytest.mark.parametrize("margin", [-0.1, 5, float("nan")])
def test_a_margin_that_the_form_would_refuse_is_refused_at_once(margin: float) -> None:
    with pytest.raises(BadInput, match="a share from 0 to 1"):
        retraining.switch_on(
            documents(), "ann", "keys", cron=None, minimum_samples=1, margin=margin
        )
    assert not projects.get(documents(), "ann", "keys").get("retrain")


def test_nothing_new_starts_nothing_and_says_so() -> None:
    switch_on(samples=1)
    assert due() == ([], ["ann/keys: nothing new, nothing is started"])
    bring("a", 5)
    changes.settle(documents(), "ann", ["ann/keys/a"], "0" * 16)
    assert due()[0] == []


def test_enough_new_samples_start_one_run_that_a_repeat_names_again() -> None:
    switch_on(samples=10)
    bring("zz", 6)
    assert due() == ([], ["ann/keys: 6 new samples, 10 are asked for; nothing is started"])
    bring("mm", 6)
    first, reasons = due()
    assert reasons == ["ann/keys: 12 new samples, 10 were asked for"]
    assert due()[0] == first
    bring("aa", 6)  # named before the others, and brought after them
    assert due()[0][0]["trigger_run_id"] != first[0]["trigger_run_id"]


def test_a_schedule_starts_one_run_a_time_that_was_due() -> None:
    switch_on(cron="0 3 * * *")
    bring("a", 2)
    now = datetime.now(UTC)
    starts, reasons = due(now)
    assert starts == []
    assert "the schedule says" in reasons[0]
    assert "03:00 UTC" in reasons[0]
    tomorrow = (now + timedelta(days=1)).replace(hour=3, minute=2)
    first, reasons = due(tomorrow)
    assert first[0]["trigger_run_id"] == f"retrain__ann__keys__{tomorrow:%Y%m%d}T0300"
    assert f"due at {tomorrow:%Y-%m-%d} 03:00 UTC" in reasons[0]
    assert due(tomorrow + timedelta(hours=20))[0] == first
    assert due(tomorrow + timedelta(hours=25))[0] != first


def test_a_run_that_has_begun_is_named_and_not_started_again() -> None:
    switch_on(cron="0 3 * * *")
    bring("a", 2)
    later = datetime.now(UTC) + timedelta(days=2)
    run_id = due(later)[0][0]["trigger_run_id"]
    builds.create(
        documents(), "ann", dag_id="build_model", run_id=run_id, project="keys", parameters={}
    )
    starts, reasons = due(later)
    assert starts == []
    assert f"the run {run_id} has begun for it" in reasons[0]
    assert len(due(later + timedelta(days=1))[0]) == 1, "the next time that is due is another run"


def test_a_schedule_waits_for_the_samples_too() -> None:
    switch_on(cron="0 3 * * *", samples=5)
    bring("a", 2)
    later = datetime.now(UTC) + timedelta(days=2)
    assert due(later)[0] == []
    bring("b", 3)
    assert len(due(later)[0]) == 1


def test_the_build_is_as_the_last_one_against_the_champion() -> None:
    builds.create(
        documents(),
        "ann",
        dag_id="build_model",
        run_id="one",
        project="keys",
        parameters={"minutes": 9, "objective": "worst_class_recall", "endpoint": "line"},
    )
    switch_on(samples=1)
    bring("a", 1)
    assert due()[0][0]["conf"] == {
        "owner": "ann",
        "project": "keys",
        "task": TASK,
        "data": "newest",
        "minutes": 9,
        "objective": "worst_class_recall",
        "approval": "champion",
        "margin": retraining.DEFAULT_MARGIN,
        "endpoint": "line",
    }


def test_owners_with_one_project_name_get_runs_of_their_own() -> None:
    projects.ensure(documents(), "bob", "keys", TASK)
    retraining.switch_on(documents(), "bob", "keys", cron=None, minimum_samples=1)
    switch_on(samples=1)
    bring("a", 1)
    changes.add(documents(), "bob", "keys", change_id="a", location="/x", files=1)
    starts, _ = due()
    assert [each["conf"]["owner"] for each in starts] == ["ann", "bob"]
    assert len({each["trigger_run_id"] for each in starts}) == 2
