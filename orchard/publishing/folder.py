"""The publisher `folder`: one service reads one folder on a disk that both see."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchard import bundle as bundles
from orchard import deployment_file
from orchard.blobs import Blobs, keys
from orchard.errors import NotFound, OrchardError
from orchard.publishing.publisher import Publisher
from orchard.publishing.service import ServiceClient
from orchard.settings import Settings

logger = logging.getLogger(__name__)

_ABANDONED_SECONDS = 3600.0


class FolderPublisher(Publisher):
    """Writes `<serving folder>/<endpoint>/{deployment.json, bundles/}`, each part whole or not."""

    def __init__(self, settings: Settings, blobs: Blobs) -> None:
        self._root = settings.serving_root
        self._blobs = blobs
        self._client = ServiceClient(settings.service_url)

    def publish(self, deployment: Mapping[str, Any]) -> str:
        folder = self._root / str(deployment["endpoint"])
        needed = [str(each["bundle"]) for each in deployment["bundles"]]
        spare = [str(each["bundle"]) for each in deployment["previous"]]
        for name in needed:
            self._bring(str(deployment["owner"]), name, folder / "bundles" / name)
        for name in set(spare) - set(needed):
            with contextlib.suppress(NotFound):
                self._bring(str(deployment["owner"]), name, folder / "bundles" / name)
        content = deployment_file.text(deployment)
        _write(folder / deployment_file.NAME, content)
        _tidy(folder / "bundles", {*needed, *spare})
        return deployment_file.digest_of(content)

    def withdraw(self, endpoint: str) -> None:
        folder = self._root / endpoint
        with contextlib.suppress(FileNotFoundError):
            (folder / deployment_file.NAME).unlink()
        shutil.rmtree(folder, ignore_errors=True)

    def wait_until_loaded(self, endpoint: str, digest: str) -> None:
        self._client.wait_until_loaded(endpoint, digest)

    def address(self, endpoint: str, task: str) -> str:
        return self._client.address(endpoint, task)

    def _bring(self, owner: str, name: str, goal: Path) -> None:
        if goal.exists():
            try:
                bundles.read(goal, name)
                return
            except OrchardError as error:
                logger.warning("A copy of a bundle is damaged and is brought again. %s", error)
                shutil.rmtree(goal)
        self._blobs.download_folder(keys.bundle(owner, name), goal)
        bundles.read(goal, name)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _tidy(folder: Path, keep: set[str]) -> None:
    """Remove bundles that nobody needs; copies that are being made have a time to come to an end."""
    if not folder.exists():
        return
    for path in folder.iterdir():
        if path.name in keep:
            continue
        with contextlib.suppress(FileNotFoundError):
            young = time.time() - path.stat().st_mtime < _ABANDONED_SECONDS
            if path.name.startswith(".") and young:
                continue
            shutil.rmtree(path, ignore_errors=True)
