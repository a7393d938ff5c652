"""Settings: variables first, then the installation's file, then the local profile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from orchard.settings import SETTINGS_FILE, Settings, settings
from orchard.stack.state import write_settings


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home without a stack, and no other variables."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"ORCHARD_{name.upper()}", raising=False)
    monkeypatch.setenv("ORCHARD_HOME", str(tmp_path))
    settings.cache_clear()
    yield tmp_path
    settings.cache_clear()


def test_the_default_is_the_local_profile_below_home(home: Path) -> None:
    found = settings()
    assert (found.job_runner, found.spark_runner, found.publisher) == ("process", "local", "folder")
    assert found.blobs_root == f"file://{home}/blobs"
    assert found.serving_root == home / "serving"
    assert found.artifacts_root == f"file://{home}/mlflow/artifacts"
    assert found.allowed_roots == (home / "imports",)
    assert found.allow_http is False


def test_the_installation_s_file_is_read_and_a_variable_is_stronger(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_settings(home, {"service_port": "8600", "airflow_url": "http://127.0.0.1:9999"})
    assert settings().service_port == 8600
    monkeypatch.setenv("ORCHARD_SERVICE_PORT", "8700")
    settings.cache_clear()
    assert settings().service_port == 8700
    assert settings().airflow_url == "http://127.0.0.1:9999"


@pytest.mark.parametrize("text", ["plain", "it's", "a b # c", "$HOME", 'say "x"', "a\\b"])
def test_any_text_survives_the_file(home: Path, text: str) -> None:
    write_settings(home, {"code_version": text})
    assert settings().code_version == text
    assert (home / SETTINGS_FILE).stat().st_mode & 0o077 == 0


def test_lists_are_json(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCHARD_IMPORT_ROOTS", '["/srv/a", "/srv/b"]')
    monkeypatch.setenv("ORCHARD_BLOBS_URI", "hdfs://names/orchard/")
    settings.cache_clear()
    assert settings().allowed_roots == (Path("/srv/a"), Path("/srv/b"))
    assert settings().blobs_root == "hdfs://names/orchard"


def test_a_relative_home_becomes_absolute(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setenv("ORCHARD_HOME", "below")
    settings.cache_clear()
    assert settings().home == home / "below"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("JOB_RUNNER", "robot"),
        ("OWNER", "Ann Lee"),
        ("SERVICE_PROCESSES", "0"),
        ("SEGMENT_BYTES", "-1"),
    ],
)
def test_a_wrong_value_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"ORCHARD_{name}", value)
    settings.cache_clear()
    with pytest.raises(ValidationError, match=name.lower()):
        settings()


def test_they_cannot_be_changed(home: Path) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        settings().service_port = 1
