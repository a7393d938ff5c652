"""Builds: one document a run of `build_model`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from orchard.catalog.connection import Document, Documents, insert_once, translated, with_times
from orchard.errors import BadInput, NotFound
from orchard.names import build_id_of

_TIMES = ("asked", "answered", "published")


def create(
    documents: Documents,
    owner: str,
    *,
    dag_id: str,
    run_id: str,
    project: str,
    parameters: dict[str, Any],
) -> Document:
    """The document of a run, made on the first call and returned unchanged on the next.

    `parameters`: task, data ({"kind": "folder"|"archive"|"uri"|"newest", "location": str}),
    minutes, objective ("accuracy"|"worst_class_recall"), approval ("person"|"floor"), floor,
    endpoint, dataset. Raises BadInput where the run is another owner's.
    """
    build_id = build_id_of(dag_id, run_id)
    with translated():
        found = insert_once(
            documents.builds,
            build_id,
            {
                "owner": owner,
                "project": project,
                "dag_id": dag_id,
                "run_id": run_id,
                "parameters": parameters,
                "created": datetime.now(UTC),
            },
        )
    if found["owner"] != owner:
        raise BadInput("This run is another owner's build", value=run_id)
    return with_times(found, *_TIMES)


def get(documents: Documents, owner: str, build_id: str) -> Document:
    """The document of a build. Raises NotFound."""
    with translated():
        found = documents.builds.find_one({"_id": build_id, "owner": owner})
    if found is None:
        raise NotFound("There is no such build", value=build_id)
    return with_times(found, *_TIMES)


def set_fields(documents: Documents, owner: str, build_id: str, **fields: Any) -> None:
    """Record facts of a build: version, plan, bundle, figures, addresses, …."""
    with translated():
        documents.builds.update_one({"_id": build_id, "owner": owner}, {"$set": fields})


def of_project(documents: Documents, owner: str, project: str) -> list[Document]:
    """All builds of a project, youngest first."""
    with translated():
        found = documents.builds.find({"owner": owner, "project": project})
        return sorted(found, key=lambda build: (build["created"], str(build["_id"])), reverse=True)


def newest(documents: Documents, owner: str, project: str) -> Document | None:
    """The youngest build of a project that was published, or else the youngest of all."""
    with translated():
        for query in ({"published": {"$exists": True}}, {}):
            found = documents.builds.find_one(
                {"owner": owner, "project": project, **query}, sort=[("created", -1)]
            )
            if found is not None:
                return with_times(found, *_TIMES)
    return None
