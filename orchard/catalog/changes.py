"""Changes that wait for the next version of a data set: data that were brought, labels, removals."""

from __future__ import annotations

from datetime import UTC, datetime

from orchard.catalog.connection import Document, Documents, insert_once, translated


def add(
    documents: Documents, owner: str, project: str, *, change_id: str, location: str, files: int
) -> None:
    """Note that data lie ready at a location. The same change again is the same document."""
    with translated():
        insert_once(
            documents.changes,
            f"{owner}/{project}/{change_id}",
            {
                "owner": owner,
                "project": project,
                "kind": "add",
                "location": location,
                "files": files,
                "created": datetime.now(UTC),
                "version": None,
            },
        )


def pending(documents: Documents, owner: str, project: str) -> list[Document]:
    """Changes that no version holds yet, oldest first."""
    with translated():
        found = documents.changes.find({"owner": owner, "project": project, "version": None})
        return sorted(found, key=lambda change: (change["created"], str(change["_id"])))


def pending_of_all(documents: Documents) -> list[Document]:
    """The same of all projects of all owners."""
    with translated():
        return list(documents.changes.find({"version": None}).sort("_id", 1))


def settle(documents: Documents, owner: str, change_ids: list[str], version: str) -> None:
    """Note which version holds these changes."""
    with translated():
        for change_id in change_ids:
            documents.changes.update_one(
                {"_id": change_id, "owner": owner}, {"$set": {"version": version}}
            )
