"""Files with their verdicts and labels become samples: one row a content, merged with the parent."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

SETTLED_SPLITS = ("train", "validation", "test", "left_out")
_PLACE = ("path", "segment", "offset", "length", "width", "height", "fingerprint", "notices")
_HINTS = ("train", "validation", "test")


def gather(verdicts: DataFrame, labels: DataFrame) -> DataFrame:
    """One row a content: its first path, its labels, how many copies of it there are.

    Columns: sample_id, those of the first path, copies, verdicts (distinct {annotation, label},
    sorted), hint (the last of train, validation, test that any copy was in; null: none).
    """
    hint = F.coalesce(F.col("label_split"), F.col("split"))
    rank = F.array_position(F.array(*map(F.lit, _HINTS)), hint)
    first = F.min(F.struct(*_PLACE)).alias("first")
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
        )
    )
    return grouped.select(
        "sample_id",
        *(F.col(f"first.{name}").alias(name) for name in _PLACE),
        "copies",
        "verdicts",
        F.when(
            F.col("rank") > 0, F.element_at(F.array(*map(F.lit, _HINTS)), F.col("rank").cast("int"))
        ).alias("hint"),
    )


def merge(fresh: DataFrame, parent: DataFrame, number: int) -> DataFrame:
    """The samples of the next version: those of the intake and those of the version before.

    Columns beyond the manifest's: hint, copies, conflict (two labels for one content),
    relabelled, settled_split, settled_fold, settled_group (null for samples that have no place
    yet), `verdicts`. Where both know a sample, its place stays and the newer label counts.
    """
    before = parent.select(
        "sample_id", *(F.col(name).alias(f"old_{name}") for name in parent.columns[1:])
    )
    both = fresh.join(before, "sample_id", "full_outer")
    conflict = F.coalesce(F.size("verdicts") > 1, F.lit(False))
    given = F.when(F.size("verdicts") == 1, F.element_at("verdicts", 1))
    settled = F.col("old_split").isin(*SETTLED_SPLITS)

    def older(name: str) -> Column:
        return F.coalesce(F.col(f"old_{name}"), F.col(name)).alias(name)

    return both.select(
        "sample_id",
        *(older(name) for name in _PLACE),
        F.coalesce(given["annotation"], "old_annotation").alias("annotation"),
        F.coalesce(given["label"], "old_label", F.lit("")).alias("label"),
        "hint",
        F.coalesce("copies", F.lit(0)).alias("copies"),
        conflict.alias("conflict"),
        F.coalesce(
            (given["annotation"] != F.col("old_annotation")) & ~conflict, F.lit(False)
        ).alias("relabelled"),
        F.when(settled, F.col("old_split")).alias("settled_split"),
        F.when(settled, F.col("old_fold")).alias("settled_fold"),
        F.when(settled, F.col("old_group")).alias("settled_group"),
        F.coalesce("old_version_added", F.lit(number)).cast("int").alias("version_added"),
        F.col("old_path").isNotNull().alias("known"),
        "verdicts",
    )
