"""The servers of the local profile: command, environment and sign of life of each."""

from __future__ import annotations

import json
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from orchard.settings import REPOSITORY, Settings
from orchard.stack.state import Secrets

_BIN = Path(sys.executable).parent
_LOOPBACK = "127.0.0.1"
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Asks past a proxy of the environment, which cannot reach loopback."""


@dataclass(frozen=True)
class Server:
    """One server.

    Attributes:
        name: as it is shown and marked.
        command: what is started.
        alive: whether it answers now.
        address: where a person looks at it, "" where nobody does.
        environment: variables on top of the installation's.
    """

    name: str
    command: list[str]
    alive: Callable[[], bool]
    address: str = ""
    environment: dict[str, str] = field(default_factory=dict)


def servers(settings: Settings, ports: dict[str, int]) -> list[Server]:
    """All servers in the order in which they start."""
    home = settings.home
    airflow = f"http://{_LOOPBACK}:{ports['airflow']}"
    tracking = f"http://{_LOOPBACK}:{ports['tracking']}"
    service = f"http://{_LOOPBACK}:{ports['service']}"
    return [
        Server(
            "documents",
            [
                str(_BIN / "nx-27017"),
                *("--data-dir", str(home / "documents"), "--host", _LOOPBACK),
                *("-p", str(ports["documents"])),
                *("--pid-file", str(home / "run" / "documents.pid")),
                *("--log-file", str(home / "logs" / "documents-server.log")),
            ],
            lambda: _connects(ports["documents"]),
        ),
        Server(
            "tracking",
            [
                *(sys.executable, "-m", "mlflow", "server", "--host", _LOOPBACK),
                *("--port", str(ports["tracking"]), "--workers", "1"),
                *("--backend-store-uri", f"sqlite:///{home / 'mlflow' / 'mlflow.db'}"),
                *("--default-artifact-root", settings.artifacts_root, "--no-serve-artifacts"),
            ],
            lambda: _answers(f"{tracking}/health"),
            tracking,
        ),
        Server(
            "service",
            [sys.executable, "-m", "serving"],
            lambda: _answers(f"{service}/health"),
            f"{service}/docs",
        ),
        Server(
            "airflow-api",
            [
                str(_BIN / "airflow"),
                "api-server",
                "--host",
                _LOOPBACK,
                "--port",
                str(ports["airflow"]),
                "--workers",
                "1",
            ],
            lambda: _answers(f"{airflow}/api/v2/version"),
            airflow,
        ),
        Server(
            "airflow-scheduler",
            [str(_BIN / "airflow"), "scheduler"],
            lambda: _airflow_part(airflow, "scheduler"),
        ),
        Server(
            "airflow-dags",
            [str(_BIN / "airflow"), "dag-processor"],
            lambda: _airflow_part(airflow, "dag_processor"),
        ),
    ]


def airflow_environment(
    settings: Settings, ports: dict[str, int], secrets: Secrets
) -> dict[str, str]:
    """Airflow's configuration as variables."""
    home = settings.home / "airflow"
    url = f"http://{_LOOPBACK}:{ports['airflow']}"
    return {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(REPOSITORY / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(REPOSITORY / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": str(settings.airflow_parallelism),
        "AIRFLOW__CORE__FERNET_KEY": secrets.fernet_key,
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
        "AIRFLOW__CORE__KILLED_TASK_CLEANUP_TIME": "20",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
        "AIRFLOW__API__HOST": _LOOPBACK,
        "AIRFLOW__API__PORT": str(ports["airflow"]),
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__API__SECRET_KEY": secrets.api_secret_key,
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.jwt_secret,
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(home / "logs"),
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(ports["airflow_logs"]),
        "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.2",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "60",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
        "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "30",
        "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "20",
        "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "1",
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "30",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "60",
    }


def write_airflow_password(settings: Settings, secrets: Secrets) -> None:
    """Seed the login of the Airflow UI."""
    from orchard.stack.state import write_private

    path = settings.home / "airflow" / "passwords.json"
    write_private(path, json.dumps({"admin": secrets.admin_password}))


def _connects(port: int) -> bool:
    try:
        with socket.create_connection((_LOOPBACK, port), timeout=2):
            return True
    except OSError:
        return False


def _answers(url: str) -> bool:
    try:
        with _DIRECT.open(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError, ValueError):
        return False


def _airflow_part(url: str, part: str) -> bool:
    try:
        with _DIRECT.open(f"{url}/api/v2/monitor/health", timeout=5) as answer:
            return bool(json.load(answer)[part]["status"] == "healthy")
    except (OSError, urllib.error.URLError, ValueError, KeyError, TypeError):
        return False
