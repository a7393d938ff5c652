"""Near-duplicates in Spark: which samples form a group, and which place a group inherits."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from orchard.blobs import Blobs
from orchard.checking import components, near
from orchard.tasks.base import Task
from spark_jobs import tables
from spark_jobs.tables import spark_schema

logger = logging.getLogger(__name__)

MOST_LOCAL_EDGES = 200_000
"""Up to this many pairs are joined in one process (about 50 MB), more of them in Spark."""

_MOST_ROUNDS = 40

GROUP_SCHEMA = pa.schema(
    [
        ("sample_id", pa.string()),
        ("group", pa.string()),
        ("inherited_split", pa.string()),
        ("inherited_fold", pa.int32()),
    ]
)


def near_groups(
    session: SparkSession, samples: DataFrame, task: Task, blobs: Blobs, work: str
) -> DataFrame:
    """GROUP_SCHEMA: the new samples that have near-duplicates, each with its group.

    `samples` are those with a label and a fingerprint: sample_id, fingerprint, settled_group,
    settled_split ("train:3": split and fold). A group that links settled groups of training and
    test inherits "left_out"; one that meets settled groups of one kind inherits their place.
    """

    near_bits = task.near_bits

    def pairs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return near.near_pairs(batches, near_bits)

    def banded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return near.bucket_rows(batches, task.bands)

    edges = (
        samples.mapInArrow(banded, spark_schema(near.BAND_SCHEMA))
        .repartition("bucket")
        .sortWithinPartitions("bucket", F.col("settled_group").asc_nulls_last(), "sample_id")
        .mapInArrow(pairs, spark_schema(near.EDGE_SCHEMA))
        .distinct()
    )
    tables.write(edges, blobs, f"{work}/edges")
    count = tables.row_count(blobs, f"{work}/edges")
    logger.info(
        "%s pairs look alike (their fingerprints differ in %d bits at most)",
        f"{count:,}",
        near_bits,
    )
    if count == 0:
        return tables.empty(session, GROUP_SCHEMA)
    edges = tables.read(session, blobs, f"{work}/edges", near.EDGE_SCHEMA)
    roots = (
        _local_roots(session, blobs, f"{work}/edges")
        if count <= MOST_LOCAL_EDGES
        else _spark_roots(session, edges, blobs, work)
    )
    return _with_places(roots, edges)


def _local_roots(session: SparkSession, blobs: Blobs, key: str) -> DataFrame:
    """(node, root) by union–find; the number of pairs is bounded."""
    pairs: list[tuple[str, str]] = []
    for batch in tables.batches(blobs, key, ["first", "second"]):
        pairs.extend(
            zip(batch.column("first").to_pylist(), batch.column("second").to_pylist(), strict=True)
        )
    found = components.components(pairs)
    table = pa.table(
        {"node": pa.array(list(found), pa.string()), "root": pa.array(found.values(), pa.string())}
    )
    return session.createDataFrame(table)


def _spark_roots(session: SparkSession, edges: DataFrame, blobs: Blobs, work: str) -> DataFrame:
    """(node, root) by alternating large-star and small-star.

    R. Kiveris et al., Connected Components in MapReduce and Beyond, SoCC 2014. Ends in O(log² n)
    rounds; every round is written down, so that the plan does not grow.
    """
    pairs = edges.select(F.col("first").alias("a"), F.col("second").alias("b"))
    before = (-1, "")
    for turn in range(_MOST_ROUNDS):
        pairs = _star(_star(pairs, large=True), large=False)
        key = f"{work}/round-{turn}"
        tables.write(pairs, blobs, key)
        pairs = session.read.parquet(blobs.url(key))
        state = pairs.agg(
            F.count(F.lit(1)), F.sum(F.xxhash64("a", "b").cast("decimal(38,0)")).cast("string")
        ).first()
        if turn:
            blobs.delete(f"{work}/round-{turn - 1}")
        if state is not None and tuple(state) == before:
            break
        before = tuple(state) if state is not None else before
        logger.info("Joining look-alikes: round %d, %s pairs", turn + 1, f"{before[0]:,}")
    roots = pairs.select(F.col("a").alias("node"), F.col("b").alias("root"))
    return roots.union(roots.select(F.col("root"), F.col("root"))).distinct()


def _star(pairs: DataFrame, *, large: bool) -> DataFrame:
    """One star step: every node's neighbours are tied to the smallest among it and them."""
    high, low = F.greatest("a", "b"), F.least("a", "b")
    ordered = pairs.filter("a <> b").select(high.alias("a"), low.alias("b"))
    both = ordered.union(ordered.select("b", "a")) if large else ordered
    smallest = F.least(F.col("a"), F.min("b").over(Window.partitionBy("a")))
    starred = both.withColumn("root", smallest)
    if large:
        return (
            starred.filter("b > a")
            .select(F.col("b").alias("a"), F.col("root").alias("b"))
            .distinct()
        )
    tied = starred.select(F.col("b").alias("a"), F.col("root").alias("b"))
    own = starred.select("a", F.col("root").alias("b"))
    return tied.union(own).filter("a <> b").distinct()


def _with_places(roots: DataFrame, edges: DataFrame) -> DataFrame:
    """The groups of the new nodes, with what they inherit from the settled ones they meet."""
    settled = (
        edges.filter("second_split is not null")
        .select(F.col("second").alias("node"), F.col("second_split").alias("place"))
        .distinct()
    )
    marked = roots.join(settled, "node", "left")
    split = F.split("place", ":")[0]
    whole = marked.groupBy("root").agg(
        F.min(F.when(F.col("place").isNotNull(), F.struct("node", "place"))).alias("oldest"),
        F.collect_set(split).alias("splits"),
    )
    group = F.coalesce(F.col("oldest.node"), F.col("root"))
    place = F.split("oldest.place", ":")
    mixed = F.array_contains("splits", "test") & (F.size("splits") > 1)
    return (
        marked.filter("place is null")
        .join(whole, "root")
        .select(
            F.col("node").alias("sample_id"),
            F.when(mixed, F.col("node")).otherwise(group).alias("group"),
            F.when(mixed, "left_out").otherwise(place[0]).alias("inherited_split"),
            F.when(~mixed, place[1].cast("int")).alias("inherited_fold"),
        )
    )
