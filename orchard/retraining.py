"""Which projects are due for another build, and with which run id."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from croniter import croniter

from orchard.catalog import builds, changes, projects
from orchard.catalog.connection import Document, Documents
from orchard.errors import BadInput, NotFound
from orchard.names import BUILD_DAG, NEWEST, build_id_of

DEFAULT_MARGIN = 0.005
"""How much better on the same test split a challenger must be, as a share."""


def switch_on(
    documents: Documents,
    owner: str,
    project: str,
    *,
    cron: str | None,
    minimum_samples: int | None,
    margin: float = DEFAULT_MARGIN,
) -> dict[str, Any]:
    """Have a project retrained on a schedule, on new data, or when both say so.

    Args:
        margin: as a share, 0 to 1.

    Raises BadInput for a cron expression that is none, where neither is given, or for a value out
    of its range.
    """
    projects.get(documents, owner, project)
    if cron is None and minimum_samples is None:
        raise BadInput(
            "Retraining needs a schedule or a least number of new samples",
            way_out="Give --cron '0 3 * * *', or --samples 50, or both",
        )
    if cron is not None and not croniter.is_valid(cron):
        raise BadInput("This is no cron expression", value=cron, way_out="Try '0 3 * * *'")
    if minimum_samples is not None and minimum_samples < 1:
        raise BadInput("The least number of new samples must be 1 or more", value=minimum_samples)
    if not 0 <= margin <= 1:
        raise BadInput(
            "The margin must be a share from 0 to 1",
            value=margin,
            way_out="Half a point in a hundred is 0.005",
        )
    retrain = {
        "cron": cron,
        "minimum_samples": minimum_samples,
        "margin": margin,
        "since": datetime.now(UTC),
    }
    projects.set_fields(documents, owner, project, retrain=retrain)
    return retrain


def switch_off(documents: Documents, owner: str, project: str) -> None:
    """End the retraining of a project."""
    projects.get(documents, owner, project)
    projects.set_fields(documents, owner, project, retrain=None)


def due(documents: Documents, now: datetime) -> tuple[list[dict[str, Any]], list[str]]:
    """The builds to start and one sentence a project about what was decided.

    A build is {"trigger_run_id", "conf"}. The run id is made of the project and of the time that was
    due, or of the newest change, so that a repeat is the same run and is refused; of one that has begun
    the sentence says so.
    """
    starts: list[dict[str, Any]] = []
    reasons: list[str] = []
    for project in projects.every(documents):
        if not project.get("retrain"):
            continue
        run_id, reason = _run_of(documents, project, now)
        if run_id and _has_begun(documents, project, run_id):
            reason += f"; the run {run_id} has begun for it, none is started"
            run_id = None
        reasons.append(f"{project['owner']}/{project['project']}: {reason}")
        if run_id:
            conf = _conf(documents, project)
            starts.append({"trigger_run_id": run_id, "conf": conf})
    return starts, reasons


def _run_of(documents: Documents, project: Document, now: datetime) -> tuple[str | None, str]:
    rule = project["retrain"]
    waiting = changes.pending(documents, project["owner"], project["project"])
    files = sum(int(change["files"]) for change in waiting)
    if not waiting:
        return None, "nothing new, nothing is started"
    minimum = rule.get("minimum_samples") or 1
    if files < minimum:
        return None, f"{files} new samples, {minimum} are asked for; nothing is started"
    name = f"retrain__{project['owner']}__{project['project']}"
    if rule.get("cron"):
        last = croniter(rule["cron"], now).get_prev(datetime)
        if last <= rule["since"]:
            following = croniter(rule["cron"], now).get_next(datetime)
            return None, f"{files} new samples; the schedule says {following:%Y-%m-%d %H:%M} UTC"
        return (
            f"{name}__{last:%Y%m%dT%H%M}",
            f"{files} new samples, due at {last:%Y-%m-%d %H:%M} UTC",
        )
    newest = str(waiting[-1]["_id"]).rsplit("/", 1)[1]
    return f"{name}__{newest}", f"{files} new samples, {minimum} were asked for"


def _has_begun(documents: Documents, project: Document, run_id: str) -> bool:
    """Whether a run has taken note of what it has to do, whatever came of it since."""
    try:
        builds.get(documents, project["owner"], build_id_of(BUILD_DAG, run_id))
    except NotFound:
        return False
    return True


def _conf(documents: Documents, project: Document) -> dict[str, Any]:
    """The form of the project's last build, on its newest data, against its champion."""
    last = builds.newest(documents, project["owner"], project["project"])
    before = (last or {}).get("parameters", {})
    return {
        "owner": project["owner"],
        "project": project["project"],
        "task": project["task"],
        "data": NEWEST,
        "minutes": before.get("minutes", 5),
        "objective": before.get("objective", "accuracy"),
        "approval": "champion",
        "margin": project["retrain"]["margin"],
        "endpoint": before.get("endpoint", project["project"]),
    }
