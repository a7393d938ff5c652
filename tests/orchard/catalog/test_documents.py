"""The contract of the documents: made once, found by their owner only, right after a repeat."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from orchard.catalog import builds, changes, datasets, projects
from orchard.catalog.connection import Documents, documents, translated
from orchard.errors import BadInput, NotFound, TryAgain
from tests.orchard.catalog.conftest import AtomicOnly

TASK = "image_classification"
LABELS = {"ü/ß": {"train": 3}, "1.5 V": {"test": 1}, "$ 5": {}}


def at_once(count: int, call: Callable[[int], Any]) -> list[Any]:
    """What many threads get that call at the same moment; an exception is a result."""
    gate = threading.Barrier(count)
    results: list[Any] = [None] * count

    def work(number: int) -> None:
        gate.wait()
        try:
            results[number] = call(number)
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def make_build(store: Documents, run_id: str, owner: str = "ann", **parameters: Any) -> Any:
    """A build of the project `keys`."""
    return builds.create(
        store, owner, dag_id="build_model", run_id=run_id, project="keys", parameters=parameters
    )


def commit(store: Documents, version: str, parent: str | None = None, owner: str = "ann") -> Any:
    """A version of the data set `keys`."""
    return datasets.commit_version(
        store,
        owner,
        project="keys",
        dataset="keys",
        version=version,
        parent=parent,
        build_id="0" * 16,
        summary={"number": 1, "labels": LABELS},
    )


class TestProjects:
    def test_a_project_is_made_once_by_many_at_once(self, store: Documents) -> None:
        made = at_once(8, lambda _: projects.ensure(store, "ann", "keys", TASK))
        assert all(each == made[0] for each in made)
        assert made[0]["dataset"] == "keys"

    def test_another_task_is_refused(self, store: Documents) -> None:
        projects.ensure(store, "ann", "keys", TASK)
        with pytest.raises(BadInput, match="has the task 'image_classification'"):
            projects.ensure(store, "ann", "keys", "other")

    @pytest.mark.parametrize("name", ["", "-a", "A", "a b", "a/b", "ä", "x" * 42, "a\n"])
    def test_a_name_that_is_none_is_refused(self, store: Documents, name: str) -> None:
        with pytest.raises(BadInput, match="lower-case"):
            projects.ensure(store, "ann", name, TASK)

    def test_owners_are_kept_apart(self, store: Documents) -> None:
        projects.ensure(store, "ann", "keys", TASK)
        projects.ensure(store, "bob", "keys", "other")
        projects.set_fields(store, "bob", "keys", note="his")
        assert "note" not in projects.get(store, "ann", "keys")
        assert projects.find(store, "cid", "keys") is None
        assert [each["owner"] for each in projects.every(store)] == ["ann", "bob"]

    def test_what_is_not_there_is_named_with_what_is(self, store: Documents) -> None:
        projects.ensure(store, "bob", "secret", TASK)
        projects.ensure(store, "ann", "keys", TASK)
        with pytest.raises(NotFound) as caught:
            projects.get(store, "ann", "carts")
        assert caught.value.way_out == "Known: keys"


class TestBuilds:
    def test_a_run_has_one_build_whose_parameters_stay(self, store: Documents) -> None:
        first = make_build(store, "one", minutes=1)
        assert make_build(store, "one", minutes=2) == first
        assert builds.get(store, "ann", first["_id"])["parameters"] == {"minutes": 1}

    def test_many_at_once_make_one(self, store: Documents) -> None:
        made = at_once(8, lambda number: make_build(store, "one", minutes=number))
        assert all(each == made[0] for each in made)

    def test_owners_are_kept_apart(self, store: Documents) -> None:
        build = make_build(store, "one")
        with pytest.raises(BadInput, match="another owner"):
            make_build(store, "one", owner="bob")
        with pytest.raises(NotFound):
            builds.get(store, "bob", build["_id"])
        builds.set_fields(store, "bob", build["_id"], note="his")
        assert "note" not in builds.get(store, "ann", build["_id"])
        assert builds.newest(store, "bob", "keys") is None

    def test_times_come_back_as_times(self, store: Documents) -> None:
        build = make_build(store, "one")
        now = datetime.now(UTC)
        builds.set_fields(store, "ann", build["_id"], asked=now, answered=now, published=now)
        for found in (builds.get(store, "ann", build["_id"]), builds.newest(store, "ann", "keys")):
            assert found is not None
            for name in ("created", "asked", "answered", "published"):
                assert abs(found[name] - now) < timedelta(seconds=30)

    def test_the_newest_is_the_youngest_published_one(self, store: Documents) -> None:
        first, second, third = (make_build(store, name) for name in ("a", "b", "c"))
        for number, build in enumerate((first, second, third)):
            created = datetime(2030, 1, 1 + number, tzinfo=UTC)
            store.builds.replace_one({"_id": build["_id"]}, {**build, "created": created})
        newest = builds.newest(store, "ann", "keys")
        assert newest is not None
        assert newest["_id"] == third["_id"]
        builds.set_fields(store, "ann", first["_id"], published=datetime.now(UTC))
        builds.set_fields(store, "ann", second["_id"], published=datetime.now(UTC))
        newest = builds.newest(store, "ann", "keys")
        assert newest is not None
        assert newest["_id"] == second["_id"]


class TestVersions:
    def test_a_version_is_made_once_and_becomes_the_newest(self, store: Documents) -> None:
        assert datasets.newest_version(store, "ann", "keys") is None
        first = commit(store, "a" * 16)
        assert commit(store, "a" * 16) == first
        commit(store, "b" * 16, parent="a" * 16)
        newest = datasets.newest_version(store, "ann", "keys")
        assert newest is not None
        assert newest["version"] == "b" * 16
        assert newest["parent"] == "a" * 16
        assert datasets.get_version(store, "ann", "keys", "a" * 16) == first

    def test_labels_with_any_letters_are_kept(self, store: Documents) -> None:
        assert commit(store, "a" * 16)["summary"]["labels"] == LABELS

    def test_owners_are_kept_apart(self, store: Documents) -> None:
        commit(store, "a" * 16)
        assert datasets.newest_version(store, "bob", "keys") is None
        with pytest.raises(NotFound, match="no such data set version"):
            datasets.get_version(store, "bob", "keys", "a" * 16)


class TestChanges:
    def add(self, store: Documents, change_id: str, owner: str = "ann", files: int = 3) -> None:
        changes.add(store, owner, "keys", change_id=change_id, location="/x", files=files)

    def test_they_come_oldest_first_whatever_their_names(self, store: Documents) -> None:
        for name in ("zz", "mm", "aa"):
            self.add(store, name)
        found = changes.pending(store, "ann", "keys")
        assert [each["_id"] for each in found] == ["ann/keys/zz", "ann/keys/mm", "ann/keys/aa"]

    def test_the_same_again_is_one(self, store: Documents) -> None:
        at_once(6, lambda _: self.add(store, "zz"))
        assert len(changes.pending(store, "ann", "keys")) == 1

    def test_what_is_settled_waits_no_more(self, store: Documents) -> None:
        self.add(store, "zz")
        self.add(store, "aa")
        changes.settle(store, "ann", ["ann/keys/zz"], "b" * 16)
        assert [each["_id"] for each in changes.pending(store, "ann", "keys")] == ["ann/keys/aa"]
        self.add(store, "zz")  # brought again: it is in a version already
        assert len(changes.pending(store, "ann", "keys")) == 1

    def test_owners_are_kept_apart(self, store: Documents) -> None:
        self.add(store, "zz")
        changes.settle(store, "bob", ["ann/keys/zz"], "b" * 16)
        assert len(changes.pending(store, "ann", "keys")) == 1
        assert changes.pending(store, "bob", "keys") == []


def test_a_server_that_is_away_is_said_so_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from orchard.catalog import connection

    monkeypatch.setattr(connection, "_WAIT_MILLISECONDS", 50)
    away = documents("mongodb://127.0.0.1:1", "none")
    with pytest.raises(TryAgain, match="does not answer.*make up"), translated():
        away.command("ping")


@pytest.mark.parametrize(
    "uri",
    [
        "http://user:secret@127.0.0.1",
        "mongodb://user:secret@127.0.0.1/?tls=maybe",
        "mongodb://user:secret@127.0.0.1/?authMechanism=NONE",
        "mongodb://user:secret@127.0.0.1/?tls=true&tlsCAFile=/nowhere/ca.pem",
        "mongodb://us@er:secret@127.0.0.1",
    ],
)
def test_an_address_that_is_none_is_refused_without_showing_it(uri: str) -> None:
    with pytest.raises(BadInput, match="cannot be used") as caught:
        documents(uri, "none")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda things: things.update_many({}, {"$set": {"a": 1}}),
        lambda things: things.update_one({}, [{"$set": {"a": 1}}]),
        lambda things: things.insert_many([{"_id": 1}, {"_id": 2}]),
        lambda things: things.delete_many({}),
        lambda things: list(things.aggregate([{"$match": {}}])),
    ],
)
def test_more_than_one_document_at_once_would_be_noticed(
    documents_server: str, change: Callable[[Any], object]
) -> None:
    listener = AtomicOnly()
    client: MongoClient[Any] = MongoClient(documents_server, event_listeners=[listener])
    with contextlib.suppress(PyMongoError):
        change(client.test_noticed.things)
    assert len(listener.others) == 1
    client.drop_database("test_noticed")
    client.close()
