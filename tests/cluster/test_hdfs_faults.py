"""Servers of HDFS that are killed and come back: nothing is lost, nothing half-written is seen."""

from __future__ import annotations

import hashlib
import io
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchard.blobs import Blobs, keys
from orchard.errors import TryAgain
from orchard.program import Step, run
from orchard.steps import ingest
from spark_jobs import check
from tests.cluster.builds import PICTURES, way
from tests.cluster.hdfs import Hdfs
from tests.spark_jobs.intakes import DATASET, OWNER

pytestmark = pytest.mark.cluster

MEBIBYTE = 2**20


@pytest.fixture
def broken(hdfs: Hdfs) -> Iterator[Hdfs]:
    """The cluster, to be broken; it is whole again after the test."""
    hdfs.restore()
    yield hdfs
    hdfs.restore()


@pytest.fixture
def blobs(broken: Hdfs) -> Blobs:
    """An empty store on it."""
    return Blobs(f"{broken.uri}/faults/{uuid.uuid4().hex}")


class Disturbed(io.BytesIO):
    """Bytes; something happens once, when half of them have been read."""

    def __init__(self, payload: bytes, happens: Callable[[], None]) -> None:
        super().__init__(payload)
        self._happens: Callable[[], None] | None = happens
        self._half = len(payload) // 2

    def read(self, size: int | None = -1) -> bytes:
        if self._happens is not None and self.tell() >= self._half:
            happens, self._happens = self._happens, None
            happens()
        return super().read(size)


def when(condition: Callable[[], bool], action: Callable[[], None]) -> threading.Thread:
    """A thread that acts as soon as a condition holds."""

    def watch() -> None:
        ends = time.monotonic() + 300
        while not condition():
            if time.monotonic() > ends:
                return
            time.sleep(0.02)
        action()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@pytest.mark.parametrize("number", [0, 1])
def test_a_file_is_written_whole_through_the_death_of_a_datanode(
    broken: Hdfs, blobs: Blobs, number: int
) -> None:
    old, new = os.urandom(3 * MEBIBYTE), os.urandom(24 * MEBIBYTE)
    blobs.write("ann/value", old)

    def kill() -> None:
        broken.kill_datanode(number)
        assert blobs.read("ann/value") == old
        assert blobs.list("ann") == ["ann/value"]

    blobs.send("ann/value", Disturbed(new, kill))
    assert blobs.read("ann/value") == new
    assert [each.key for each in blobs.entries("ann")] == ["ann/value"]
    broken.restore()
    assert blobs.read("ann/value") == new


def test_ingest_loses_nothing_with_a_datanode(
    broken: Hdfs, blobs: Blobs, orchard_home: Path, tmp_path: Path
) -> None:
    files = {f"ok/{number:03d}.jpg": os.urandom(200_000) for number in range(120)}
    for path, payload in files.items():
        (tmp_path / "data" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / path).write_bytes(payload)
    segments = keys.segments(OWNER, DATASET)
    limit = {"ORCHARD_SEGMENT_BYTES": str(MEBIBYTE)}
    data = str(tmp_path / "data")
    with way(blobs.root, data, str(tmp_path), f"test_{uuid.uuid4().hex}", **limit) as on:
        killer = when(
            lambda: len(blobs.list(segments)) >= 3,
            lambda: broken.kill_datanode(1),
        )
        on.go("ingest", ingest.body)
        killer.join()
        stored = on.intake()
        assert {row["path"]: row["payload"] for row in stored} == files
        found = blobs.entries(segments)
        assert {each.key for each in found} == {row["segment"] for row in stored}
        for each in found:
            digest = hashlib.sha256(blobs.read(each.key)).hexdigest()
            assert each.key.endswith(f"/{digest[:32]}.bin")


@pytest.mark.usefixtures("spark_session")
def test_a_version_is_the_same_whatever_died_while_it_was_written(
    broken: Hdfs, blobs: Blobs, orchard_home: Path, tmp_path: Path
) -> None:
    for path, payload in PICTURES.items():
        (tmp_path / "data" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / path).write_bytes(payload)
    data, name = str(tmp_path / "data"), uuid.uuid4().hex

    def checked(store: str, disturb: Callable[[str], threading.Thread | None]) -> dict[str, Any]:
        with way(store, data, str(tmp_path), f"test_{name}") as on:
            on.go("ingest", ingest.body)
            disturber = disturb(f"{keys.build(OWNER, on.of.build_id)}/check/samples")
            facts = on.go("check", check.body)
            if disturber is not None:
                disturber.join()
            folder = keys.version(OWNER, DATASET, str(facts["version"]))
            found = on.rows(f"{folder}/manifest")
            assert on.of.blobs.list(keys.versions(OWNER, DATASET)) == [folder]
            return {"version": facts["version"], "rows": found}

    wanted = checked(f"file://{tmp_path / 'store'}", lambda key: None)
    found = checked(
        blobs.root,
        lambda key: when(lambda: blobs.exists(key), lambda: broken.kill_datanode(0)),
    )
    assert found == wanted


def test_work_goes_on_when_the_namenode_is_back(broken: Hdfs, blobs: Blobs, tmp_path: Path) -> None:
    blobs.write("ann/folder/old", b"old")
    calls: dict[str, Callable[[], object]] = {
        "read": lambda: blobs.read("ann/folder/old"),
        "write": lambda: blobs.write("ann/folder/new", b"new"),
        "exists": lambda: blobs.exists("ann/folder/old"),
        "list": lambda: blobs.list("ann/folder"),
        "download": lambda: blobs.download_folder("ann/folder", tmp_path / "goal"),
        "delete": lambda: blobs.delete("ann/folder/old"),
        "rename": lambda: blobs.rename_folder("ann/folder", "ann/moved"),
    }
    broken.kill_namenode()
    for name, call in calls.items():
        began = time.monotonic()
        with pytest.raises(TryAgain, match="could not be used"):
            call()
        assert time.monotonic() - began < 30, name
    assert not (tmp_path / "goal").exists()
    broken.start_namenode()
    broken.wait_until_ready()
    assert blobs.list("ann/folder") == ["ann/folder/old"]
    for call in calls.values():
        call()
    assert blobs.list("ann") == ["ann/moved"]


def test_a_step_that_loses_the_namenode_is_tried_again_and_ends_well(
    broken: Hdfs, blobs: Blobs, orchard_home: Path, tmp_path: Path
) -> None:
    attempts: list[int] = []

    def body(step: Step) -> dict[str, Any]:
        attempts.append(step.attempt)
        step.blobs.write("ann/first", b"1")
        if len(attempts) == 1:
            broken.kill_namenode()
        step.blobs.write("ann/second", b"2")
        return {"attempts": len(attempts)}

    with way(blobs.root, "data", str(tmp_path), f"test_{uuid.uuid4().hex}") as on:
        assert run("sample", body, ["--build", on.of.build_id]) == 75
        broken.start_namenode()
        broken.wait_until_ready()
        assert on.result("sample") is None
        assert on.go("sample", body)["attempts"] == 2
    assert blobs.list("ann") == ["ann/first", "ann/second"]
    blobs.delete("ann")
