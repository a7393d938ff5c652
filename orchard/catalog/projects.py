"""Projects: what a person works on; each has a task, a data set and a schedule for retraining."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from orchard.catalog.connection import Document, Documents, insert_once, translated
from orchard.errors import BadInput, NotFound

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")


def valid_name(name: str) -> str:
    """The name itself, or BadInput where it is not 1–41 lower-case letters, digits and dashes."""
    if not NAME.fullmatch(name):
        raise BadInput(
            "A name must be 1 to 41 lower-case letters, digits and dashes, a letter or digit first",
            value=name,
            way_out=f"Try {re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')[:40] or 'my-project'!r}",
        )
    return name


def ensure(documents: Documents, owner: str, project: str, task: str) -> Document:
    """The project's document, made where it is new. Raises BadInput where its task is another."""
    valid_name(project)
    with translated():
        found = insert_once(
            documents.projects,
            f"{owner}/{project}",
            {
                "owner": owner,
                "project": project,
                "task": task,
                "dataset": project,
                "created": datetime.now(UTC),
            },
        )
    if found["task"] != task:
        raise BadInput(
            f"The project {project!r} has the task {found['task']!r}",
            value=task,
            way_out="Use another project name, or the project's own task",
        )
    return found


def find(documents: Documents, owner: str, project: str) -> Document | None:
    """The project's document, or None."""
    with translated():
        return documents.projects.find_one({"_id": f"{owner}/{project}"})


def get(documents: Documents, owner: str, project: str) -> Document:
    """The project's document. Raises NotFound with the names that exist."""
    found = find(documents, owner, project)
    if found is None:
        with translated():
            names = [each["project"] for each in documents.projects.find({"owner": owner})]
            known = ", ".join(sorted(names)) or "none yet"
            raise NotFound("There is no such project", value=project, way_out=f"Known: {known}")
    return found


def every(documents: Documents) -> list[Document]:
    """All projects of all owners, sorted by name; for the scheduler of retraining."""
    with translated():
        return list(documents.projects.find({}).sort("_id", 1))


def set_fields(documents: Documents, owner: str, project: str, **fields: Any) -> None:
    """Record facts of a project."""
    with translated():
        documents.projects.update_one({"_id": f"{owner}/{project}"}, {"$set": fields})
