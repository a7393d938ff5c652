"""Finding a Java that Spark takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchard.errors import BadInput
from orchard.stack import java


def home(folder: Path, told: str, code: int = 0) -> Path:
    """A Java home whose `java -version` says that."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{told}' >&2\nexit {code}\n")
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("told", "taken"),
    [
        ('openjdk version "17.0.9" 2023-10-17', True),
        ('java version "21" 2023-09-19 LTS', True),
        ('openjdk version "11.0.21" 2023-10-17', False),
        ('java version "1.8.0_392"', False),
        ("command not found", False),
    ],
)
def test_version_17_or_later_is_taken(tmp_path: Path, told: str, taken: bool) -> None:
    found = java.java_home([home(tmp_path / "one", told)])
    assert found == (tmp_path / "one" if taken else None)


def test_the_first_that_fits_wins_and_what_is_none_is_passed_over(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    (broken / "bin").mkdir(parents=True)
    (broken / "bin" / "java").write_text("not a program")
    old = home(tmp_path / "old", 'version "11"')
    new = home(tmp_path / "new", 'version "17"')
    assert java.java_home([tmp_path / "none", broken, old, new]) == new
    assert java.require(new) == new


@pytest.mark.parametrize(("apt", "user"), [(None, 0), ("/usr/bin/apt-get", 1000)])
def test_where_it_cannot_be_installed_the_command_is_shown(
    monkeypatch: pytest.MonkeyPatch, apt: str | None, user: int
) -> None:
    monkeypatch.setattr(java, "_candidates", list)
    monkeypatch.setattr(java.shutil, "which", lambda name: apt)
    monkeypatch.setattr(java.os, "geteuid", lambda: user)
    with pytest.raises(BadInput, match="sudo apt-get install .*openjdk-17-jre-headless"):
        java.require(None)


def test_a_script_gets_the_home_or_the_command(
    orchard_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    found = home(tmp_path / "new", 'version "21"')
    monkeypatch.setattr(java, "_candidates", lambda: [found])
    assert java.main() == 0
    assert capsys.readouterr().out == f"{found}\n"
    monkeypatch.setattr(java, "_candidates", list)
    monkeypatch.setattr(java.os, "geteuid", lambda: 1000)
    assert java.main() == 64
    told = capsys.readouterr()
    assert told.out == ""
    assert "sudo apt-get install" in told.err
