"""The endpoints of one process: watches the serving folder and switches without a gap.

A changed `deployment.json` is read, its bundles are loaded and verified on the watcher's thread,
and only then the endpoint's entry is exchanged, in one assignment. Where a bundle does not load,
the old entry stays and the reason is kept for `/ready` and `/endpoints/…`. Token hashes are the
exception: they follow the file at once, so that a token that was withdrawn is refused even then.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orchard import deployment_file
from orchard.errors import BadInput, OrchardError
from orchard.inference import Model
from orchard.tasks.base import Limits
from serving.model import load

logger = logging.getLogger(__name__)

_POLL_SECONDS = 0.2
_RETRY_SECONDS = 5.0
_SPACE = 1 << 64


@dataclass(frozen=True)
class Deployment:
    """What is live at an endpoint in this process; never changed, only exchanged.

    Attributes:
        digest: 16 hexadecimal digits that name the content of `deployment.json`.
        shares: (weight, bundle hash) of the bundles that get traffic; weights sum to 1.
        models: loaded models by bundle hash, also those without traffic.
        error: why the newest `deployment.json` could not take its place; "" where it could.
        failed_digest: digest of that newest file; "" where `error` is.
    """

    endpoint: str
    task: str
    revision: int
    digest: str
    shares: tuple[tuple[float, str], ...]
    models: Mapping[str, Model]
    token_hashes: tuple[str, ...]
    error: str = ""
    failed_digest: str = ""

    def takes(self, token: str) -> bool:
        """Whether a token is one of this endpoint's; compared in constant time."""
        found = hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
        matches = [hmac.compare_digest(found, each) for each in self.token_hashes]
        return any(matches)

    def model_for(self, log_id: int) -> Model | None:
        """The model that answers a request: by weight, always the same for the same log id."""
        point = int.from_bytes(hashlib.sha256(str(log_id).encode()).digest()[:8], "big") / _SPACE
        for weight, name in self.shares:
            if point < weight:
                return self.models[name]
            point -= weight
        return self.models[self.shares[-1][1]] if self.shares else None


class Endpoints:
    """All endpoints of a serving folder.

    Args:
        root: the serving folder.
        changed: called on the watcher's thread after each look that changed something.
        limits: those of a request's sample.
    """

    def __init__(
        self,
        root: Path,
        changed: Callable[[Endpoints], None] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._root = root
        self._limits = limits
        self._changed = changed
        self._live: dict[str, Deployment] = {}
        self._seen: dict[str, tuple[int, int, int]] = {}
        self._retry: dict[str, float] = {}
        self._models: weakref.WeakValueDictionary[str, Model] = weakref.WeakValueDictionary()
        self._stop = threading.Event()
        self.looked = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="endpoints", daemon=True)

    def start(self) -> None:
        """Watch on a thread of its own; `looked` is set when all was loaded once."""
        self._thread.start()

    def stop(self) -> None:
        """End the watcher."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(5.0)

    def find(self, endpoint: str) -> Deployment | None:
        """What is live at an endpoint; None where there is none of this name."""
        return self._live.get(endpoint)

    def all(self) -> dict[str, Deployment]:
        """Every endpoint by name."""
        return dict(self._live)

    def look(self) -> bool:
        """Look at the folder once and follow what changed. Whether anything did."""
        names = self._names()
        gone = set(self._live) - set(names)
        for name in gone:
            logger.info("Endpoint %s is gone", name)
        if gone:
            self._live = {name: each for name, each in self._live.items() if name not in gone}
        for name in gone | (set(self._seen) - set(names)):
            self._seen.pop(name, None)
            self._retry.pop(name, None)
        changed = bool(gone)
        for name, stamp in names.items():
            due = self._retry.get(name, float("inf")) <= time.monotonic()
            if self._seen.get(name) != stamp or due:
                self._seen[name] = stamp
                self._follow(name)
                changed = True
        return changed

    def _names(self) -> dict[str, tuple[int, int, int]]:
        names: dict[str, tuple[int, int, int]] = {}
        try:
            for folder in sorted(self._root.iterdir()):
                try:
                    found = (folder / deployment_file.NAME).stat()
                except OSError:
                    continue
                names[folder.name] = (found.st_mtime_ns, found.st_ino, found.st_size)
        except OSError as error:
            logger.warning("The serving folder cannot be read: %s", error)
            return dict(self._seen)
        return names

    def _follow(self, name: str) -> None:
        self._retry.pop(name, None)
        current = self._live.get(name)
        digest = ""
        tokens = current.token_hashes if current else ()
        document: dict[str, Any] = {}
        try:
            content = (self._root / name / deployment_file.NAME).read_bytes()
            digest = deployment_file.digest_of(content)
            document = deployment_file.parse(content)
            tokens = tuple(document["token_hashes"])
            fresh = self._load(name, document, digest)
        except Exception as error:
            reason = str(error) if isinstance(error, OrchardError) else repr(error)
            logger.error("Endpoint %s stays as it is. %s", name, reason)
            self._retry[name] = time.monotonic() + _RETRY_SECONDS
            base = current or Deployment(
                name, str(document.get("task", "")), 0, "", (), {}, (), reason, digest
            )
            fresh = replace(base, token_hashes=tokens, error=reason, failed_digest=digest)
        else:
            logger.info(
                "Endpoint %s answers with revision %d: %s",
                name,
                fresh.revision,
                ", ".join(f"{share:.0%} {bundle}" for share, bundle in fresh.shares) or "nothing",
            )
        self._live = {**self._live, name: fresh}

    def _load(self, name: str, document: dict[str, Any], digest: str) -> Deployment:
        models: dict[str, Model] = {}
        shares: list[tuple[float, str]] = []
        total = sum(each["weight"] for each in document["bundles"])
        for each in document["bundles"]:
            bundle = each["bundle"]
            models[bundle] = self._model(name, bundle, document["task"])
            if each["weight"] > 0:
                shares.append((each["weight"] / total, bundle))
        return Deployment(
            endpoint=name,
            task=document["task"],
            revision=document["revision"],
            digest=digest,
            shares=tuple(shares),
            models=models,
            token_hashes=tuple(document["token_hashes"]),
        )

    def _model(self, endpoint: str, bundle: str, task: str) -> Model:
        model = self._models.get(bundle)
        if model is None:
            model = load(self._root / endpoint / "bundles" / bundle, bundle, self._limits)
            self._models[bundle] = model
        if model.task.name != task:
            raise BadInput(f"The bundle {bundle} is for another task", value=model.task.name)
        return model

    def _watch(self) -> None:
        while not self._stop.is_set():
            first = not self.looked.is_set()
            try:
                changed = self.look()
                self.looked.set()
                if (changed or first) and self._changed is not None:
                    self._changed(self)
            except Exception:
                logger.exception("The serving folder could not be followed")
            self._stop.wait(_POLL_SECONDS)
