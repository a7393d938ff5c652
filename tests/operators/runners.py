"""Both job runners behind one interface, so that one suite of tests can hold them to one contract.

The pod runner is the real operator; its cluster is replaced: a pod is a process on this machine that
sees the pod's own variables and nothing else of this process's settings.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from kubernetes.client import (
    V1ContainerState,
    V1ContainerStateTerminated,
    V1ContainerStatus,
    V1Pod,
    V1PodStatus,
)

from orchard.settings import REPOSITORY

DAG_ID = "build_model"


class Told:
    """Stands for an operator's logger and keeps its lines; louder ones are not kept."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def info(self, text: str, *values: object) -> None:
        """Keep one line."""
        self.lines.append(text % values if values else text)

    def warning(self, text: str, *values: object, **more: object) -> None:
        """Airflow says here that no task runner is at work."""

    debug = error = exception = warning


class TaskInstance(SimpleNamespace):
    """As much of a task instance as operators use."""

    def __init__(self, attempt: int = 1, run_id: str = "run", map_index: int = -1) -> None:
        super().__init__(
            dag_id=DAG_ID, task_id="sample", run_id=run_id, map_index=map_index, try_number=attempt
        )
        self.pushed: dict[str, Any] = {}

    def xcom_push(self, key: str, value: Any) -> None:
        """Keep what travels by XCom."""
        self.pushed[key] = value


def context_of(run_id: str = "run", attempt: int = 1, **params: Any) -> dict[str, Any]:
    """A task's context, without a logical date, as event-triggered runs have it."""
    instance = TaskInstance(attempt, run_id)
    return {
        "dag_run": SimpleNamespace(dag_id=DAG_ID, run_id=run_id),
        "dag": SimpleNamespace(dag_id=DAG_ID),
        "run_id": run_id,
        "ti": instance,
        "task_instance": instance,
        "params": params,
    }


def listen(operator: Any) -> Told:
    """Replace an operator's logger by one that keeps the lines."""
    told = Told()
    kind = type(operator)
    operator.__class__ = type(kind)(kind.__name__, (kind,), {"log": told})
    return told


class Cluster:
    """A cluster of one pod at a time. Stands for the pod manager and for the API's client.

    Attributes:
        pods: what lies in the cluster now.
        created: every pod that was ever asked for.
        outcome: replaces the running of the pod where given; returns its exit code, or None for a
            pod that never started.
    """

    def __init__(self) -> None:
        self.pods: dict[str, V1Pod] = {}
        self.created: list[V1Pod] = []
        self.outcome: Callable[[V1Pod], int | None] = run_pod

    def create_pod(self, pod: V1Pod) -> V1Pod:
        """Note the pod; it runs when its output is asked for."""
        pod.status = V1PodStatus(phase="Running")
        self.created.append(pod)
        self.pods[pod.metadata.name] = pod
        return pod

    async def watch_pod_events(self, pod: V1Pod, interval: float) -> None:
        """There are none."""

    async def await_pod_start(self, **_: Any) -> None:
        """It starts at once."""

    def fetch_requested_container_logs(self, pod: V1Pod, **_: Any) -> None:
        """Run the pod to its end."""
        code = self.outcome(pod)
        pod.status = V1PodStatus(phase="Succeeded" if code == 0 else "Failed")
        if code is not None:
            ended = V1ContainerState(terminated=V1ContainerStateTerminated(exit_code=code))
            pod.status.container_statuses = [
                V1ContainerStatus(
                    name="base",
                    state=ended,
                    image="",
                    image_id="",
                    ready=False,
                    restart_count=0,
                )
            ]

    def await_pod_completion(self, pod: V1Pod, *_: Any) -> V1Pod:
        """The pod as it ended."""
        return self.pods[pod.metadata.name]

    def read_pod(self, pod: V1Pod) -> V1Pod:
        """The pod as it is."""
        return self.pods[pod.metadata.name]

    def read_pod_events(self, pod: V1Pod) -> Any:
        """There are none."""
        return SimpleNamespace(items=[])

    def delete_pod(self, pod: V1Pod) -> None:
        """Remove it."""
        self.pods.pop(pod.metadata.name, None)

    def delete_namespaced_pod(self, name: str, namespace: str) -> None:
        """Remove it."""
        self.pods.pop(name, None)

    def patch_namespaced_pod(self, **_: Any) -> None:
        """Marks are not kept."""

    def list_namespaced_pod(self, namespace: str, label_selector: str) -> Any:
        """The pods of a namespace."""
        found = [pod for pod in self.pods.values() if pod.metadata.namespace == namespace]
        return SimpleNamespace(items=found)


def run_pod(pod: V1Pod) -> int:
    """Run a pod's container as a process; the exit code is what Kubernetes would report."""
    container = pod.spec.containers[0]
    given = {each.name: each.value for each in container.env}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ORCHARD_")}
    done = subprocess.run(
        [sys.executable, *container.command[1:], *container.args],
        cwd=REPOSITORY,
        env={**kept, **given},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode if done.returncode >= 0 else 128 - done.returncode
