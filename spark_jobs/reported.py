"""What `check` tells of a version beyond its manifest: what was left out, what looks alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from orchard.checking.summary import CONFLICT, EXAMPLES
from spark_jobs.sources import is_source


def conflicts_of(samples: DataFrame, verdicts: DataFrame) -> DataFrame:
    """Every file whose content carries two labels, with them."""
    named = F.array_distinct(F.transform("verdicts", lambda v: v["label"]))
    labels = F.when(F.size(named) > 1, F.array_join(named, " and ")).otherwise(
        F.concat(F.array_join(named, ""), F.lit(" in ways that contradict each other"))
    )
    found = samples.filter("conflict").select("sample_id", labels.alias("labels"))
    return (
        verdicts.filter("code is null")
        .join(found, "sample_id")
        .select(
            "path",
            F.lit(CONFLICT).alias("code"),
            F.concat(
                F.lit("The same content is labelled "),
                "labels",
                F.lit("; all of its files are left out"),
            ).alias("reason"),
        )
    )


def unusable_labels(samples: DataFrame, verdicts: DataFrame) -> DataFrame:
    """Every file whose label the task refused: path, code, reason."""
    found = samples.filter("code is not null").select("sample_id", "code", "reason")
    files = verdicts.filter("code is null").select("path", "sample_id")
    return files.join(found, "sample_id").select("path", "code", "reason")


def refused_rows(early: DataFrame, late: Sequence[DataFrame]) -> DataFrame:
    """`orchard.intake.REFUSED` of all that did not come in, sorted by path, in one file.

    Args:
        early: what ingest refused, `orchard.intake.REFUSED`.
        late: what check refused: path, code, reason.
    """
    checked = reduce(DataFrame.unionByName, late).withColumn("stage", F.lit("check"))
    return early.unionByName(checked).repartition(1).sortWithinPartitions("path", "code")


def look_alikes(manifest: DataFrame, *, one_label: bool) -> dict[str, Any]:
    """Groups of several members, and the first that hold more than one label or split.

    `one_label` says that a sample has one label at most, so that two in a group are odd.
    The groups of sources are no look-alikes.
    """
    measured = F.when(F.col("split").isin("train", "validation", "test"), F.col("split"))
    groups = (
        manifest.filter(~is_source(F.col("group")))
        .groupBy("group")
        .agg(
            F.count(F.lit(1)).alias("members"),
            F.sort_array(F.collect_set("label")).alias("labels"),
            F.collect_set(measured).alias("splits"),
            F.slice(F.sort_array(F.collect_list("path")), 1, 4).alias("paths"),
        )
        .filter("members > 1")
    )
    in_both = F.array_contains("splits", "test") & (F.size("splits") > 1)
    counts = groups.agg(F.count(F.lit(1)), F.count_if(in_both)).first() or (0, 0)
    across = (
        groups.filter("size(labels) > 1").orderBy("group").limit(EXAMPLES)
        if counts[0] and one_label
        else None
    )
    left_out = manifest.filter("split = 'left_out'").orderBy("path").select("path").limit(EXAMPLES)
    return {
        "groups": counts[0],
        "across_splits": counts[1],
        "across_labels": [
            {"group": row["group"], "labels": row["labels"], "paths": row["paths"]}
            for row in (across.collect() if across is not None else [])
        ],
        "left_out": [row["path"] for row in left_out.collect()],
    }
