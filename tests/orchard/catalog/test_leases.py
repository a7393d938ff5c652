"""Leases: one run at a time has a project; an ended run's lease is taken over."""

from __future__ import annotations

from typing import Any

from orchard.catalog import leases
from orchard.catalog.connection import Documents
from tests.orchard.catalog.test_documents import at_once

DAG = "build_model"


def acquire(
    store: Documents, run_id: str, ended: set[str] | None = None, owner: str = "ann"
) -> Any:
    """Take the lease of `keys`; `ended` are the runs that Airflow calls ended."""
    return leases.acquire(
        store,
        owner,
        "keys",
        dag_id=DAG,
        run_id=run_id,
        has_ended=lambda dag_id, run_id: dag_id == DAG and run_id in (ended or set()),
    )


def test_of_many_at_once_one_gets_it_and_the_others_hear_which(store: Documents) -> None:
    results = at_once(8, lambda number: acquire(store, f"run {number}"))
    won = [number for number, holder in enumerate(results) if holder is None]
    assert len(won) == 1
    assert {each["run_id"] for each in results if each is not None} == {f"run {won[0]}"}


def test_the_holder_gets_it_again(store: Documents) -> None:
    assert acquire(store, "one") is None
    assert acquire(store, "one") is None
    assert acquire(store, "two")["run_id"] == "one"


def test_an_ended_run_s_lease_goes_to_one_of_many(store: Documents) -> None:
    assert acquire(store, "old") is None
    results = at_once(8, lambda number: acquire(store, f"run {number}", {"old"}))
    assert sum(holder is None for holder in results) == 1
    winner = f"run {results.index(None)}"
    assert {each["run_id"] for each in results if each is not None} <= {winner, "old"}
    assert acquire(store, "late", {"old"})["run_id"] == winner


def test_it_is_never_taken_over_by_age(store: Documents) -> None:
    assert acquire(store, "one") is None
    for _ in range(3):
        assert acquire(store, "two") is not None


def test_owners_are_kept_apart(store: Documents) -> None:
    assert acquire(store, "one") is None
    assert acquire(store, "two", owner="bob") is None
    assert acquire(store, "three", owner="bob")["run_id"] == "two"
