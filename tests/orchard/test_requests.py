"""From the form to a build's parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchard.catalog import changes, datasets, deployments, projects
from orchard.catalog.connection import documents
from orchard.errors import BadInput
from orchard.requests import data_of, parameters_of

FORM: dict[str, Any] = {
    "project": "keys",
    "task": "image_classification",
    "data": "/pictures",
    "minutes": 7,
    "objective": "worst_class_recall",
    "approval": "floor",
    "floor": 0.8,
    "margin": 0.01,
    "wait_hours": 2,
    "endpoint": None,
    "owner": None,
}
LOGIN = {"data": "https://ann:secret@host/a.zip"}


def ask(**changed: Any) -> dict[str, Any]:
    """The parameters of a form."""
    return parameters_of(documents(), "ann", {**FORM, **changed})


def test_all_fields_are_handed_on_and_the_endpoint_is_the_project_s(orchard_home: Path) -> None:
    assert ask() == {
        "project": "keys",
        "dataset": "keys",
        "task": "image_classification",
        "data": {"kind": "archive", "location": "/pictures"},
        "minutes": 7,
        "objective": "worst_class_recall",
        "approval": "floor",
        "floor": 0.8,
        "margin": 0.01,
        "wait_hours": 2.0,
        "endpoint": "keys",
    }
    assert ask(endpoint="line-3")["endpoint"] == "line-3"


def test_what_is_left_out_has_a_default(orchard_home: Path) -> None:
    short = {name: FORM[name] for name in ("project", "task", "data")}
    found = parameters_of(documents(), "ann", short)
    assert (found["minutes"], found["objective"], found["approval"]) == (5, "accuracy", "person")
    assert found["wait_hours"] == 72.0


def test_the_newest_data_are_a_version_or_what_was_brought(orchard_home: Path) -> None:
    with pytest.raises(BadInput, match="no data yet"):
        ask(data="newest")
    projects.ensure(documents(), "ann", "keys", "image_classification")
    changes.add(documents(), "ann", "keys", change_id="a", location="/x", files=2)
    assert ask(data="newest")["data"] == {"kind": "newest", "location": ""}
    changes.settle(documents(), "ann", ["ann/keys/a"], "0" * 16)
    with pytest.raises(BadInput, match="no data yet"):
        ask(data="newest")
    datasets.commit_version(
        documents(),
        "ann",
        project="keys",
        dataset="keys",
        version="0" * 16,
        parent=None,
        build_id="1" * 16,
        summary={},
    )
    assert ask(data=" newest ")["data"]["kind"] == "newest"
    with pytest.raises(BadInput, match="no data yet"):
        parameters_of(documents(), "bob", {**FORM, "data": "newest"})


def test_an_endpoint_of_another_project_or_owner_is_refused(orchard_home: Path) -> None:
    for owner, endpoint in (("ann", "carts"), ("bob", "bobs")):
        deployments.switch(
            documents(),
            owner,
            endpoint,
            project="carts",
            task="image_classification",
            bundles=[{"bundle": "a", "weight": 1.0}],
        )
    with pytest.raises(BadInput, match="belongs to the project 'carts'"):
        ask(endpoint="carts")
    with pytest.raises(BadInput, match="taken"):
        ask(endpoint="bobs")


def test_a_form_that_is_refused_leaves_no_project(orchard_home: Path) -> None:
    for wrong in (
        {"task": "none"},
        {"project": "A B"},
        {"endpoint": "A B"},
        {"data": "newest"},
        LOGIN,
    ):
        with pytest.raises(BadInput):
            ask(**wrong)
    assert projects.every(documents()) == []


def test_a_project_keeps_its_task(orchard_home: Path) -> None:
    projects.ensure(documents(), "ann", "keys", "other_task")
    with pytest.raises(BadInput, match="has the task 'other_task'"):
        ask()


def test_the_kind_of_a_location(tmp_path: Path) -> None:
    assert data_of("newest") == {"kind": "newest", "location": ""}
    assert data_of(str(tmp_path))["kind"] == "folder"
    assert data_of(str(tmp_path / "a.zip"))["kind"] == "archive"
    with pytest.raises(BadInput, match="user name or a password") as caught:
        data_of("hdfs://ann:secret@names/a")
    assert "secret" not in str(caught.value)
    assert data_of("hdfs://names/a") == {"kind": "uri", "location": "hdfs://names/a"}
