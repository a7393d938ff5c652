"""Labels of an intake in Spark: canonical class names, and which file each row means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from orchard.checking import labelling
from orchard.errors import BadInput
from orchard.tasks.base import Task
from spark_jobs.tables import spark_schema

MOST_CLASSES = 5_000
_DEEPEST = 16


@dataclass(frozen=True)
class Labels:
    """Labels by path of file: path, verdicts (array of {annotation, label}), label_split, and origin
    and last_origin, the first and last in sorted order (null: none).

    `refused` has the label rows that mean no file: path, code, reason.
    """

    by_path: DataFrame
    refused: DataFrame | None


def name_counts(labels: DataFrame, task: Task) -> dict[str, int]:
    """How often each spelling of a class name occurs. Raises BadInput for more than MOST_CLASSES."""

    def names(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return labelling.names_in(batches, task)

    counted = (
        labels.groupBy("annotation")
        .count()
        .mapInArrow(names, spark_schema(labelling.NAME_SCHEMA))
        .groupBy("name")
        .agg(F.sum("count").alias("count"))
        .limit(MOST_CLASSES + 1)
        .collect()
    )
    if len(counted) > MOST_CLASSES:
        raise BadInput(
            f"The labels name more than {MOST_CLASSES:,} classes",
            value=sorted(row["name"] for row in counted)[:3],
            way_out="See whether the column of labels is the right one",
        )
    return {row["name"]: row["count"] for row in counted}


def join_labels(
    labels: DataFrame,
    files: DataFrame,
    task: Task,
    names: Mapping[str, str],
    counts: Mapping[str, int],
) -> Labels:
    """Labels with canonical names, each joined to the file that it means.

    A row means the file of exactly its path; else the one file of which its path is the end, or
    whose path is the end of it. `counts` is how often each class occurs, for the strata.
    """

    def canonical(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return labelling.canonical_labels(batches, task, names, counts)

    named = labels.mapInArrow(canonical, spark_schema(labelling.LABEL_SCHEMA))
    paths = files.select("path")
    strays = named.join(paths, "path", "left_anti").select("path").distinct()
    if not strays.limit(1).collect():
        return Labels(_by_path(named), None)
    found = _by_suffix(strays, paths)
    moved = found.filter("matches = 1").select(F.col("path").alias("given"), "file")
    known = named.join(paths, "path", "left_semi")
    resolved = named.join(moved, F.col("path") == F.col("given")).select(
        F.col("file").alias("path"), "annotation", "label", "label_split", "source", "origin"
    )
    refused = strays.join(found.filter("matches = 1"), "path", "left_anti").join(
        found.select("path", "matches"), "path", "left"
    )
    return Labels(_by_path(known.unionByName(resolved)), _named_strays(refused))


def _by_path(named: DataFrame) -> DataFrame:
    return named.groupBy("path").agg(
        F.collect_set(F.struct("annotation", "label")).alias("verdicts"),
        F.min("label_split").alias("label_split"),
        F.min("origin").alias("origin"),
        F.max("origin").alias("last_origin"),
    )


def _suffixes(paths: DataFrame, name: str) -> DataFrame:
    """(name, skipped, suffix): every end of each path, from `skipped` leading parts on."""
    parts = F.split(F.col("path"), "/")
    ends = F.transform(
        F.sequence(F.lit(0), F.least(F.size(parts), F.lit(_DEEPEST)) - 1),
        lambda skipped: F.array_join(F.slice(parts, skipped + 1, F.size(parts)), "/"),
    )
    return paths.select(F.col("path").alias(name), F.posexplode(ends).alias("skipped", "suffix"))


def _by_suffix(strays: DataFrame, paths: DataFrame) -> DataFrame:
    """(path, file, matches): for each stray path the longest match and how many files have it."""
    one = _suffixes(strays, "stray").withColumnRenamed("skipped", "skipped_stray")
    other = _suffixes(paths, "file").withColumnRenamed("skipped", "skipped_file")
    pairs = one.join(other, "suffix").filter("skipped_stray = 0 or skipped_file = 0")
    by_length = pairs.groupBy("stray", F.length("suffix").alias("shared")).agg(
        F.min("file").alias("file"), F.countDistinct("file").alias("matches")
    )
    return by_length.groupBy(F.col("stray").alias("path")).agg(
        F.max_by("file", "shared").alias("file"), F.max_by("matches", "shared").alias("matches")
    )


def _named_strays(refused: DataFrame) -> DataFrame:
    ambiguous = F.col("matches") > 1
    return refused.select(
        "path",
        F.when(ambiguous, "ambiguous_path").otherwise("label_without_file").alias("code"),
        F.when(
            ambiguous,
            F.concat(
                F.lit("A label names this file, but "), "matches", F.lit(" files end like that")
            ),
        )
        .otherwise("A label names this file, but it is not among the files")
        .alias("reason"),
    )
