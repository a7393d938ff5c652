"""The judge in Spark: every file of an intake that the version before has not judged already."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from orchard.blobs import Blobs
from orchard.checking import judging
from spark_jobs import tables
from spark_jobs.progress import counted, task_count
from spark_jobs.session import cores

logger = logging.getLogger(__name__)

MOST_FILES_A_TASK = 500
_KEPT = ("segment", "offset", "length", "width", "height", "orientation", "fingerprint", "notices")


def judge_files(
    session: SparkSession, files: DataFrame, total: int, judge: judging.Judging, work: str
) -> DataFrame:
    """VERDICT_SCHEMA of every file, written below `work` and read from there.

    Args:
        files: path, segment, offset, length, sha256, split.
        total: how many there are.
        judge: what the workers need.
        work: key of a folder.
    """
    word = judge.task.sample_word
    tasks = task_count(total, cores(session), MOST_FILES_A_TASK)
    logger.info("Judging %s %ss in %d tasks", f"{total:,}", word, tasks)
    with counted(session, f"{word}s judged", total) as count:

        def judged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return judging.judged(batches, judge, count)

        verdicts = (
            files.repartition(tasks, "path")
            .sortWithinPartitions("segment", "offset")
            .mapInArrow(judged, tables.spark_schema(judging.VERDICT_SCHEMA))
        )
        tables.write(verdicts, judge.blobs, f"{work}/verdicts")
    return tables.read(session, judge.blobs, f"{work}/verdicts", judging.VERDICT_SCHEMA)


def known_verdicts(files: DataFrame, parent: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Verdicts on files whose content the parent's manifest holds, and the files that are left."""
    held = parent.select("sample_id", *_KEPT)
    known = (
        files.select("path", "split", F.col("sha256").alias("sample_id"))
        .join(held, "sample_id")
        .withColumns(
            {name: F.lit(None) for name in ("given_width", "given_height", "code", "reason")}
        )
    )
    schema = tables.spark_schema(judging.VERDICT_SCHEMA)
    columns = [F.col(field.name).cast(field.dataType) for field in schema]
    left = files.join(held.select(F.col("sample_id").alias("sha256")), "sha256", "left_anti")
    return known.select(*columns), left.select(*files.columns)


def intake_size(blobs: Blobs, intake: str) -> int:
    """Number of files in an intake."""
    return tables.row_count(blobs, f"{intake}/files")
