"""What each worker process has loaded, shared through one small file a process.

Any worker can so answer for all of them: a publisher that waits for a switch asks one address and
hears of every process.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from orchard.errors import BadInput
from orchard.names import SERVICE_PREFIX
from orchard.tasks import task
from serving.endpoints import Deployment, Endpoints


class Status:
    """The status files in a folder that the workers share.

    Args:
        folder: the shared folder.
        number: this worker's number among its siblings.
    """

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._own = folder / f"worker-{number}.json"

    def write(self, endpoints: Endpoints) -> None:
        """Tell the others what this process has."""
        value = {
            "process": os.getpid(),
            "endpoints": {name: describe(each) for name, each in endpoints.all().items()},
        }
        temporary = self._own.with_suffix(".tmp")
        temporary.write_text(json.dumps(value), encoding="utf-8")
        temporary.replace(self._own)

    def processes(self) -> list[dict[str, Any]]:
        """What every living worker has told, by its number."""
        found: list[dict[str, Any]] = []
        for path in sorted(self._folder.glob("worker-*.json")):
            try:
                value = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
            if _lives(int(value["process"])):
                found.append(value)
        return found

    def of_endpoint(self, endpoint: str) -> list[dict[str, Any]]:
        """One entry a living worker: what it has of an endpoint; "loaded" is [] where nothing."""
        return [
            {"process": each["process"], **each["endpoints"].get(endpoint, _NOTHING)}
            for each in self.processes()
        ]


_NOTHING: dict[str, Any] = {
    "path": "",
    "revision": 0,
    "digest": "",
    "bundles": [],
    "loaded": [],
    "error": "",
    "failed_digest": "",
}


def describe(deployment: Deployment) -> dict[str, Any]:
    """A deployment without its secrets."""
    return {
        "path": path_of(deployment),
        "revision": deployment.revision,
        "digest": deployment.digest,
        "bundles": [{"bundle": name, "weight": share} for share, name in deployment.shares],
        "loaded": sorted(deployment.models),
        "error": deployment.error,
        "failed_digest": deployment.failed_digest,
    }


def path_of(deployment: Deployment) -> str:
    """Path of an endpoint below the service's address; "" where its task is unknown here."""
    try:
        segment = task(deployment.task).service_segment
    except BadInput:
        return ""
    return f"{SERVICE_PREFIX}/{segment}/{deployment.endpoint}"


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
