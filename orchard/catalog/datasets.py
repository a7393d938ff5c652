"""Data sets and their versions. A version is immutable; its document holds hash and counts."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from typing import Any

from pymongo.errors import DuplicateKeyError

from orchard.catalog.connection import Document, Documents, insert_once, translated
from orchard.errors import NotFound


def commit_version(
    documents: Documents,
    owner: str,
    *,
    project: str,
    dataset: str,
    version: str,
    parent: str | None,
    build_id: str,
    summary: dict[str, Any],
) -> Document:
    """Make a version the newest of its data set, where its parent is the newest until then.

    The same version again changes nothing, so a build that is repeated after others went on does
    not bring its version to the front again.

    `version` is the hash of its manifest (16 hexadecimal digits). Readers see the version only
    by this document, so what lies in the store before is invisible.
    """
    key = f"{owner}/{dataset}/{version}"
    now = datetime.now(UTC)
    with translated():
        with contextlib.suppress(DuplicateKeyError):
            documents.versions.insert_one(
                {
                    "_id": key,
                    "owner": owner,
                    "project": project,
                    "dataset": dataset,
                    "version": version,
                    "parent": parent,
                    "build_id": build_id,
                    "summary": summary,
                    "created": now,
                }
            )
        insert_once(
            documents.datasets,
            f"{owner}/{dataset}",
            {"owner": owner, "project": project, "dataset": dataset, "newest": parent},
        )
        documents.datasets.update_one(
            {"_id": f"{owner}/{dataset}", "newest": parent},
            {"$set": {"newest": version, "changed": now}},
        )
        found = documents.versions.find_one({"_id": key})
    assert found is not None
    return found


def get_version(documents: Documents, owner: str, dataset: str, version: str) -> Document:
    """The document of a version. Raises NotFound."""
    with translated():
        found = documents.versions.find_one({"_id": f"{owner}/{dataset}/{version}"})
    if found is None:
        raise NotFound("There is no such data set version", value=f"{dataset} {version}")
    return found


def versions(documents: Documents, owner: str, dataset: str) -> list[Document]:
    """The documents of all versions of a data set, oldest first."""
    with translated():
        found = list(documents.versions.find({"owner": owner, "dataset": dataset}))
    return sorted(found, key=lambda version: (version["created"], str(version["_id"])))


def forget_version(documents: Documents, owner: str, dataset: str, version: str) -> None:
    """Remove the document of a version, which nobody sees from then on."""
    with translated():
        documents.versions.delete_one({"_id": f"{owner}/{dataset}/{version}", "owner": owner})


def newest_version(documents: Documents, owner: str, dataset: str) -> Document | None:
    """The document of the newest version, or None where nothing was committed yet."""
    with translated():
        dataset_document = documents.datasets.find_one({"_id": f"{owner}/{dataset}"})
    if dataset_document is None or dataset_document.get("newest") is None:
        return None
    return get_version(documents, owner, dataset, dataset_document["newest"])
