"""Publish: the chosen bundle goes live at the build's endpoint, proven first, and is registered.

    python -m orchard.steps.publish --build ID

The order makes a repetition after a kill harmless at any point: stage and prove, register, change
the deployment document, let the service follow, point MLflow's alias.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orchard import program
from orchard.catalog import builds, deployments
from orchard.errors import BadInput
from orchard.inference import Model, fetch
from orchard.program import Step
from orchard.publishing import go_live, parity, publisher, registry, tokens
from orchard.publishing.parity import Parity
from orchard.publishing.service import ServiceClient

logger = logging.getLogger(__name__)


def body(step: Step) -> dict[str, Any]:
    """Bring the bundle that select chose into service. Returns the step's facts."""
    chosen = step.result_of("select")
    checked = step.result_of("check")
    endpoint = str(step.parameters["endpoint"])
    task = str(step.parameters["task"])
    dataset = str(step.parameters["dataset"])
    version = str(checked["version"])
    bundle = str(chosen["bundle"])
    _refuse_foreign(step, endpoint, task)
    with tempfile.TemporaryDirectory(prefix="orchard-publish-") as temporary:
        local = fetch(step.blobs, step.owner, bundle, Path(temporary))
        model = Model(local)
        samples = parity.test_samples(step.blobs, step.owner, dataset, version)
        logger.info(
            "Bundle %s is loaded beside what is live at %s and compared on %d test %ss",
            bundle,
            endpoint,
            len(samples),
            model.task.sample_word,
        )
        client = ServiceClient(step.settings.service_url)
        models = registry.Registry(step.settings.tracking_uri)
        name = registry.model_name(step.owner, step.project)
        proven: list[Parity] = []

        def check(token: str) -> None:
            result = parity.prove(client, endpoint, token, model, samples)
            logger.info(
                "Endpoint and ONNX Runtime agree on %d %ss: largest difference %.1e, allowed %.0e",
                result.samples,
                model.task.sample_word,
                result.difference,
                parity.BOUND,
            )
            proven.append(result)
            tags = {"bundle": bundle, "build_id": step.build_id, "data_version": version}
            number = models.register(name, local.folder, str(chosen["mlflow_run_id"]), tags)
            logger.info("Registered in MLflow as %s, version %s", name, number)

        document = go_live(
            step.documents,
            publisher(step.settings, step.blobs),
            step.owner,
            endpoint,
            project=step.project,
            task=task,
            bundles=[{"bundle": bundle, "weight": 1}],
            token_hashes=_token_hashes(step, endpoint),
            check=check,
        )
    number = models.point_champion(name, bundle)
    url = client.address(endpoint, task)
    builds.set_fields(
        step.documents,
        step.owner,
        step.build_id,
        published=datetime.now(UTC),
        bundle=bundle,
        endpoint=endpoint,
        url=url,
    )
    return {
        "endpoint": endpoint,
        "url": url,
        "endpoint_url": f"{step.settings.service_url.rstrip('/')}/docs",
        "bundle": bundle,
        "revision": document["revision"],
        "parity": {
            "samples": proven[0].samples,
            "difference": proven[0].difference,
            "bound": parity.BOUND,
        },
        "model": name,
        "model_version": number,
        "model_url": f"{step.settings.tracking_uri.rstrip('/')}/#/models/{name}/versions/{number}",
        "summary": f"{url} answers with bundle {bundle} (version {number} of {name})",
    }


def _refuse_foreign(step: Step, endpoint: str, task: str) -> None:
    """An endpoint belongs to one project and one task. Raises BadInput."""
    current = deployments.find(step.documents, step.owner, endpoint)
    if current is not None and (current["project"], current["task"]) != (step.project, task):
        raise BadInput(
            f"This endpoint serves the project {current['project']!r}",
            value=endpoint,
            way_out="Choose another endpoint name",
        )


def _token_hashes(step: Step, endpoint: str) -> list[str] | None:
    """For a new endpoint the hash of its first token, which a person finds in a private file."""
    if deployments.find(step.documents, step.owner, endpoint) is not None:
        return None
    token = tokens.ensure(step.settings.home, endpoint)
    logger.info("The endpoint's token is in %s", tokens.path_of(step.settings.home, endpoint))
    return [tokens.hash_of(token)]


if __name__ == "__main__":
    sys.exit(program.run("publish", body))
