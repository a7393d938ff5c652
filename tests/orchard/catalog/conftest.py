"""A database of its own on each documents server that there is.

ORCHARD_TEST_MONGODB_URI names a MongoDB on which the same tests run too.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest
from pymongo import MongoClient

from orchard.catalog.connection import Document, Documents


@pytest.fixture(params=["local", "mongodb"])
def store(request: pytest.FixtureRequest) -> Iterator[Documents]:
    """An empty database."""
    if request.param == "local":
        uri = request.getfixturevalue("documents_server")
    else:
        uri = os.environ.get("ORCHARD_TEST_MONGODB_URI", "")
        if not uri:
            pytest.skip("ORCHARD_TEST_MONGODB_URI names no MongoDB")
    client: MongoClient[Document] = MongoClient(uri, tz_aware=True)
    name = f"test_{uuid.uuid4().hex[:12]}"
    yield client[name]
    client.drop_database(name)
    client.close()
