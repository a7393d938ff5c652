"""From what a person filled in to the parameters of a build."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchard.catalog import changes, datasets, deployments, projects
from orchard.catalog.connection import Documents
from orchard.errors import BadInput
from orchard.names import NEWEST
from orchard.sources.locate import refuse_login
from orchard.tasks import task_names


def parameters_of(documents: Documents, owner: str, form: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a build, complete and checked against what exists.

    Raises:
        BadInput: the project has another task, nothing to learn from, or a name that is taken.
    """
    if str(form["task"]) not in task_names():
        raise BadInput(
            "There is no such task",
            value=form["task"],
            way_out=f"Choose one of {', '.join(task_names())}",
        )
    name = projects.valid_name(str(form["project"]))
    endpoint = projects.valid_name(str(form.get("endpoint") or name))
    deployed = deployments.find(documents, owner, endpoint)
    if deployed is not None and deployed["project"] != name:
        raise BadInput(
            f"The endpoint belongs to the project {deployed['project']!r}",
            value=endpoint,
            way_out="Choose another endpoint name",
        )
    data = data_of(str(form["data"]).strip())
    if data["kind"] == NEWEST and not _has_data(documents, owner, name):
        raise BadInput(
            "The project has no data yet, so there is no newest version to train on",
            value=name,
            way_out="Name a folder, an archive or an address in the field `data`",
        )
    project = projects.ensure(documents, owner, name, str(form["task"]))
    return {
        "project": project["project"],
        "dataset": project["dataset"],
        "task": project["task"],
        "data": data,
        "minutes": int(form.get("minutes") or 5),
        "objective": str(form.get("objective") or "accuracy"),
        "approval": str(form.get("approval") or "person"),
        "floor": float(form.get("floor") or 0.0),
        "margin": float(form.get("margin") or 0.0),
        "wait_hours": float(form.get("wait_hours") or 72),
        "endpoint": endpoint,
    }


def _has_data(documents: Documents, owner: str, project: str) -> bool:
    """Whether a version exists or data wait for one."""
    known = projects.find(documents, owner, project)
    return known is not None and (
        datasets.newest_version(documents, owner, known["dataset"]) is not None
        or bool(changes.pending(documents, owner, project))
    )


def data_of(location: str) -> dict[str, str]:
    """Where the data are, as kind and location. Raises BadInput for an address with a login in it."""
    if location == NEWEST:
        return {"kind": NEWEST, "location": ""}
    if "://" in location:
        refuse_login(location)  # before it is kept anywhere
        return {"kind": "uri", "location": location}
    kind = "folder" if Path(location).is_dir() else "archive"
    return {"kind": kind, "location": location}
