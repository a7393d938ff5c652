"""The command line: help, JSON for scripts, exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchard.catalog import connection
from orchard.cli import verbs
from orchard.cli.main import main
from orchard.errors import BadInput, OrchardError, TryAgain
from orchard.settings import settings

VERBS = {
    "up": [],
    "down": [],
    "status": [],
    "clean": [],
    "demo": [],
    "import": ["/pictures", "keys"],
    "train": ["/pictures", "keys"],
    "predict": ["keys", "a.jpg"],
    "report": ["keys"],
    "rollback": ["keys"],
    "export": ["keys", "out.zip"],
    "token": ["keys"],
    "retrain": ["keys", "--samples", "5"],
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installation where nothing runs; its documents server does not answer."""
    monkeypatch.setenv("ORCHARD_HOME", str(tmp_path))
    monkeypatch.setenv("ORCHARD_DOCUMENTS_URI", "mongodb://127.0.0.1:1/?appname=away")
    monkeypatch.setattr(connection, "_WAIT_MILLISECONDS", 50)
    settings.cache_clear()
    yield tmp_path
    settings.cache_clear()


def test_every_verb_is_known_here(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    listed = {line.split()[0] for line in shown.splitlines() if line.startswith("    ")}
    assert listed - {"VERB"} >= set(VERBS)
    assert "0 done, 64 bad input, 75 try again" in shown


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_json(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert f"python -m orchard {verb}" in shown
    assert "--json" in shown


@pytest.mark.parametrize("arguments", [[], ["fly"], ["predict", "keys"], ["demo", "--count", "x"]])
def test_wrong_arguments_end_with_64(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 64
    told = capsys.readouterr()
    assert told.out == ""
    assert "usage:" in told.err
    assert "Error:" in told.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadInput("No such thing", value="x", way_out="Look again"), 64),
        (TryAgain("Away"), 75),
        (OrchardError("Broken"), 1),
    ],
)
def test_errors_have_their_exit_code_and_a_json_form(
    error: OrchardError,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(given: object) -> None:
        raise error

    monkeypatch.setattr(verbs, "report", fail)
    assert main(["report", "keys"]) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert f"Error: {error.headline}" in told.err
    assert main(["report", "keys", "--json"]) == code
    told = capsys.readouterr()
    assert json.loads(told.out) == {
        "error": error.headline,
        "value": error.value,
        "way_out": error.way_out,
    }
    assert told.err == ""


def test_an_interrupt_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(verbs, "report", interrupt)
    assert main(["report", "keys"]) == 130
    assert "goes on" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["predict", "report", "rollback", "export", "token", "retrain"])
def test_without_the_stack_a_verb_says_what_to_do(
    home: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, *VERBS[verb], "--json"]) == 75
    told = json.loads(capsys.readouterr().out)
    assert "does not answer" in told["error"]
    assert "make up" in told["way_out"]


def test_status_of_nothing_is_a_fault_for_people_and_a_list_for_scripts(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status"]) == 1
    assert "make up" in capsys.readouterr().err
    assert main(["status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_down_and_clean_of_nothing_are_done(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["down", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"ended": 0}
    (home / "rest").write_text("x")
    assert main(["clean", "--json"]) == 0
    assert not home.exists()


def test_retraining_is_switched_on_and_off(
    orchard_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from orchard.catalog import projects
    from orchard.catalog.connection import documents

    assert main(["retrain", "keys", "--samples", "5"]) == 64
    projects.ensure(documents(), "local", "keys", "image_classification")
    assert main(["retrain", "keys"]) == 64
    capsys.readouterr()
    assert main(["retrain", "keys", "--samples", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["retrain"]["minimum_samples"] == 5
    assert main(["retrain", "keys", "--off"]) == 0
    assert projects.get(documents(), "local", "keys")["retrain"] is None
