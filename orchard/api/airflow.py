"""Airflow's public REST API, as far as a person's actions need it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from orchard.errors import BadInput, NotFound, OrchardError, TryAgain
from orchard.names import BUILD_DAG, NEW_DATA
from orchard.settings import settings
from orchard.stack.control import login

_BAD_REQUEST = 400
_NOT_FOUND = 404


class Airflow:
    """A logged-in client. Use as `with Airflow.connected() as airflow`."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    @classmethod
    @contextmanager
    def connected(cls) -> Iterator[Airflow]:
        """Log in with the installation's account. Raises TryAgain where Airflow does not answer."""
        user, password = login()
        # A proxy of the environment is for the world outside, not for the installation's servers.
        with httpx.Client(base_url=settings().airflow_url, timeout=60, trust_env=False) as client:
            airflow = cls(client)
            answer = airflow.call(
                "POST", "/auth/token", json={"username": user, "password": password}
            )
            client.headers["Authorization"] = f"Bearer {answer['access_token']}"
            yield airflow

    def call(self, method: str, path: str, **arguments: Any) -> Any:
        """One request, its JSON back. Raises BadInput with the server's own sentence for a 4xx."""
        try:
            answer = self._client.request(method, path, **arguments)
        except httpx.HTTPError as error:
            raise TryAgain(
                "Airflow does not answer",
                value=f"{settings().airflow_url}: {error}",
                way_out="Look at `make status`; `make up` starts it",
            ) from error
        if answer.status_code == _NOT_FOUND:
            raise NotFound("Airflow does not know this", value=path)
        if _BAD_REQUEST <= answer.status_code < 500:
            raise BadInput(_sentence(answer))
        if answer.is_error:
            raise OrchardError("Airflow met a fault", value=answer.text[:300])
        return answer.json() if answer.content else None

    def trigger(
        self, conf: dict[str, Any], run_id: str | None = None, logical_date: str | None = None
    ) -> str:
        """Start a build with the values of the form. Returns the run id.

        `logical_date` (ISO 8601) is what Airflow's own form fills in; nothing depends on it.
        """
        body: dict[str, Any] = {"conf": conf, "logical_date": logical_date}
        if run_id:
            body["dag_run_id"] = run_id
        answer = self.call("POST", f"/api/v2/dags/{BUILD_DAG}/dagRuns", json=body)
        return str(answer["dag_run_id"])

    def run(self, run_id: str, dag_id: str = BUILD_DAG) -> dict[str, Any]:
        """A run: state, start_date, …."""
        return dict(self.call("GET", f"/api/v2/dags/{dag_id}/dagRuns/{_quoted(run_id)}"))

    def task_instances(self, run_id: str, dag_id: str = BUILD_DAG) -> list[dict[str, Any]]:
        """All task instances of a run."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{_quoted(run_id)}/taskInstances"
        return list(self.call("GET", path, params={"limit": 500})["task_instances"])

    def returned(self, run_id: str, task_id: str, map_index: int = -1) -> Any:
        """What a task returned, or None."""
        path = (
            f"/api/v2/dags/{BUILD_DAG}/dagRuns/{_quoted(run_id)}/taskInstances/{task_id}"
            "/xcomEntries/return_value"
        )
        try:
            return self.call("GET", path, params={"map_index": map_index, "deserialize": True})[
                "value"
            ]
        except BadInput:
            return None

    def question(self, run_id: str) -> dict[str, Any] | None:
        """The open question of a run, or None."""
        path = f"/api/v2/dags/{BUILD_DAG}/dagRuns/{_quoted(run_id)}/hitlDetails"
        for detail in self.call("GET", path)["hitl_details"]:
            if not detail["response_received"]:
                return dict(detail)
        return None

    def answer(self, run_id: str, option: str, task_id: str = "approve") -> None:
        """Answer the question of a run as a person would: "Approve" or "Reject"."""
        path = (
            f"/api/v2/dags/{BUILD_DAG}/dagRuns/{_quoted(run_id)}/taskInstances/{task_id}"
            "/-1/hitlDetails"
        )
        self.call("PATCH", path, json={"chosen_options": [option], "params_input": {}})

    def log(self, run_id: str, task_id: str, attempt: int, map_index: int = -1) -> list[str]:
        """The lines of a task's log."""
        path = (
            f"/api/v2/dags/{BUILD_DAG}/dagRuns/{_quoted(run_id)}/taskInstances/{task_id}"
            f"/logs/{attempt}"
        )
        answer = self.call("GET", path, params={"map_index": map_index, "full_content": True})
        return [line for entry in answer["content"] for line in _lines(entry)]

    def tell_new_data(self, extra: dict[str, Any]) -> None:
        """Send the event that data were brought."""
        assets = self.call("GET", "/api/v2/assets", params={"name_pattern": NEW_DATA})["assets"]
        for asset in assets:
            if asset["name"] == NEW_DATA:
                self.call(
                    "POST",
                    "/api/v2/assets/events",
                    json={"asset_id": asset["id"], "extra": extra},
                )


def _lines(entry: Any) -> list[str]:
    """One log entry as lines: what was said, and the error that goes with it."""
    if not isinstance(entry, dict):
        return [str(entry)]
    details = entry.get("error_detail") or []
    return [
        str(entry.get("event", "")),
        *(f"{each['exc_type']}: {each['exc_value']}" for each in details),
    ]


def _quoted(run_id: str) -> str:
    return str(httpx.URL("/").copy_with(path="/" + run_id).raw_path.decode()[1:]).replace(
        "/", "%2F"
    )


def _sentence(answer: httpx.Response) -> str:
    try:
        detail = answer.json().get("detail", answer.text)
    except ValueError:
        detail = answer.text
    return f"Airflow refused this: {str(detail)[:500]}"
