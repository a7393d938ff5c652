"""What an installation remembers: ports and secrets."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from orchard.stack import state


@pytest.fixture(autouse=True)
def preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    """Preferred ports that are free now, so that other installations do not matter."""
    ports: dict[str, int] = {}
    for name in ("documents", "tracking", "airflow"):
        ports[name] = state.free_port(set(ports.values()))
    monkeypatch.setattr(state, "PREFERRED_PORTS", ports)


def listener(port: int) -> socket.socket:
    """A stranger's server."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    made.listen()
    return made


def test_the_preferred_ports_are_taken_and_remembered(tmp_path: Path) -> None:
    ports = state.load_ports(tmp_path, set())
    assert ports == state.PREFERRED_PORTS
    assert json.loads((tmp_path / "ports.json").read_text()) == ports
    assert state.load_ports(tmp_path, set()) == ports


def test_a_port_in_use_leads_to_another_that_is_remembered(tmp_path: Path) -> None:
    with listener(state.PREFERRED_PORTS["tracking"]):
        ports = state.load_ports(tmp_path, set())
        assert ports["tracking"] != state.PREFERRED_PORTS["tracking"]
        assert ports["documents"] == state.PREFERRED_PORTS["documents"]
        assert len(set(ports.values())) == len(ports)
    assert state.load_ports(tmp_path, set()) == ports  # also when the stranger has gone


def test_the_port_of_a_server_that_runs_stays(tmp_path: Path) -> None:
    ports = state.load_ports(tmp_path, set())
    with listener(ports["documents"]):
        assert state.load_ports(tmp_path, {"documents"}) == ports
        moved = state.load_ports(tmp_path, set())
        assert moved["documents"] != ports["documents"]
        assert moved["airflow"] == ports["airflow"]


def test_secrets_are_made_once_and_private(tmp_path: Path) -> None:
    first = state.load_secrets(tmp_path)
    assert state.load_secrets(tmp_path) == first
    assert state.load_secrets(tmp_path / "other") != first
    assert (tmp_path / "secrets.json").stat().st_mode & 0o077 == 0
    assert len(first.admin_password) >= 12
    assert len(first.jwt_secret) >= 32


def test_a_private_file_is_private_although_a_part_of_it_was_left(tmp_path: Path) -> None:
    (tmp_path / "a.new").write_text("left by a killed process")
    (tmp_path / "a.new").chmod(0o644)
    state.write_private(tmp_path / "a.json", "text")
    assert (tmp_path / "a.json").read_text() == "text"
    assert (tmp_path / "a.json").stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
