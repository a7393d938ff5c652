"""Runs in MLflow: one a build, below it one a branch, below that one a good candidate.

Runs are found by tags, so that a step that is repeated finds its run and does not make another.
Artifacts go straight to the store, past the server.
"""

from __future__ import annotations

import functools
import json
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

from orchard import mlflow_api
from orchard.blobs import Blobs
from orchard.program import Step
from orchard.settings import settings

BUILD_TAG = "orchard.build_id"
KIND_TAG = "orchard.kind"
BRANCH_TAG = "orchard.branch"
CANDIDATE_TAG = "orchard.candidate"
BUNDLE_TAG = "orchard.bundle"
PARENT_TAG = "mlflow.parentRunId"
NAME_TAG = "mlflow.runName"
NOT_REPRODUCIBLE_TAG = "orchard.not_reproducible"

_METRICS_A_CALL = 1000
_PARAMETERS_A_CALL = 100


def parent_run(step: Step) -> str:
    """The id of the build's run, made on the first call. Raises TryAgain where MLflow is away."""
    return build_run(step.owner, step.project, step.build_id, str(step.build.get("run_id", "")))


def build_run(owner: str, project: str, build_id: str, run_id: str = "") -> str:
    """The id of a build's run, in the experiment `owner/project`; made on the first call.

    Of two made at the same moment the older stays.
    """
    experiment = _experiment(f"{owner}/{project}")
    wanted = {BUILD_TAG: build_id, KIND_TAG: "build"}
    found = _find(experiment, wanted)
    if not found:
        made = _create(experiment, {**wanted, NAME_TAG: run_id or build_id})
        found = _find(experiment, wanted)
        if found and found[0] != made:
            _call("POST", "runs/delete", {"run_id": made})
    return found[0]


def log_trial(
    step: Step,
    parent: str,
    branch: Mapping[str, Any],
    facts: Mapping[str, Any],
    candidates: Sequence[Mapping[str, Any]],
) -> str:
    """The run of a branch below the build's run, with one below it for each good candidate.

    A finished run of the same bundle is left as it is; one that was interrupted is made anew.

    Args:
        branch: of the plan.
        facts: of the trial: bundle, validation, seconds, memory_mb, ….
        candidates: `parameters`, `points` (each with "epoch"), `best`, `reason`, `candidate`, … of
            the best candidates.

    Returns:
        The id of the branch's run.
    """
    experiment = _experiment(f"{step.owner}/{step.project}")
    tags = {BUILD_TAG: step.build_id, KIND_TAG: "branch", BRANCH_TAG: str(branch["key"])}
    for old in _find(experiment, tags):
        if _is_finished(old, str(facts["bundle"])):
            return old
        for child in _find(experiment, {PARENT_TAG: old}):
            _call("POST", "runs/delete", {"run_id": child})
        _call("POST", "runs/delete", {"run_id": old})
    run = _create(
        experiment,
        {
            **tags,
            PARENT_TAG: parent,
            NAME_TAG: str(branch["title"]),
            BUNDLE_TAG: str(facts["bundle"]),
            NOT_REPRODUCIBLE_TAG: "" if facts.get("reproducible", True) else "true",
            "stop_reason": str(facts.get("stop_reason", "")),
        },
    )
    named = ("backbone", "size", "fit", "pixels", "mode", "views", "work")
    parameters = {name: branch[name] for name in named if name in branch}
    log_parameters(run, {**parameters, "winner": facts.get("winner", {})})
    log_metrics(run, {**_numbers(facts), **_numbers(facts["validation"])})
    for candidate in candidates:
        _log_candidate(experiment, run, tags, candidate)
    _finish(run)
    return run


def log_metrics(run_id: str, values: Mapping[str, Any]) -> None:
    """Figures of a run; what is not a finite number is left out."""
    now = int(time.time() * 1000)
    _log_points(run_id, [(k, v, now, 0) for k, v in _numbers(values).items()])


def log_parameters(run_id: str, values: Mapping[str, Any]) -> None:
    """Parameters of a run, as text of at most 6000 characters each."""
    pairs = [
        {"key": key, "value": (value if isinstance(value, str) else json.dumps(value))[:6000]}
        for key, value in sorted(values.items())
    ]
    for start in range(0, len(pairs), _PARAMETERS_A_CALL):
        part = pairs[start : start + _PARAMETERS_A_CALL]
        _call("POST", "runs/log-batch", {"run_id": run_id, "params": part})


def log_artifact_bytes(run_id: str, name: str, payload: bytes) -> None:
    """Store bytes among a run's artifacts, under a relative name."""
    Blobs(_run(run_id)["artifact_uri"].rstrip("/")).write(name, payload)


def run_url(run_id: str) -> str:
    """Address of a run's page."""
    base = settings().tracking_uri.rstrip("/")
    return f"{base}/#/experiments/{_run(run_id)['experiment_id']}/runs/{run_id}"


def artifact_url(run_id: str, name: str) -> str:
    """Address of an artifact on its run's page."""
    return f"{run_url(run_id)}/artifacts/{urllib.parse.quote(name)}"


def _log_candidate(
    experiment: str, run: str, tags: Mapping[str, str], candidate: Mapping[str, Any]
) -> None:
    child = _create(
        experiment,
        {
            **tags,
            KIND_TAG: "candidate",
            PARENT_TAG: run,
            CANDIDATE_TAG: str(candidate["candidate"]),
            NAME_TAG: f"candidate {candidate['candidate']}",
            "stop_reason": str(candidate["reason"]),
            "stopped_early": str(bool(candidate["stopped_early"])).lower(),
            "in_winner": str(bool(candidate["member"])).lower(),
        },
    )
    log_parameters(child, candidate["parameters"])
    now = int(time.time() * 1000)
    points = [
        (name, value, now, int(point["epoch"]))
        for point in candidate["points"]
        for name, value in _numbers(point).items()
        if name != "epoch"
    ]
    best = {f"best_{name}": value for name, value in _numbers(candidate["best"]).items()}
    best["best_epoch"] = float(candidate["best_epoch"])
    _log_points(child, points + [(name, value, now, 0) for name, value in best.items()])
    _finish(child)


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {
        str(key): float(value)
        for key, value in values.items()
        if isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(float(value)) < float("inf")
    }


def _log_points(run_id: str, points: Sequence[tuple[str, float, int, int]]) -> None:
    metrics = [
        {"key": key, "value": value, "timestamp": moment, "step": step}
        for key, value, moment, step in points
    ]
    for start in range(0, len(metrics), _METRICS_A_CALL):
        part = metrics[start : start + _METRICS_A_CALL]
        _call("POST", "runs/log-batch", {"run_id": run_id, "metrics": part})


@functools.lru_cache(maxsize=64)
def _experiment_of(tracking_uri: str, name: str) -> str:
    try:
        found = _call("GET", "experiments/get-by-name", {"experiment_name": name})
        return str(found["experiment"]["experiment_id"])
    except mlflow_api.Refused as error:
        if error.code != mlflow_api.MISSING:
            raise
    try:
        return str(_call("POST", "experiments/create", {"name": name})["experiment_id"])
    except mlflow_api.Refused as error:
        if error.code != mlflow_api.EXISTS:
            raise
    found = _call("GET", "experiments/get-by-name", {"experiment_name": name})
    return str(found["experiment"]["experiment_id"])


def _experiment(name: str) -> str:
    return _experiment_of(settings().tracking_uri, name)


def _create(experiment: str, tags: Mapping[str, str]) -> str:
    made = _call(
        "POST",
        "runs/create",
        {
            "experiment_id": experiment,
            "start_time": int(time.time() * 1000),
            "run_name": tags.get(NAME_TAG, ""),
            "tags": [{"key": k, "value": v[:5000]} for k, v in sorted(tags.items()) if v],
        },
    )
    return str(made["run"]["info"]["run_id"])


def _finish(run_id: str) -> None:
    now = int(time.time() * 1000)
    _call("POST", "runs/update", {"run_id": run_id, "status": "FINISHED", "end_time": now})


def _find(experiment: str, tags: Mapping[str, str]) -> list[str]:
    """Ids of the runs with these tags, the oldest first."""
    terms = [f"tags.`{key}` = '{_quoted(value)}'" for key, value in sorted(tags.items())]
    answer = _call(
        "POST",
        "runs/search",
        {
            "experiment_ids": [experiment],
            "filter": " and ".join(terms),
            "order_by": ["attributes.start_time ASC", "attributes.run_id ASC"],
            "max_results": 1000,
        },
    )
    return [str(run["info"]["run_id"]) for run in answer.get("runs", [])]


def _quoted(value: str) -> str:
    return value.replace("'", "''")


def _is_finished(run_id: str, bundle: str) -> bool:
    run = _call("GET", "runs/get", {"run_id": run_id})["run"]
    tags = {tag["key"]: tag.get("value", "") for tag in run["data"].get("tags", [])}
    return run["info"]["status"] == "FINISHED" and tags.get(BUNDLE_TAG) == bundle


def _run(run_id: str) -> dict[str, str]:
    return _run_of(settings().tracking_uri, run_id)


@functools.lru_cache(maxsize=256)
def _run_of(tracking_uri: str, run_id: str) -> dict[str, str]:
    info = _call("GET", "runs/get", {"run_id": run_id})["run"]["info"]
    return {"experiment_id": str(info["experiment_id"]), "artifact_uri": str(info["artifact_uri"])}


def _call(method: str, name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return mlflow_api.call(settings().tracking_uri, method, name, value)
