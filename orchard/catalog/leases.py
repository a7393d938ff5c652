"""Leases: one run at a time a project. Taken over when the holder's run has ended, never by age."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from pymongo.errors import DuplicateKeyError

from orchard.catalog.connection import Document, Documents, translated


def acquire(
    documents: Documents,
    owner: str,
    project: str,
    *,
    dag_id: str,
    run_id: str,
    has_ended: Callable[[str, str], bool],
) -> Document | None:
    """Take the project's lease for a run. None where this run has it now, else the holder.

    Args:
        has_ended: says of (dag_id, run_id) whether that run has ended, or is gone.
    """
    key = f"{owner}/{project}"
    mine: Document = {
        "_id": key,
        "owner": owner,
        "project": project,
        "dag_id": dag_id,
        "run_id": run_id,
        "since": datetime.now(UTC),
    }
    with translated():
        try:
            documents.leases.insert_one(mine)
            return None
        except DuplicateKeyError:
            holder = documents.leases.find_one({"_id": key})
        if holder is None:
            return mine
        if (holder["dag_id"], holder["run_id"]) == (dag_id, run_id):
            return None
        if not has_ended(holder["dag_id"], holder["run_id"]):
            return holder
        taken = documents.leases.find_one_and_replace(
            {"_id": key, "dag_id": holder["dag_id"], "run_id": holder["run_id"]}, mine
        )
        return None if taken is not None else documents.leases.find_one({"_id": key}) or mine


def holder(documents: Documents, owner: str, project: str) -> Document | None:
    """The lease of a project as it is now, or None."""
    with translated():
        return documents.leases.find_one({"_id": f"{owner}/{project}"})
