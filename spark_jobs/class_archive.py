"""Makes the archive of the JVM's loaded classes (AppCDS), which shortens every later start.

    python -m spark_jobs.class_archive

Takes one start of Spark with a small job that uses what the steps use.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

from orchard.errors import OrchardError
from orchard.program import set_up_log
from orchard.settings import settings
from spark_jobs.session import class_archive, end, spark

logger = logging.getLogger(__name__)

_SECONDS_TO_WRITE = 900.0


def make_class_archive() -> Path:
    """The archive's path, made where it is missing or was made by another Java or Spark.

    Raises:
        OrchardError: Spark did not start, or Java left no archive.
    """
    goal = class_archive(settings())
    if goal.exists():
        return goal
    goal.parent.mkdir(parents=True, exist_ok=True)
    temporary = goal.with_suffix(f".{os.getpid()}.tmp")
    session = spark(
        "class-archive",
        java_options=f"-XX:ArchiveClassesAtExit={temporary} -Xlog:cds=off -Xlog:cds+dynamic=off",
    )
    with tempfile.TemporaryDirectory() as folder:
        _exercise(session, folder)
    logger.info("Writing the class archive")
    end(session, _SECONDS_TO_WRITE)
    if not temporary.exists():
        raise OrchardError(
            "Java left no class archive",
            value=str(goal),
            way_out="Nothing depends on it but the time to start; see `java -version`",
        )
    temporary.replace(goal)
    logger.info("Class archive: %d MB in %s", goal.stat().st_size // 2**20, goal)
    return goal


def _exercise(session: SparkSession, folder: str) -> None:
    """Load the classes that the steps need: Arrow, joins, windows, sorted Parquet."""

    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    numbers = session.range(1000).withColumns(
        {
            "text": F.sha2(F.col("id").cast("string"), 256),
            "names": F.array(F.lit("a"), F.lit("b")),
            "blob": F.col("id").cast("string").cast("binary"),
        }
    )
    schema = "id long, text string, names array<string>, blob binary"
    mapped = numbers.repartition(2, "text").sortWithinPartitions("text").mapInArrow(same, schema)
    mapped.write.mode("overwrite").parquet(f"file://{folder}/one")
    read = session.read.schema(schema).parquet(f"file://{folder}/one")
    rank = F.row_number().over(Window.partitionBy("id").orderBy("text"))
    joined = (
        read.withColumn("rank", rank)
        .join(read.select("id", F.col("text").alias("other")), "id", "full_outer")
        .join(read.select("id"), "id", "left_semi")
        .groupBy(F.substring("text", 1, 2).alias("part"))
        .agg(
            F.min(F.struct("text", "names")).alias("first"),
            F.collect_set("other").alias("others"),
            F.count_if(F.col("rank") == 1).alias("count"),
        )
    )
    joined.repartitionById(2, F.lit(0)).sortWithinPartitions("part").write.mode(
        "overwrite"
    ).parquet(f"file://{folder}/two")
    session.read.parquet(f"file://{folder}/two").orderBy("part").limit(5).collect()


def main() -> int:
    """Make the archive; gives the exit code."""
    set_up_log()
    try:
        make_class_archive()
    except OrchardError as error:
        logger.error("%s", error)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
