"""The checkpoint of a training in the store of blobs, so that another machine can go on from it."""

from __future__ import annotations

import logging
from pathlib import Path

from orchard.blobs import Blobs
from orchard.errors import NotFound
from trainers.training.trainer import CHECKPOINT

logger = logging.getLogger(__name__)


class StoredCheckpoint:
    """Carries the checkpoint of a local folder to the store after each epoch, and back.

    Attributes:
        path: of the local file.
    """

    def __init__(self, blobs: Blobs, key: str, folder: Path) -> None:
        self._blobs, self._key, self.path = blobs, key, folder / CHECKPOINT
        self._stored = 0.0

    def fetch(self) -> None:
        """Put the stored checkpoint, if any, where training looks for it."""
        try:
            payload = self._blobs.read(self._key)
        except NotFound:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(payload)
        logger.info("an earlier try left a checkpoint; training goes on from it")

    def store(self) -> None:
        """Store the newest checkpoint where it is not yet stored."""
        if self.path.is_file() and self.path.stat().st_mtime_ns != self._stored:
            self._stored = self.path.stat().st_mtime_ns
            self._blobs.write(self._key, self.path.read_bytes())
