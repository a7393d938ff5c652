"""Deployments: one truth of what is live, also after a repeat and in a race."""

from __future__ import annotations

from typing import Any

import pytest

from orchard.catalog import deployments
from orchard.catalog.connection import Documents
from orchard.errors import BadInput, NotFound, TryAgain
from tests.orchard.catalog.test_documents import at_once


def switch(store: Documents, bundle: str, owner: str = "ann", **more: Any) -> Any:
    """Make a bundle live at the endpoint `keys`."""
    return deployments.switch(
        store,
        owner,
        "keys",
        project="keys",
        task="image_classification",
        bundles=[{"bundle": bundle, "weight": 1.0}],
        **more,
    )


def test_what_was_live_becomes_previous(store: Documents) -> None:
    assert switch(store, "a", token_hashes=["h"])["revision"] == 1
    second = switch(store, "b", token_hashes=["other"])
    assert second["revision"] == 2
    assert second["previous"] == [{"bundle": "a", "weight": 1.0}]
    assert second["token_hashes"] == ["h"]
    assert deployments.get(store, "ann", "keys")["bundles"] == [{"bundle": "b", "weight": 1.0}]


def test_the_same_again_changes_nothing(store: Documents) -> None:
    switch(store, "a")
    second = switch(store, "b")
    again = switch(store, "b")
    assert again["revision"] == second["revision"]
    assert again["previous"] == [{"bundle": "a", "weight": 1.0}]


def test_of_two_that_make_an_endpoint_at_once_one_is_told_to_try_again(store: Documents) -> None:
    results = at_once(6, lambda number: switch(store, f"bundle{number}"))
    done = [each for each in results if isinstance(each, dict)]
    lost = [each for each in results if not isinstance(each, dict)]
    assert done
    assert all(isinstance(each, TryAgain) for each in lost)
    assert sorted(each["revision"] for each in done) == list(range(1, len(done) + 1))
    last = max(done, key=lambda each: int(each["revision"]))
    assert deployments.get(store, "ann", "keys")["bundles"] == last["bundles"]


def test_a_change_in_between_is_not_lost(store: Documents, monkeypatch: pytest.MonkeyPatch) -> None:
    switch(store, "a")
    read = deployments.find

    def late(*given: Any) -> Any:
        found = read(*given)
        monkeypatch.undo()
        deployments.set_tokens(store, "ann", "keys", ["new"])
        return found

    monkeypatch.setattr(deployments, "find", late)
    with pytest.raises(TryAgain, match="at once"):
        switch(store, "b")
    found = switch(store, "b")
    assert found["token_hashes"] == ["new"]
    assert found["revision"] == 3


def test_an_endpoint_s_name_belongs_to_one_owner(store: Documents) -> None:
    switch(store, "a")
    for call in (
        lambda: deployments.find(store, "bob", "keys"),
        lambda: deployments.get(store, "bob", "keys"),
        lambda: switch(store, "b", owner="bob"),
        lambda: deployments.set_tokens(store, "bob", "keys", ["his"]),
    ):
        with pytest.raises(BadInput, match="taken"):
            call()
    assert deployments.get(store, "ann", "keys")["revision"] == 1


def test_what_is_not_there(store: Documents) -> None:
    assert deployments.find(store, "ann", "keys") is None
    with pytest.raises(NotFound, match="no such endpoint"):
        deployments.get(store, "ann", "keys")
    with pytest.raises(NotFound):
        deployments.set_tokens(store, "ann", "keys", [])
