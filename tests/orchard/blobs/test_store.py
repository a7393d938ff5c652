"""The contract of the bytes, on a local and on a remote kind of file system."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from orchard.blobs import Blobs, keys
from orchard.errors import BadInput, NotFound
from orchard.settings import REPOSITORY


def test_bytes_come_back_and_are_replaced(blobs: Blobs) -> None:
    blobs.write("ann/a.bin", b"one")
    blobs.write("ann/a.bin", b"two")
    assert blobs.read("ann/a.bin") == b"two"
    assert blobs.size("ann/a.bin") == 3
    assert blobs.exists("ann/a.bin")
    assert blobs.exists("ann")
    with blobs.open("ann/a.bin") as file:
        file.seek(1)
        assert file.read() == b"wo"


def test_json_is_kept_with_sorted_keys(blobs: Blobs) -> None:
    blobs.write_json("ann/a.json", {"b": [1, "ü"], "a": None})
    assert blobs.read_json("ann/a.json") == {"a": None, "b": [1, "ü"]}
    assert blobs.read("ann/a.json").startswith(b'{\n "a"')
    with pytest.raises(ValueError, match="not JSON compliant"):
        blobs.write_json("ann/a.json", float("nan"))
    assert blobs.read_json("ann/a.json") == {"a": None, "b": [1, "ü"]}


def test_what_is_not_there_is_said_by_its_key(blobs: Blobs) -> None:
    for call in (blobs.read, blobs.open, blobs.size, blobs.read_json):
        with pytest.raises(NotFound, match="ann/none"):
            call("ann/none")
    assert not blobs.exists("ann/none")
    assert blobs.list("ann/none") == []
    blobs.delete("ann/none")


def test_a_write_that_fails_leaves_what_was_there_and_nothing_else(blobs: Blobs) -> None:
    blobs.write("ann/a", b"old")
    with pytest.raises(ZeroDivisionError), blobs.writing("ann/a") as file:
        file.write(b"new")
        raise ZeroDivisionError
    assert blobs.read("ann/a") == b"old"
    assert blobs.list("ann") == ["ann/a"]


def test_a_list_is_sorted_and_hides_what_is_not_complete(blobs: Blobs) -> None:
    for key in ("ann/b", "ann/a", "ann/c/d"):
        blobs.write(key, b"x")
    with blobs.writing("ann/e") as file:
        file.write(b"x")
        assert blobs.list("ann") == ["ann/a", "ann/b", "ann/c"]
        assert not blobs.exists("ann/e")
    assert blobs.list("ann") == ["ann/a", "ann/b", "ann/c", "ann/e"]


def test_a_folder_is_deleted_with_all_below_it_and_nothing_beside_it(blobs: Blobs) -> None:
    for key in ("ann/a/b/c", "ann/a/d", "ann/ab"):
        blobs.write(key, b"x")
    blobs.delete("ann/a")
    assert not blobs.exists("ann/a/b/c")
    assert blobs.list("ann") == ["ann/ab"]


def test_a_folder_moves_only_to_a_free_place(blobs: Blobs) -> None:
    blobs.write("ann/work/one/rows", b"first")
    assert blobs.rename_folder("ann/work/one", "ann/done/one") is True
    blobs.write("ann/work/one/rows", b"second")
    assert blobs.rename_folder("ann/work/one", "ann/done/one") is False
    assert blobs.read("ann/done/one/rows") == b"first"
    assert blobs.read("ann/work/one/rows") == b"second"


def test_folders_go_up_and_come_down_whole(blobs: Blobs, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "a").write_bytes(b"1")
    (source / "deep" / "b").write_bytes(b"2")
    blobs.upload_folder(source, "ann/bundles/x")
    (source / "a").write_bytes(b"changed")
    blobs.upload_folder(source, "ann/bundles/x")  # named by its content, so it is the same
    assert blobs.read("ann/bundles/x/a") == b"1"
    assert blobs.list("ann/bundles") == ["ann/bundles/x"]
    goal = tmp_path / "below" / "goal"
    blobs.download_folder("ann/bundles/x", goal)
    blobs.download_folder("ann/bundles/x", goal)
    assert {path.name for path in goal.rglob("*")} == {"a", "deep", "b"}
    assert (goal / "deep" / "b").read_bytes() == b"2"
    assert [path.name for path in goal.parent.iterdir()] == ["goal"]
    with pytest.raises(NotFound, match="ann/bundles/none"):
        blobs.download_folder("ann/bundles/none", tmp_path / "none")


def test_a_store_travels_to_another_process_by_its_address(blobs: Blobs) -> None:
    blobs.write("ann/a", b"x")
    other = pickle.loads(pickle.dumps(Blobs(f"{blobs.root}/")))
    assert other.read("ann/a") == b"x"
    assert other.url("ann/a") == f"{blobs.root}/ann/a"


NAME = st.text(min_size=1, max_size=12).filter(
    lambda name: not set(name) & set("\\\0*?[]:/") and name not in (".", "..")
)
SAVED = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@SAVED
@given(NAME, st.binary(max_size=20))
@example("a#b;c %23&ü {x}", b"1")
def test_every_name_is_taken_as_it_is(blobs: Blobs, name: str, payload: bytes) -> None:
    assume(len(name.encode("utf-8", "ignore")) < 200 and not name.endswith(".tmp"))
    assume(name.encode("utf-8", "replace").decode() == name)
    blobs.write(f"names/{name}", payload)
    assert blobs.read(f"names/{name}") == payload
    assert blobs.list("names") == [f"names/{name}"]
    blobs.delete("names")
    assert not blobs.exists(f"names/{name}")


def test_what_is_written_at_once_is_one_of_them_whole(blobs: Blobs) -> None:
    """Readers find the key all the time, with the bytes of one writer."""
    values = [bytes([number]) * 300_000 for number in range(4)]
    blobs.write("ann/value", values[0])

    def write(value: bytes) -> None:
        Blobs(blobs.root).write("ann/value", value)

    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write, value) for value in values * 3]
        while not all(each.done() for each in writers):
            if not blobs.root.startswith("memory"):
                assert blobs.read("ann/value") in values
    for each in writers:
        each.result()
    assert blobs.read("ann/value") in values
    assert blobs.list("ann") == ["ann/value"]


def test_of_two_folders_for_one_place_one_gets_it(blobs: Blobs) -> None:
    for number in range(4):
        blobs.write(f"ann/work-{number}/rows", str(number).encode())
    with ThreadPoolExecutor(4) as pool:
        moved = list(pool.map(lambda n: blobs.rename_folder(f"ann/work-{n}", "ann/done"), range(4)))
    if not blobs.root.startswith("memory"):
        assert sum(moved) == 1
        assert blobs.read("ann/done/rows") == str(moved.index(True)).encode()


def test_a_place_behind_the_end_of_a_file_has_no_bytes(blobs: Blobs) -> None:
    blobs.write("ann/a", b"0123456789")
    with blobs.open("ann/a") as file:
        assert file.seek(-4, os.SEEK_END) == 6
        assert file.read(2) == b"67"
        file.seek(20)
        assert file.read(5) == b""
        file.seek(0)
        assert file.read() == b"0123456789"


@given(st.text(max_size=20))
def test_a_key_never_leads_out_of_the_store(key: str) -> None:
    blobs = Blobs("memory://closed")
    parts = key.split("/")
    plain = all(part not in ("", ".", "..") for part in parts) and not set(key) & set("\\\0*?[]:")
    if plain:
        assert blobs.url(key) == f"memory://closed/{key}"
        return
    for call in (blobs.url, blobs.read, blobs.exists, blobs.delete, blobs.list):
        with pytest.raises(BadInput, match="plain relative path"):
            call(key)


OWNERS = st.from_regex(r"\A[a-z0-9][a-z0-9-]{0,30}\Z")
NAMES = st.from_regex(r"\A[a-z0-9][a-z0-9-]{0,40}\Z")
IDS = st.from_regex(r"\A[0-9a-f]{16}\Z")


@given(OWNERS, NAMES, IDS, NAMES, st.integers(-1, 99))
def test_every_key_begins_with_its_owner_and_is_taken_by_the_store(
    owner: str, dataset: str, identifier: str, name: str, index: int
) -> None:
    made = [
        keys.segment(owner, dataset, identifier),
        keys.version(owner, dataset, identifier),
        keys.features(owner, name),
        keys.intake(owner, identifier),
        keys.plan(owner, identifier),
        keys.result(owner, identifier, name, index),
        keys.trial(owner, identifier, name),
        keys.evaluation(owner, identifier),
        keys.bundle(owner, identifier),
    ]
    assert all(key.split("/")[0] == owner for key in made)
    assert len(set(made)) == len(made)
    blobs = Blobs("memory://keys")
    for key in made:
        blobs.url(key)


@given(IDS, NAMES, st.integers(0, 99), st.integers(0, 99))
def test_mapped_instances_have_results_of_their_own(
    build: str, step: str, one: int, other: int
) -> None:
    same = keys.result("ann", build, step, one) == keys.result("ann", build, step, other)
    assert same == (one == other)
    assert keys.result("ann", build, step, one) != keys.result("ann", build, step)


FORKS = """
import os
import subprocess
import sys
from orchard.blobs import Blobs

blobs = Blobs(sys.argv[1])
blobs.write("ann/a", b"1")
held = blobs.open("ann/a")
assert held.read() == b"1"
subprocess.run(["true"], check=True, preexec_fn=lambda: None)
child = os.fork()
if child == 0:
    assert blobs.read("ann/a") == b"1"
    blobs.write("ann/b", b"2")
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert blobs.read("ann/b") == b"2"
"""


def test_a_store_goes_with_a_process_that_forks(blobs: Blobs) -> None:
    """As Airflow's tasks, Spark's workers and every start of a program with `preexec_fn` do."""
    if blobs.root.startswith("memory"):
        pytest.skip("memory is a process's own")
    subprocess.run(
        [sys.executable, "-c", FORKS, blobs.root],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        check=True,
        timeout=300,
    )


WRITER = """
import sys
from orchard.blobs import Blobs

blobs = Blobs(sys.argv[1])
print("ready", flush=True)
number = 0
while True:
    number += 1
    with blobs.writing("ann/value") as file:
        for _ in range(64):
            file.write(bytes([number % 256]) * 16384)
"""


def test_a_writer_that_is_killed_leaves_the_old_or_the_new_whole(tmp_path: Path) -> None:
    blobs = Blobs(f"file://{tmp_path}")
    blobs.write("ann/value", b"\0" * 64 * 16384)
    for pause in (0.0, 0.03):
        writer = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(WRITER), blobs.root],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stdout=subprocess.PIPE,
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(pause)
        for _ in range(20):  # readers see a whole value all the time
            assert len(set(blobs.read("ann/value"))) == 1
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        value = blobs.read("ann/value")
        assert len(value) == 64 * 16384
        assert len(set(value)) == 1
        assert blobs.list("ann") == ["ann/value"]


def test_entries_show_also_what_is_not_complete_and_folders_are_weighed(blobs: Blobs) -> None:
    blobs.write("ann/a/one.bin", b"123")
    blobs.write("ann/a/b/two.bin", b"12345")
    blobs.write("ann/a/.half.tmp", b"1")
    found = blobs.entries("ann/a")
    assert [(each.key, each.is_folder) for each in found] == [
        ("ann/a/.half.tmp", False),
        ("ann/a/b", True),
        ("ann/a/one.bin", False),
    ]
    assert blobs.weigh("ann/a").bytes == 9
    assert blobs.weigh("ann/a/one.bin").bytes == 3
    age = datetime.now(UTC) - blobs.weigh("ann/a").modified
    assert abs(age.total_seconds()) < 60
    assert blobs.entries("ann/nowhere") == []
    with pytest.raises(NotFound):
        blobs.weigh("ann/nowhere")
