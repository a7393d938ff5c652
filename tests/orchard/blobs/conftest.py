"""The store of bytes on each kind of file system."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from orchard.blobs import Blobs


@pytest.fixture(params=["file", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    """An empty store."""
    if request.param == "file":
        return Blobs(f"file://{tmp_path / 'store'}")
    return Blobs(f"memory://{uuid.uuid4().hex}")
