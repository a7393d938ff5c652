"""What HDFS says where there is none; the contract on a real one is the suite of the store."""

from __future__ import annotations

import time

import pytest

from orchard.blobs import Blobs
from orchard.blobs.browse import Browser
from orchard.blobs.filesystem import filesystem_of
from orchard.blobs.hdfs import HdfsFileSystem
from orchard.errors import BadInput, TryAgain
from tests.conftest import free_port


def test_a_namenode_that_is_away_is_told_within_seconds() -> None:
    blobs = Blobs(f"hdfs://127.0.0.1:{free_port()}/store")
    for call in (blobs.read, blobs.exists, blobs.list, blobs.delete, blobs.size):
        began = time.monotonic()
        with pytest.raises(TryAgain, match="Connection refused"):
            call("ann/a")
        assert time.monotonic() - began < 20
    with pytest.raises(TryAgain, match="Connection refused"):
        blobs.write("ann/a", b"x")
    with pytest.raises(TryAgain, match="Connection refused"):
        Browser(blobs.url("ann")).item()


def test_an_address_that_names_no_namenode_is_refused() -> None:
    with pytest.raises(BadInput, match="names no NameNode"):
        Blobs("hdfs://names/store")
    with pytest.raises(BadInput, match="names no NameNode"):
        Blobs("hdfs:///store")


@pytest.mark.parametrize("name", ["a#b", "a?b", "a;b", "a%20b", "ü {x}", "a&b=c"])
def test_a_path_is_taken_as_it_is(name: str) -> None:
    filesystem, path = filesystem_of(f"hdfs://127.0.0.1:8020/store/{name}")
    assert path == f"/store/{name}"
    assert isinstance(filesystem, HdfsFileSystem)
    assert filesystem.unstrip_protocol(path) == f"hdfs://127.0.0.1:8020/store/{name}"
