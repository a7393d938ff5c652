"""What puts deployments before the prediction service, by name of the settings."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from orchard.blobs import Blobs
from orchard.errors import OrchardError
from orchard.settings import Settings

_PUBLISHERS = {"folder": "orchard.publishing.folder:FolderPublisher"}


class Publisher(ABC):
    """Makes the prediction service follow a deployment.

    All methods may be repeated; a repetition changes nothing.
    """

    @abstractmethod
    def publish(self, deployment: Mapping[str, Any]) -> str:
        """Hand a deployment with its bundles over.

        Args:
            deployment: the fields of `orchard.deployment_file`.

        Returns:
            the digest of the deployment, which the service reports when it has loaded it.

        Raises:
            NotFound: a bundle that gets traffic, or is staged, is not in the store.
        """

    @abstractmethod
    def withdraw(self, endpoint: str) -> None:
        """Take an endpoint out of service."""

    @abstractmethod
    def wait_until_loaded(self, endpoint: str, digest: str) -> None:
        """Return when every process of the service answers with this deployment.

        Raises:
            BundleRefused: a process could not load it; it goes on with what it had.
            TryAgain: the service does not answer, or not in time.
        """

    @abstractmethod
    def address(self, endpoint: str, task: str) -> str:
        """Where the endpoint is asked."""


class BundleRefused(OrchardError):
    """The service could not load or verify a bundle."""


def publisher(settings: Settings, blobs: Blobs) -> Publisher:
    """The publisher that the settings name. Raises OrchardError where it is not installed."""
    place = _PUBLISHERS.get(settings.publisher)
    if place is None:
        raise OrchardError(
            "This publisher is not part of this installation",
            value=settings.publisher,
            way_out=f"Set ORCHARD_PUBLISHER to one of {', '.join(sorted(_PUBLISHERS))}",
        )
    module, _, name = place.partition(":")
    made: Publisher = getattr(importlib.import_module(module), name)(settings, blobs)
    return made
