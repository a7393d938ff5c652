"""The store of bytes on each kind of file system."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchard.blobs import Blobs


@pytest.fixture(params=["file", "memory", pytest.param("hdfs", marks=pytest.mark.cluster)])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Blobs]:
    """An empty store."""
    if request.param == "file":
        yield Blobs(f"file://{tmp_path / 'store'}")
        return
    name = uuid.uuid4().hex
    if request.param == "memory":
        yield Blobs(f"memory://{name}")
        return
    base = Blobs(f"{request.getfixturevalue('hdfs_uri')}/tests")
    yield Blobs(base.url(name))
    base.delete(name)
