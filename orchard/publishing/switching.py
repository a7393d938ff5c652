"""Switching an endpoint to other bundles without a gap, and back.

The new bundles are staged first: published beside the live ones with weight 0, so that every
process of the service loads and verifies them while the old ones answer. They get traffic only
after the check has passed. The deployment document is changed in between: it is the truth, and
what the service reads follows it, also when this process dies at any point and is repeated.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchard.blobs import Blobs
from orchard.catalog import deployments
from orchard.catalog.connection import Document, Documents
from orchard.errors import BadInput, OrchardError
from orchard.publishing import registry, tokens
from orchard.publishing.publisher import Publisher, publisher
from orchard.settings import settings

logger = logging.getLogger(__name__)

Check = Callable[[str], None]
"""Takes a token that the endpoint accepts while the check lasts; raises where a bundle is unfit."""


def go_live(
    documents: Documents,
    publishing: Publisher,
    owner: str,
    endpoint: str,
    *,
    project: str,
    task: str,
    bundles: list[dict[str, Any]],
    token_hashes: list[str] | None = None,
    check: Check | None = None,
) -> Document:
    """Stage bundles, check them on the live service, then give them the traffic.

    Args:
        bundles: list of {"bundle": hash, "weight": share}.
        token_hashes: for an endpoint that is new.
        check: called while the bundles are loaded but without traffic.

    Returns:
        the deployment's document as it is now.

    Raises:
        BundleRefused: a bundle did not load; what was live stays.
        whatever `check` raises; what was live stays.
    """
    current = deployments.find(documents, owner, endpoint)
    blank = {
        "endpoint": endpoint,
        "owner": owner,
        "project": project,
        "task": task,
        "revision": 0,
        "bundles": [],
        "previous": [],
        "settings": {},
        "token_hashes": [],
    }
    live = _view(current) if current is not None else blank
    token = secrets.token_urlsafe(32)
    try:
        digest = publishing.publish(_staged(live, bundles, task, tokens.hash_of(token)))
        publishing.wait_until_loaded(endpoint, digest)
        if check is not None:
            check(token)
    except BaseException:
        _unstage(publishing, live, current is None)
        raise
    document = deployments.switch(
        documents,
        owner,
        endpoint,
        project=project,
        task=task,
        bundles=bundles,
        token_hashes=token_hashes,
    )
    publishing.wait_until_loaded(endpoint, publishing.publish(_view(document)))
    return document


def rollback(documents: Documents, owner: str, endpoint: str) -> Document:
    """Make what was live before live again. Returns the deployment's document as it is then.

    MLflow's alias follows; where MLflow is away, the log says so and the endpoint has switched
    all the same.

    Raises:
        NotFound: there is no such endpoint.
        BadInput: nothing was live before.
        BundleRefused: the bundle before does not load any more; what is live stays.
    """
    current = deployments.get(documents, owner, endpoint)
    if not current["previous"]:
        raise BadInput(
            "There is nothing to go back to",
            value=endpoint,
            way_out="A second model must have been published at this endpoint",
        )
    blobs = Blobs(settings().blobs_root)
    document = go_live(
        documents,
        publisher(settings(), blobs),
        owner,
        endpoint,
        project=current["project"],
        task=current["task"],
        bundles=current["previous"],
    )
    champion = champion_of(document)
    try:
        models = registry.Registry(settings().tracking_uri)
        models.point_champion(registry.model_name(owner, document["project"]), champion)
    except OrchardError as error:
        logger.warning("MLflow's alias `champion` does not follow yet. %s", error)
    logger.info("The endpoint %s answers with bundle %s again", endpoint, champion)
    return document


def champion_of(deployment: Mapping[str, Any]) -> str:
    """The bundle with the most traffic."""
    return str(max(deployment["bundles"], key=lambda each: each["weight"])["bundle"])


def _view(document: Mapping[str, Any]) -> dict[str, Any]:
    return {**document, "endpoint": document["_id"]}


def _staged(
    live: Mapping[str, Any], bundles: Sequence[Mapping[str, Any]], task: str, token_hash: str
) -> dict[str, Any]:
    present = {each["bundle"] for each in live["bundles"]}
    added = [{"bundle": each["bundle"], "weight": 0} for each in bundles]
    return {
        **live,
        "task": task,
        "bundles": [*live["bundles"], *(each for each in added if each["bundle"] not in present)],
        "token_hashes": [*live["token_hashes"], token_hash],
    }


def _unstage(publishing: Publisher, live: Mapping[str, Any], new: bool) -> None:
    try:
        if new:
            publishing.withdraw(str(live["endpoint"]))
        else:
            publishing.publish(live)
    except OrchardError as error:
        logger.warning("What was staged could not be taken back. %s", error)
