"""What an installation remembers: its ports, its secrets, and the file of settings."""

from __future__ import annotations

import json
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path

from cryptography.fernet import Fernet

from orchard.settings import SETTINGS_FILE

PREFERRED_PORTS = {
    "documents": 27017,
    "tracking": 5000,
    "service": 8500,
    "airflow": 8080,
    "airflow_logs": 8793,
}


@dataclass(frozen=True)
class Secrets:
    """Generated once, kept in a file that only the owner of the installation reads."""

    admin_password: str
    fernet_key: str
    api_secret_key: str
    jwt_secret: str


def load_secrets(home: Path) -> Secrets:
    """The installation's secrets, generated on the first call."""
    path = home / "secrets.json"
    if not path.exists():
        values = {
            "admin_password": secrets.token_urlsafe(12),
            "fernet_key": Fernet.generate_key().decode(),
            "api_secret_key": secrets.token_urlsafe(24),
            "jwt_secret": secrets.token_urlsafe(48),
        }
        write_private(path, json.dumps(values, indent=1))
    return Secrets(**json.loads(path.read_text()))


def load_ports(home: Path, running: set[str], *, fixed: bool = True) -> dict[str, int]:
    """The port of each server: the remembered one, or another where a stranger has it.

    Args:
        running: servers that are up; theirs stay as they are.
        fixed: prefer the usual ports at the first start; otherwise any that are free.
    """
    path = home / "ports.json"
    ports: dict[str, int] = json.loads(path.read_text()) if path.exists() else {}
    for server, preferred in PREFERRED_PORTS.items():
        if server in running and server in ports:
            continue
        wished = ports.get(server, preferred if fixed else 0)
        taken = set(ports.values()) - {ports.get(server, -1)}
        ports[server] = (
            wished if wished and wished not in taken and is_free(wished) else free_port(taken)
        )
    write_private(path, json.dumps(ports, indent=1))
    return ports


def is_free(port: int) -> bool:
    """Whether a server can listen on this port of the loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port(taken: set[int]) -> int:
    """A port that nobody listens on and that is not among those taken."""
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port not in taken:
            return port


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    temporary.touch(mode=0o600)
    temporary.write_text(text)
    temporary.replace(path)


def write_settings(home: Path, values: dict[str, str]) -> None:
    """Write the file from which every process of the installation reads its settings."""
    lines = [f"ORCHARD_{name.upper()}={_quoted(value)}" for name, value in sorted(values.items())]
    write_private(home / SETTINGS_FILE, "\n".join(lines) + "\n")


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
