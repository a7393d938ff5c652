"""A database of its own on each documents server that there is.

ORCHARD_TEST_MONGODB_URI names a MongoDB on which the same tests run too.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.monitoring import CommandListener, CommandStartedEvent

from orchard.catalog.connection import Document, Documents


class AtomicOnly(CommandListener):
    """Notes every command that is more than one atomic operation on one document."""

    def __init__(self) -> None:
        self.others: list[Mapping[str, Any]] = []

    def started(self, event: CommandStartedEvent) -> None:
        if not _is_atomic(event.command_name, event.command):
            self.others.append(event.command)

    def succeeded(self, event: object) -> None: ...

    def failed(self, event: object) -> None: ...


def _is_atomic(name: str, command: Mapping[str, Any]) -> bool:
    """Whether MongoDB and the local server both do it in one step, or change nothing by it."""
    if "startTransaction" in command or "autocommit" in command:
        return False
    if name in ("find", "getMore", "findAndModify"):
        return "arrayFilters" not in command and not isinstance(command.get("update"), list)
    if name == "insert":
        return len(command["documents"]) == 1
    if name == "update":
        one = command["updates"][0]
        return (
            len(command["updates"]) == 1
            and not one.get("multi")
            and isinstance(one["u"], Mapping)
            and "arrayFilters" not in one
        )
    if name == "delete":
        return [each["limit"] for each in command["deletes"]] == [1]
    return False


@pytest.fixture(params=["local", "mongodb"])
def store(request: pytest.FixtureRequest) -> Iterator[Documents]:
    """An empty database; whatever a test does there must be atomic on one document each."""
    if request.param == "local":
        uri = request.getfixturevalue("documents_server")
    else:
        uri = os.environ.get("ORCHARD_TEST_MONGODB_URI", "")
        if not uri:
            pytest.skip("ORCHARD_TEST_MONGODB_URI names no MongoDB")
    listener = AtomicOnly()
    client: MongoClient[Document] = MongoClient(uri, tz_aware=True, event_listeners=[listener])
    name = f"test_{uuid.uuid4().hex[:12]}"
    yield client[name]
    assert listener.others == []
    client.drop_database(name)
    client.close()
