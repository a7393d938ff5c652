"""What came out: a project's last published build, in figures."""

from __future__ import annotations

from typing import Any

from orchard.blobs import Blobs, keys
from orchard.catalog import builds, projects
from orchard.catalog.connection import documents
from orchard.errors import NotFound
from orchard.program import read_result
from orchard.settings import settings


def report(project: str, build_id: str | None = None) -> dict[str, Any]:
    """Figures of a build; by default of the last that was published, or else of the last one.

    Always has `task`, `data_version`, `test_samples`, `accuracy`, `macro_f1`, `seconds` (trigger to
    answering, the wait for a person left out; None before that), `endpoint` and `bundle` where the
    build came that far; further figures of the task beside them.
    """
    owner = settings().owner
    known = projects.get(documents(), owner, project)
    if build_id is None:
        build = builds.newest(documents(), owner, project)
    else:
        build = builds.get(documents(), owner, build_id)
    if build is None:
        raise NotFound("The project has no build yet", value=project)
    blobs = Blobs(settings().blobs_root)
    facts = {
        step: (read_result(blobs, owner, build["_id"], step) or {}).get("facts", {})
        for step in ("check", "select", "evaluate", "publish")
    }
    return {
        "project": project,
        "task": known["task"],
        "build": build["_id"],
        "run_id": build["run_id"],
        "data_version": facts["check"].get("version"),
        "bundle": facts["select"].get("bundle"),
        "branch": facts["select"].get("branch"),
        **facts["evaluate"].get("metrics", {}),
        "champion": facts["evaluate"].get("champion"),
        "seconds": _seconds(build),
        "endpoint": facts["publish"].get("endpoint"),
        "report": blobs.url(keys.evaluation(owner, build["_id"]) + "/report.html"),
    }


def _seconds(build: dict[str, Any]) -> float | None:
    if "published" not in build:
        return None
    seconds = (build["published"] - build["created"]).total_seconds()
    if "asked" in build and "answered" in build:
        seconds -= (build["answered"] - build["asked"]).total_seconds()
    return round(float(seconds), 1)
