"""The runner `pod`: what is asked of Kubernetes. The contract itself is in test_job_contract."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException
from kubernetes.client import V1Pod

from operators.pod import PodJob, exit_code_of
from orchard.blobs import Blobs, keys
from orchard.names import build_id_of
from orchard.settings import settings
from tests.operators.runners import Cluster, context_of

BUILD = build_id_of("build_model", "run")


def rendered(cluster: Cluster, program: list[str], **more: Any) -> tuple[V1Pod, PodJob]:
    """The pod that an operator asks for; it leaves its result and ends well."""

    def succeed(pod: V1Pod) -> int:
        record = {"exit_code": 0, "facts": {"summary": "done", "tracking_url": "http://m/1"}}
        step = more.get("step", "trial")
        key = keys.result("local", BUILD, step, int(more.get("index", -1)))
        Blobs(settings().blobs_root).write_json(key, record)
        return 0

    cluster.outcome = succeed
    operator = PodJob(**{"task_id": "sample", "step": "trial", "program": program, **more})
    operator.execute(context_of())
    return cluster.created[0], operator


def test_a_trial_s_pod(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCHARD_POD_NAMESPACE", "models")
    monkeypatch.setenv("ORCHARD_POD_IMAGE_TRAINER", "registry/trainer:7")
    monkeypatch.setenv("ORCHARD_POD_SERVICE_ACCOUNT", "worker")
    monkeypatch.setenv("ORCHARD_POD_SECRETS", '["orchard-uris"]')
    settings.cache_clear()
    pod, _ = rendered(cluster, ["trainers", "trial"], index=1, gpus=1)
    container = pod.spec.containers[0]
    assert pod.metadata.namespace == "models"
    assert pod.metadata.name.startswith(f"trial-{BUILD}")
    assert pod.metadata.labels["orchard/build"] == BUILD
    assert pod.metadata.labels["orchard/step"] == "trial"
    assert pod.metadata.labels["orchard/owner"] == "local"
    assert pod.spec.service_account_name == "worker"
    assert pod.spec.restart_policy == "Never"
    assert container.image == "registry/trainer:7"
    assert container.command == ["python"]
    assert container.args == [
        *("-m", "trainers", "trial", "--build", BUILD),
        *("--owner", "local", "--index", "1", "--attempt", "1"),
    ]
    assert container.env_from[0].secret_ref.name == "orchard-uris"
    assert {each.name: each.value for each in container.env}["ORCHARD_SAMPLE"] == "given"
    assert container.resources.limits == {"nvidia.com/gpu": "1"}
    assert len(pod.spec.containers) == 1  # no sidecar


def test_spark_s_programs_run_in_spark_s_image_and_ask_for_no_gpu(cluster: Cluster) -> None:
    pod, _ = rendered(cluster, ["spark_jobs.check"], step="check")
    container = pod.spec.containers[0]
    assert container.image == "orchard-spark"
    assert not (container.resources and container.resources.limits)


TEMPLATE = """
apiVersion: v1
kind: Pod
metadata: {name: step, labels: {app.kubernetes.io/component: step}}
spec:
  automountServiceAccountToken: false
  priorityClassName: training
  nodeSelector: {pool: jobs}
  tolerations: [{key: jobs, operator: Exists}]
  securityContext: {runAsNonRoot: true}
  containers:
    - name: base
      image: another
      envFrom: [{configMapRef: {name: settings}}]
      resources: {requests: {cpu: "1", memory: 2Gi}, limits: {memory: 6Gi}}
      securityContext: {readOnlyRootFilesystem: true}
      volumeMounts: [{name: temporary, mountPath: /tmp}]
  volumes: [{name: temporary, emptyDir: {}}]
"""


def test_a_pod_begins_with_the_template(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pod.yaml").write_text(TEMPLATE)
    monkeypatch.setenv("ORCHARD_POD_TEMPLATE", str(tmp_path / "pod.yaml"))
    monkeypatch.setenv("ORCHARD_POD_IMAGE_TRAINER", "registry/trainer:7")
    settings.cache_clear()
    pod, _ = rendered(cluster, ["trainers", "trial"], gpus=2)
    (container,) = pod.spec.containers
    assert container.image == "registry/trainer:7"
    assert container.resources.requests == {"cpu": "1", "memory": "2Gi"}
    assert container.resources.limits == {"memory": "6Gi", "nvidia.com/gpu": "2"}
    assert container.env_from[0].config_map_ref.name == "settings"
    assert container.security_context.read_only_root_filesystem is True
    assert container.volume_mounts[0].mount_path == "/tmp"
    assert pod.metadata.name.startswith(f"trial-{BUILD}")
    assert pod.metadata.labels["app.kubernetes.io/component"] == "step"
    assert pod.metadata.labels["orchard/build"] == BUILD
    assert pod.spec.priority_class_name == "training"
    assert pod.spec.node_selector == {"pool": "jobs"}
    assert pod.spec.tolerations[0].key == "jobs"
    assert pod.spec.automount_service_account_token is False
    assert pod.spec.security_context.run_as_non_root is True
    assert pod.spec.restart_policy == "Never"


def test_the_pod_is_removed_and_its_figures_are_kept(cluster: Cluster) -> None:
    _, operator = rendered(cluster, ["trainers", "trial"])
    assert cluster.pods == {}
    assert operator.addresses == {"tracking_url": "http://m/1"}


def test_the_figures_are_pushed_although_there_is_no_sidecar(cluster: Cluster) -> None:
    context = context_of()
    rendered(cluster, ["trainers", "trial"])
    operator = PodJob(task_id="sample", step="trial", program=["trainers", "trial"])
    operator.execute(context)
    assert context["ti"].pushed["return_value"]["summary"] == "done"
    assert operator.do_xcom_push is False


def test_a_pod_that_never_started_is_tried_again(cluster: Cluster) -> None:
    cluster.outcome = lambda pod: None
    operator = PodJob(task_id="sample", step="trial", program=["trainers", "trial"])
    with pytest.raises(AirflowException, match="returned a failure"):
        operator.execute(context_of())
    assert cluster.pods == {}


def test_the_next_try_goes_on_watching_a_pod_that_still_runs(cluster: Cluster) -> None:
    def lose(pod: V1Pod) -> int:
        raise ConnectionError("the task is lost while the pod runs")

    cluster.outcome = lose
    first = PodJob(task_id="sample", step="trial", program=["trainers", "trial"])
    first.on_finish_action = first.on_finish_action.KEEP_POD
    with pytest.raises(AirflowException):
        first.execute(context_of())
    assert len(cluster.pods) == 1
    rendered(cluster, ["trainers", "trial"])
    assert len(cluster.created) == 1
    assert cluster.pods == {}


def test_marking_failed_removes_the_pod(cluster: Cluster) -> None:
    operator = PodJob(task_id="sample", step="trial", program=["trainers", "trial"])

    def kill(pod: V1Pod) -> int:
        operator.on_kill()
        assert cluster.pods == {}
        cluster.pods[pod.metadata.name] = pod  # still shown while it is ending
        return 143

    cluster.outcome = kill
    with pytest.raises(AirflowException, match="without leaving its result"):
        operator.execute(context_of())


def test_an_exit_code_above_128_is_a_signal() -> None:
    cluster = Cluster()
    pod = V1Pod(metadata=None)
    for code, expected in ((137, -9), (143, -15), (64, 64), (0, 0), (128, 128)):
        cluster.outcome = lambda _, code=code: code  # type: ignore[misc]
        cluster.fetch_requested_container_logs(pod)
        assert exit_code_of(pod, "base") == expected
    assert exit_code_of(pod, "other") is None
    assert exit_code_of(None, "base") is None


def test_only_the_chosen_runner_is_imported(
    orchard_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from operators.job import job_operator, spark_operator
    from operators.process import ProcessJob

    chosen: list[tuple[str, str, Callable[[], type], type]] = [
        ("JOB_RUNNER", "pod", job_operator, PodJob),
        ("JOB_RUNNER", "process", job_operator, ProcessJob),
        ("SPARK_RUNNER", "pod", spark_operator, PodJob),
        ("SPARK_RUNNER", "local", spark_operator, ProcessJob),
    ]
    for name, value, factory, expected in chosen:
        monkeypatch.setenv(f"ORCHARD_{name}", value)
        settings.cache_clear()
        assert factory() is expected
