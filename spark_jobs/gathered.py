"""Files with their verdicts and labels become samples: one row a content, merged with the parent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from orchard.checking import settling
from orchard.tasks.base import Task
from spark_jobs.tables import spark_schema

SETTLED_SPLITS = ("train", "validation", "test", "left_out")
_PLACE = (
    *("path", "segment", "offset", "length", "width", "height", "orientation", "fingerprint"),
    "notices",
)
_GIVEN = ("given_width", "given_height")
_HINTS = ("train", "validation", "test")


def gather(verdicts: DataFrame, labels: DataFrame) -> DataFrame:
    """One row a content: its first path, its labels, how many copies of it there are.

    Columns: sample_id, those of the first path, copies, verdicts (distinct {annotation, label},
    sorted), hint (the last of train, validation, test that any copy was in; null: none), origin
    (the first in sorted order; null: none), several_origins (whether copies tell different ones).
    """
    hint = F.coalesce(F.col("label_split"), F.col("split"))
    rank = F.array_position(F.array(*map(F.lit, _HINTS)), hint)
    first = F.min(F.struct(*_PLACE, *_GIVEN)).alias("first")
    grouped = (
        verdicts.filter("code is null")
        .join(labels, "path", "left")
        .groupBy("sample_id")
        .agg(
            first,
            F.count(F.lit(1)).alias("copies"),
            F.sort_array(
                F.array_distinct(
                    F.flatten(
                        F.collect_list(
                            F.coalesce(
                                "verdicts",
                                F.expr("array()").cast(
                                    "array<struct<annotation:string,label:string>>"
                                ),
                            )
                        )
                    )
                )
            ).alias("verdicts"),
            F.max(rank).alias("rank"),
            F.min("origin").alias("origin"),
            F.max("last_origin").alias("last_origin"),
        )
    )
    return grouped.select(
        "sample_id",
        *(F.col(f"first.{name}").alias(name) for name in (*_PLACE, *_GIVEN)),
        "copies",
        "verdicts",
        F.when(
            F.col("rank") > 0, F.element_at(F.array(*map(F.lit, _HINTS)), F.col("rank").cast("int"))
        ).alias("hint"),
        "origin",
        F.coalesce(F.col("origin") < F.col("last_origin"), F.lit(False)).alias("several_origins"),
    )


def settle(samples: DataFrame, task: Task, counts: Mapping[str, int]) -> DataFrame:
    """Samples as `gather` gives them, with the columns of `settling.SETTLED_SCHEMA`.

    `counts` is how often each class occurs, for the strata.
    """

    def settled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return settling.settled(batches, task, counts)

    added = spark_schema(settling.SETTLED_SCHEMA)
    return samples.mapInArrow(settled, StructType([*samples.schema.fields, *added.fields]))


def merge(fresh: DataFrame, parent: DataFrame, number: int) -> DataFrame:
    """The samples of the next version: those of the intake and those of the version before.

    Columns beyond the manifest's: hint, origin, several_origins, copies, conflict (labels of one content that contradict
    each other), code and reason (of a refused label), kept (whether it comes in), relabelled, settled_split, settled_fold, settled_group (null for samples that have no place
    yet), `verdicts`. Where both know a sample, its place stays and the newer label counts, unless
    it is refused.
    """
    before = parent.select(
        "sample_id", *(F.col(name).alias(f"old_{name}") for name in parent.columns[1:])
    )
    both = fresh.join(before, "sample_id", "full_outer")
    conflict = F.coalesce("conflict", F.lit(False))
    relabelled = F.coalesce(F.col("annotation") != F.col("old_annotation"), F.lit(False))
    known = F.col("old_path").isNotNull()
    settled = F.col("old_split").isin(*SETTLED_SPLITS)

    def older(name: str) -> Column:
        return F.coalesce(F.col(f"old_{name}"), F.col(name)).alias(name)

    return both.select(
        "sample_id",
        *(older(name) for name in _PLACE if name != "notices"),
        F.when(relabelled, F.col("notices"))
        .otherwise(F.coalesce("old_notices", "notices"))
        .alias("notices"),
        F.coalesce("annotation", "old_annotation").alias("annotation"),
        F.coalesce("label", "old_label", F.lit("")).alias("label"),
        "hint",
        "origin",
        F.coalesce("several_origins", F.lit(False)).alias("several_origins"),
        F.coalesce("copies", F.lit(0)).alias("copies"),
        conflict.alias("conflict"),
        "code",
        "reason",
        (~conflict & (F.col("code").isNull() | known)).alias("kept"),
        relabelled.alias("relabelled"),
        F.when(settled, F.col("old_split")).alias("settled_split"),
        F.when(settled, F.col("old_fold")).alias("settled_fold"),
        F.when(settled, F.col("old_group")).alias("settled_group"),
        F.coalesce("old_version_added", F.lit(number)).cast("int").alias("version_added"),
        known.alias("known"),
        "verdicts",
    )
