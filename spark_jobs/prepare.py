"""The step `prepare`: computes the features that the plan names and that are not there yet.

python -m spark_jobs.prepare --build ID
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from orchard import features
from orchard.blobs import keys
from orchard.checking.manifest import MANIFEST_SCHEMA
from orchard.program import Step, run
from orchard.tasks import task as task_of
from orchard.tasks.base import Task
from spark_jobs import tables
from spark_jobs.progress import counted, task_count
from spark_jobs.session import cores, session_of

logger = logging.getLogger(__name__)

_MOST_SAMPLES_A_TASK = 256
_NOTHING = {
    "samples": 0,
    "computed": 0,
    "cached": 0,
    "failed": 0,
    "rows": 0,
    "samples_per_second": 0.0,
    "compute_seconds": 0.0,
}
_USED_SPLITS = ("train", "validation")
"""The test split is evaluated from the samples themselves."""


def body(step: Step) -> dict[str, Any]:
    """Compute what is missing; the facts say how much that was and how fast it went."""
    plan = step.blobs.read_json(keys.plan(step.owner, step.build_id))
    task = task_of(plan["task"])
    recipes = features.recipes_of(plan, task)
    if not recipes:
        return {**_NOTHING, "summary": "No branch works on features: nothing to prepare"}
    for recipe in recipes:
        logger.info("Features %s, views %s", recipe.feature_key, ", ".join(recipe.views))
    with session_of("prepare") as session:
        return _prepare(step, session, plan, task, recipes)


def _prepare(
    step: Step,
    session: SparkSession,
    plan: dict[str, Any],
    task: Task,
    recipes: Sequence[features.Recipe],
) -> dict[str, Any]:
    version = keys.version(step.owner, plan["dataset"], plan["version"])
    manifest = tables.read(session, step.blobs, f"{version}/manifest", MANIFEST_SCHEMA)
    used = manifest.filter(F.col("split").isin(*_USED_SPLITS)).select(
        "sample_id", "segment", "offset", "length"
    )
    splits = step.blobs.read_json(f"{version}/summary.json")["splits"]
    samples = sum(splits.get(split, 0) for split in _USED_SPLITS)
    missing = _missing(step, session, used, recipes)
    total = samples if missing is None else missing.count()
    logger.info(
        "%s %ss: %s to compute, %s are there already",
        *(f"{samples:,}", task.sample_word, f"{total:,}", f"{samples - total:,}"),
    )
    started = time.monotonic()
    if missing is None:
        missing = used.withColumn("wanted", _positions(recipes))
    computed, failed = _extract(step, session, missing, total, task, recipes)
    seconds = time.monotonic() - started
    rate = total / seconds if total else 0.0
    return {
        "samples": samples,
        "computed": total,
        "cached": samples - total,
        "failed": failed,
        "rows": computed,
        "samples_per_second": round(rate, 2),
        "compute_seconds": round(seconds, 2),
        "summary": f"{samples:,} {task.sample_word}s have {len(recipes)} kinds of features: "
        f"{total:,} computed, {samples - total:,} were there, {failed:,} failed; "
        f"{rate:,.1f} a second",
    }


def _missing(
    step: Step, session: SparkSession, used: DataFrame, recipes: Sequence[features.Recipe]
) -> DataFrame | None:
    """The samples that lack features of any recipe; `wanted` has the positions of those recipes.

    None where there are no features yet, so that all samples lack all of them.
    """
    every = _positions(recipes)
    there: DataFrame | None = None
    for index, recipe in enumerate(recipes):
        folder = keys.features(step.owner, recipe.feature_key)
        parts = [key for key in step.blobs.list(folder) if "/part-" in key]
        if not parts:
            continue
        found = (
            session.read.schema(tables.spark_schema(features.PART_SCHEMA))
            .parquet(*(step.blobs.url(part) for part in parts))
            .filter(F.col("view").isin(*recipe.views))
            .groupBy("sample_id")
            .agg(F.countDistinct("view").alias("views"))
            .filter(F.col("views") == len(recipe.views))
            .select("sample_id", F.lit(index).alias("index"))
        )
        there = found if there is None else there.unionByName(found)
    if there is None:
        return None
    complete = there.groupBy("sample_id").agg(F.collect_set("index").alias("there"))
    lacking = F.when(F.col("there").isNull(), every).otherwise(F.array_except(every, "there"))
    return (
        used.join(complete, "sample_id", "left")
        .withColumn("wanted", lacking)
        .drop("there")
        .filter(F.size("wanted") > 0)
    )


def _positions(recipes: Sequence[features.Recipe]) -> Column:
    return F.array(*(F.lit(index) for index in range(len(recipes))))


def _extract(
    step: Step,
    session: SparkSession,
    missing: DataFrame,
    total: int,
    task: Task,
    recipes: Sequence[features.Recipe],
) -> tuple[int, int]:
    """Run the backbones; gives rows of features and how many samples failed."""
    if total == 0:
        return 0, 0
    extraction = features.Extraction(task, step.blobs, step.owner, tuple(recipes))
    tasks = task_count(total, cores(session), _MOST_SAMPLES_A_TASK)
    with counted(session, f"{task.sample_word}s prepared", total) as count:

        def extracted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return features.extracted(batches, extraction, count)

        done = (
            missing.repartition(tasks, "sample_id")
            .sortWithinPartitions("segment", "offset")
            .mapInArrow(extracted, tables.spark_schema(features.DONE_SCHEMA))
            .groupBy("feature_key")
            .agg(F.sum("computed").alias("computed"), F.sum("failed").alias("failed"))
            .collect()
        )
    for row in sorted(done, key=lambda each: each["feature_key"]):
        logger.info(
            "%s: %s computed, %s failed", *(row[n] for n in ("feature_key", "computed", "failed"))
        )
    return sum(row["computed"] for row in done), max((row["failed"] for row in done), default=0)


def main() -> int:
    return run("prepare", body)


if __name__ == "__main__":
    sys.exit(main())
