"""Deployments: one document an endpoint, the one truth of what is live."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from orchard.catalog.connection import Document, Documents, translated
from orchard.errors import BadInput, NotFound, TryAgain


def find(documents: Documents, owner: str, endpoint: str) -> Document | None:
    """The deployment of an endpoint, or None. Endpoint names are one space for all owners."""
    with translated():
        found = documents.deployments.find_one({"_id": endpoint})
    if found is not None and found["owner"] != owner:
        raise BadInput(
            "This endpoint name is taken", value=endpoint, way_out="Choose another endpoint name"
        )
    return found


def get(documents: Documents, owner: str, endpoint: str) -> Document:
    """The deployment of an endpoint. Raises NotFound."""
    found = find(documents, owner, endpoint)
    if found is None:
        raise NotFound("There is no such endpoint", value=endpoint)
    return found


def of_project(documents: Documents, owner: str, project: str) -> list[Document]:
    """The deployments of all endpoints of a project."""
    with translated():
        return list(documents.deployments.find({"owner": owner, "project": project}).sort("_id", 1))


def switch(
    documents: Documents,
    owner: str,
    endpoint: str,
    *,
    project: str,
    task: str,
    bundles: list[dict[str, Any]],
    token_hashes: list[str] | None = None,
) -> Document:
    """Make a list of {"bundle": hash, "weight": share} live; what was live becomes `previous`.

    The same list again changes nothing, so a repeated step does not lose `previous`. The change is
    one atomic replacement of the document at the revision that was read; a lost race is TryAgain.
    """
    current = find(documents, owner, endpoint)
    if current is not None and current["bundles"] == bundles:
        return current
    document = {
        "_id": endpoint,
        "owner": owner,
        "project": project,
        "task": task,
        "revision": (current or {}).get("revision", 0) + 1,
        "bundles": bundles,
        "previous": (current or {}).get("bundles", []),
        "settings": (current or {}).get("settings", {}),
        "token_hashes": (current or {}).get("token_hashes", token_hashes or []),
        "changed": datetime.now(UTC),
    }
    with translated():
        if current is None:
            try:
                documents.deployments.insert_one(document)
            except DuplicateKeyError as error:
                raise TryAgain("Two runs made this endpoint at once", value=endpoint) from error
            return document
        replaced = documents.deployments.find_one_and_replace(
            {"_id": endpoint, "revision": current["revision"]},
            document,
            return_document=ReturnDocument.AFTER,
        )
    if replaced is None:
        raise TryAgain("Two runs changed this endpoint at once", value=endpoint)
    return replaced


def set_tokens(documents: Documents, owner: str, endpoint: str, token_hashes: list[str]) -> None:
    """Replace the hashes of the tokens that an endpoint takes."""
    get(documents, owner, endpoint)
    with translated():
        documents.deployments.update_one(
            {"_id": endpoint, "owner": owner},
            {"$set": {"token_hashes": token_hashes}, "$inc": {"revision": 1}},
        )
