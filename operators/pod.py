"""The job runner `pod`: a step is a pod on Kubernetes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk.exceptions import AirflowException
from kubernetes.client import (
    V1EnvFromSource,
    V1Pod,
    V1ResourceRequirements,
    V1SecretEnvSource,
)

from operators.contract import job_of, told
from operators.links import ALL
from orchard.settings import settings

_GPU = "nvidia.com/gpu"
_SIGNAL_BASE = 128


class PodJob(KubernetesPodOperator):
    """Run a step as a pod and show its output in the task log while it runs.

    The pod ends with the task. Where the task's own process is lost, the next try goes on watching
    the pod that still runs, or starts another. A pod that waits for its start shows its events.
    What the setting `pod_template` holds is the pod that all this is added to.

    Args:
        step: name of the step, as its result file is named.
        program: what follows `python -m`; Spark's programs run in Spark's image.
        index: position among mapped instances; -1 where there are none.
        title: what a mapped instance is called in the UI.
        gpus: number of NVIDIA GPUs that the pod asks for.
    """

    template_fields: Sequence[str] = (*KubernetesPodOperator.template_fields, "index", "title")
    operator_extra_links = ALL

    def __init__(
        self,
        *,
        step: str,
        program: Sequence[str],
        index: int = -1,
        title: str = "",
        gpus: int = 0,
        **kwargs: Any,
    ) -> None:
        current = settings()
        on_spark = program[0].split(".")[0] == "spark_jobs"
        super().__init__(
            namespace=current.pod_namespace,
            image=current.pod_image_spark if on_spark else current.pod_image_trainer,
            service_account_name=current.pod_service_account,
            env_vars=dict(current.pod_environment),
            env_from=[
                V1EnvFromSource(secret_ref=V1SecretEnvSource(name=name))
                for name in current.pod_secrets
            ],
            pod_template_file=str(current.pod_template) if current.pod_template else None,
            cmds=["python"],
            do_xcom_push=False,  # no sidecar: the step leaves its result in the store
            on_finish_action="delete_pod",
            on_kill_action="delete_pod",
            startup_timeout_seconds=600,
            log_events_on_failure=True,
            log_pod_spec_on_failure=False,
            container_name_log_prefix_enabled=False,
            **kwargs,
        )
        self.step = step
        self.program = tuple(program)
        self.index = index
        self.title = title
        self.gpus = gpus
        self.addresses: dict[str, str] = {}

    def build_pod_request_obj(self, context: Any = None, **options: Any) -> V1Pod:
        """The pod that is asked for: the template, completed by this step, and its GPUs."""
        pod = super().build_pod_request_obj(context, **options)
        if self.gpus:
            # added here, since resources of an operator take the place of the template's
            base = next(c for c in pod.spec.containers if c.name == self.base_container_name)
            given = base.resources or V1ResourceRequirements()
            given.limits = {**(given.limits or {}), _GPU: str(self.gpus)}
            base.resources = given
        return pod

    def execute(self, context: Any) -> dict[str, Any]:
        """Start the step or go on watching it, and hand on its figures."""
        context["title"] = self.title
        job = job_of(self.step, self.program, int(self.index), context)
        job.forget()
        self.name = f"{self.step}-{job.build_id}"
        self.arguments = job.arguments
        self.labels = {
            "orchard/build": job.build_id,
            "orchard/owner": job.owner,
            "orchard/step": self.step,
        }
        exit_code = 0
        try:
            super().execute(context)
        except AirflowException:
            exit_code = exit_code_of(self.remote_pod, self.base_container_name) or 0
            if exit_code == 0:  # it never ran, or something else than the step went wrong
                raise
        facts = job.conclude(exit_code)
        self.addresses = {
            name: str(value) for name, value in facts.items() if name.endswith("_url")
        }
        # Without the sidecar Airflow does not keep what a pod's task returns.
        context["ti"].xcom_push(key="return_value", value=told(facts))
        return told(facts)


def exit_code_of(pod: V1Pod | None, container: str) -> int | None:
    """How a pod's container ended, negative for a signal; None where it has not, or never ran."""
    statuses = pod.status.container_statuses if pod is not None and pod.status else None
    for status in statuses or ():
        if status.name == container and status.state and status.state.terminated:
            code = int(status.state.terminated.exit_code)
            return _SIGNAL_BASE - code if code > _SIGNAL_BASE else code
    return None
