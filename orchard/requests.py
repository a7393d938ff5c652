"""From what a person filled in to the parameters of a build."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchard.catalog import changes, datasets, deployments, projects
from orchard.catalog.connection import Documents
from orchard.errors import BadInput
from orchard.names import NEWEST
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
    project = projects.ensure(documents, owner, str(form["project"]), str(form["task"]))
    endpoint = projects.valid_name(str(form.get("endpoint") or project["project"]))
    deployed = deployments.find(documents, owner, endpoint)
    if deployed is not None and deployed["project"] != project["project"]:
        raise BadInput(
            f"The endpoint belongs to the project {deployed['project']!r}",
            value=endpoint,
            way_out="Choose another endpoint name",
        )
    data = data_of(str(form["data"]).strip())
    if (
        data["kind"] == NEWEST
        and datasets.newest_version(documents, owner, project["dataset"]) is None
    ) and not changes.pending(documents, owner, project["project"]):
        raise BadInput(
            "The project has no data yet, so there is no newest version to train on",
            value=project["project"],
            way_out="Name a folder, an archive or an address in the field `data`",
        )
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


def data_of(location: str) -> dict[str, str]:
    """Where the data are, as kind and location."""
    if location == NEWEST:
        return {"kind": NEWEST, "location": ""}
    if "://" in location:
        return {"kind": "uri", "location": location}
    kind = "folder" if Path(location).is_dir() else "archive"
    return {"kind": kind, "location": location}
