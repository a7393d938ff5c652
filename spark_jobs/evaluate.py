"""Evaluate: the exported graph on the test split, from pixels; predictions, figures, report.

    python -m spark_jobs.evaluate --build ID

The winner and the endpoint's champion answer the same samples, each decoded once. The predictions
(Parquet, one row a sample and bundle) are the only thing that Spark makes; all figures derive from
them.
"""

from __future__ import annotations

import logging
import math
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from orchard import program
from orchard.blobs import keys
from orchard.catalog import datasets, deployments
from orchard.errors import BadInput, NotFound
from orchard.evaluation import rows
from orchard.evaluation.rows import Evaluated
from orchard.inference import fetch
from orchard.program import Progress, Step
from orchard.report import evaluate as evaluation
from spark_jobs import session as spark_session

logger = logging.getLogger(__name__)

_ROWS_A_GROUP = 128
_MOST_GROUPS = 2000
_ROWS_A_FILE = 200_000
_POLL_SECONDS = 2.0


def body(step: Step) -> dict[str, Any]:
    """Predict, then measure and report."""
    plan = step.blobs.read_json(keys.plan(step.owner, step.build_id))
    version = datasets.get_version(step.documents, step.owner, plan["dataset"], plan["version"])
    samples = int(version["summary"]["splits"].get("test", 0))
    if samples == 0:
        raise BadInput(
            f"The data set has no test {_word(plan)} to judge the model by",
            value=f"{plan['dataset']} {plan['version']}",
            way_out="Add labelled samples (5 or more groups a class give the first test samples), "
            "or a folder `test`",
        )
    winner = str(step.result_of("select")["bundle"])
    champion = _champion(step, winner)
    bundles = (winner,) if champion is None else (winner, champion)
    folder = step.settings.home / "work" / f"{step.build_id}-evaluate"
    try:
        evaluated = Evaluated(step.blobs.root, step.owner, str(plan["task"]), str(folder), bundles)
        with spark_session.session_of("evaluate") as session:
            _predict(step, session, plan, samples, evaluated)
        return evaluation.evaluate(step, plan, version, folder, winner, champion)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _word(plan: dict[str, Any]) -> str:
    from orchard.tasks import task

    return task(str(plan["task"])).sample_word


def _champion(step: Step, winner: str) -> str | None:
    """The bundle with the most traffic of the build's endpoint; None where it is the winner."""
    deployment = deployments.find(step.documents, step.owner, str(step.parameters["endpoint"]))
    entries = (deployment or {}).get("bundles") or []
    if not entries:
        logger.info("The endpoint has no champion yet")
        return None
    bundle = str(max(entries, key=lambda entry: float(entry["weight"]))["bundle"])
    if bundle == winner:
        logger.info("The winner is the champion itself: the same bundle %s", bundle)
        return None
    return bundle


def _predict(
    step: Step, session: SparkSession, plan: dict[str, Any], samples: int, evaluated: Evaluated
) -> None:
    """Write the predictions folder; it appears whole."""
    for name in evaluated.bundles:  # a bundle that cannot be had is said before the work starts
        try:
            fetch(step.blobs, step.owner, name, Path(evaluated.folder))
        except NotFound as error:
            raise NotFound("A bundle is not in the store", value=name) from error
    logger.info("Asking %s on %d test samples", " and ".join(evaluated.bundles), samples)
    manifest = keys.version(step.owner, plan["dataset"], plan["version"]) + "/manifest"
    done = session.sparkContext.accumulator(0)
    groups = max(
        spark_session.cores(session), min(math.ceil(samples / _ROWS_A_GROUP), _MOST_GROUPS)
    )
    test = (
        session.read.parquet(step.blobs.url(manifest))
        .where("split = 'test'")
        .select(*rows.MANIFEST_COLUMNS)
        .repartition(groups, "sample_id")
        .sortWithinPartitions("segment", "offset")
    )
    predicted = _predictions(test, evaluated, done)
    folder = f"{keys.evaluation(step.owner, step.build_id)}/predictions"
    staging = f"{keys.evaluation(step.owner, step.build_id)}/.predictions.tmp"
    with _progress(samples, done):
        (
            predicted.repartition(max(1, math.ceil(samples / _ROWS_A_FILE)), "sample_id")
            .sortWithinPartitions("bundle", "sample_id")
            .write.mode("overwrite")
            .parquet(step.blobs.url(staging))
        )
    step.blobs.delete(folder)
    step.blobs.rename_folder(staging, folder)


def _predictions(test: DataFrame, evaluated: Evaluated, done: Any) -> DataFrame:
    def work(batches: Iterator[Any]) -> Iterator[Any]:
        return rows.predict(batches, evaluated, done.add)

    return test.mapInArrow(work, rows.SPARK_SCHEMA)


@contextmanager
def _progress(samples: int, done: Any) -> Iterator[None]:
    """Say how far the workers are while the block runs."""
    progress = Progress("test samples", samples)
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_POLL_SECONDS):
            if done.value:  # before the first group is done there is no rate to tell
                progress.advance(int(done.value) - progress.done)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
    progress.done = int(done.value)
    logger.info("%s", progress.line())


if __name__ == "__main__":
    sys.exit(program.run("evaluate", body))
