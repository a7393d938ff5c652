"""What every step shares: arguments, exit code, result file, log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchard import program
from orchard.blobs import Blobs
from orchard.catalog import builds
from orchard.catalog.connection import documents
from orchard.errors import BadInput, NotFound, TryAgain
from orchard.program import Progress, Step, forget_result, read_result, run
from orchard.settings import settings


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A step sets up the log and a signal of its whole process; not of this one."""
    monkeypatch.setattr(program, "set_up_log", lambda: None)
    monkeypatch.setattr(program.signal, "signal", lambda *_: None)
    yield


@pytest.fixture
def build(orchard_home: Path) -> str:
    """A build's id."""
    document = builds.create(
        documents(),
        "local",
        dag_id="build_model",
        run_id="one",
        project="keys",
        parameters={"minutes": 3},
    )
    return str(document["_id"])


def left(build: str, index: int = -1) -> Any:
    """What the step `count` left."""
    return read_result(Blobs(settings().blobs_root), "local", build, "count", index)


def test_facts_are_left_and_summed_up(build: str, caplog: pytest.LogCaptureFixture) -> None:
    def body(step: Step) -> dict[str, Any]:
        assert (step.owner, step.project, step.build_id) == ("local", "keys", build)
        assert (step.name, step.index, step.attempt) == ("count", 2, 3)
        assert step.parameters == {"minutes": 3}
        return {"pictures": 4, "summary": "4 pictures"}

    with caplog.at_level(logging.INFO):
        assert run("count", body, ["--build", build, "--index", "2", "--attempt", "3"]) == 0
    record = left(build, 2)
    assert record["exit_code"] == 0
    assert record["facts"]["pictures"] == 4
    assert record["facts"]["seconds"] >= 0
    assert caplog.messages[-1].startswith("4 pictures — ")
    assert left(build) is None


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (BadInput("No pictures", value="/x", way_out="Bring some"), 64, "No pictures. Value: '/x'"),
        (TryAgain("The store is away"), 75, "The store is away."),
        (KeyError("colour"), 1, "KeyError: 'colour'"),
        (MemoryError(), 1, "MemoryError"),
    ],
)
def test_an_error_is_left_with_its_exit_code(
    build: str, error: Exception, code: int, said: str
) -> None:
    def body(step: Step) -> dict[str, Any]:
        raise error

    assert run("count", body, ["--build", build]) == code
    record = left(build)
    assert record["exit_code"] == code
    assert record["facts"]["error"].startswith(said)


def test_a_build_that_is_none_is_bad_input(orchard_home: Path) -> None:
    assert run("count", lambda step: {}, ["--build", "0" * 16]) == 64
    assert "no such build" in left("0" * 16)["facts"]["error"]


def test_another_owner_s_build_is_not_there(build: str) -> None:
    assert run("count", lambda step: {}, ["--build", build, "--owner", "bob"]) == 64


def test_a_signal_leaves_no_result(build: str) -> None:
    def body(step: Step) -> dict[str, Any]:
        raise SystemExit(143)

    with pytest.raises(SystemExit):
        run("count", body, ["--build", build])
    assert left(build) is None


def test_an_earlier_step_s_facts_are_at_hand(build: str) -> None:
    run("count", lambda step: {"pictures": 4}, ["--build", build])

    def body(step: Step) -> dict[str, Any]:
        with pytest.raises(NotFound):
            step.result_of("none")
        return {"twice": 2 * step.result_of("count")["pictures"]}

    assert run("double", body, ["--build", build]) == 0
    record = read_result(Blobs(settings().blobs_root), "local", build, "double")
    assert record["facts"]["twice"] == 8


def test_a_result_can_be_forgotten(build: str) -> None:
    run("count", lambda step: {}, ["--build", build])
    blobs = Blobs(settings().blobs_root)
    forget_result(blobs, "local", build, "count")
    assert left(build) is None
    forget_result(blobs, "local", build, "count")


def test_progress_says_how_far_how_fast_and_how_long(caplog: pytest.LogCaptureFixture) -> None:
    progress = Progress("pictures", total=2000, every_seconds=0)
    with caplog.at_level(logging.INFO):
        progress.advance(500)
    assert caplog.messages[0].startswith("500 of 2,000 pictures, ")
    assert caplog.messages[0].endswith("s left")
    progress.done = 1000
    assert progress.line(progress._started + 10) == (
        "1,000 of 2,000 pictures, 100.0 a second, 10 s left"
    )
    open_end = Progress("files")
    open_end.done = 50
    assert open_end.line(open_end._started + 10) == "50 files, 5 a second"


def test_progress_is_not_said_too_often(caplog: pytest.LogCaptureFixture) -> None:
    progress = Progress("pictures", total=10, every_seconds=60)
    with caplog.at_level(logging.INFO):
        for _ in range(10):
            progress.advance()
    assert caplog.messages == []
