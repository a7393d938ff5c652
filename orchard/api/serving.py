"""What a person does with an endpoint that is live: go back, or change its token."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchard import publishing
from orchard.blobs import Blobs
from orchard.catalog import deployments
from orchard.catalog.connection import documents
from orchard.publishing import tokens
from orchard.publishing.switching import champion_of
from orchard.settings import settings


def rollback(endpoint: str) -> dict[str, Any]:
    """Bring back what was live before. Returns {"endpoint", "bundle", "revision"}.

    Raises NotFound, or BadInput where nothing was live before.
    """
    document = publishing.rollback(documents(), settings().owner, endpoint)
    return {
        "endpoint": endpoint,
        "bundle": champion_of(document),
        "revision": document["revision"],
    }


def new_token(endpoint: str) -> Path:
    """Make a token that replaces all earlier ones. Returns the private file that holds it."""
    owner = settings().owner
    deployments.get(documents(), owner, endpoint)
    path = tokens.path_of(settings().home, endpoint)
    path.unlink(missing_ok=True)
    token = tokens.ensure(settings().home, endpoint)
    deployments.set_tokens(documents(), owner, endpoint, [tokens.hash_of(token)])
    document = deployments.get(documents(), owner, endpoint)
    publisher = publishing.publisher(settings(), Blobs(settings().blobs_root))
    publisher.publish({**document, "endpoint": endpoint})
    return path
