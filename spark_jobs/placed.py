"""Splits and folds in Spark: settled samples keep theirs, new groups get theirs by hash."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from orchard.checking import splits
from orchard.checking.manifest import MANIFEST_SCHEMA
from spark_jobs.sources import group_of, is_source

_BITS = "bigint"


def place(
    samples: DataFrame,
    groups: DataFrame,
    settled_labels: Collection[str],
    *,
    test_hinted: bool,
    sources: DataFrame | None = None,
) -> DataFrame:
    """The rows of the manifest, unsorted; conflicts must be gone already.

    Args:
        samples: as `gathered.merge` gives them.
        groups: groups of those that have near-duplicates; all others are groups of their own.
        settled_labels: classes of the version before; the groups of any other class are ranked by
            their hash, so that the class has its share of test groups at once.
        test_hinted: whether the source says what belongs to the test split. If it does not, what
            it calls training is divided as if nothing was said.
        sources: `sources.SOURCE_SCHEMA`. A source is a group, before look-alikes are; new samples of
            a source that has a place go there.
    """
    hint = F.when(F.lit(test_hinted) | (F.col("hint") != "train"), F.col("hint"))
    joined = samples.join(groups, "sample_id", "left")
    if sources is None:
        group = F.coalesce("settled_group", "group", "sample_id")
        joined = joined.withColumns({"hint": hint, "group": group, "held": F.lit(False)})
    else:
        joined = joined.join(sources, "sample_id", "left")
        group = F.coalesce("settled_group", group_of(F.col("source")), "group", "sample_id")
        joined = _with_places_of_sources(joined.withColumns({"hint": hint, "group": group}))
    is_new = F.col("settled_split").isNull() & F.col("annotation").isNotNull()
    assigned = _assigned(joined.filter(is_new & F.col("inherited_split").isNull()), settled_labels)
    split = (
        F.when(F.col("settled_split").isNotNull(), F.col("settled_split"))
        .when(F.col("annotation").isNull(), "unlabelled")
        .when(F.col("inherited_split").isNotNull(), F.col("inherited_split"))
        .otherwise(F.coalesce("hint", "group_hint", "group_split"))
    )
    fold = F.coalesce("settled_fold", "inherited_fold", "group_fold")
    placed = joined.join(assigned, "group", "left").withColumn("split", split)
    return placed.withColumn(
        "fold", F.when(F.col("split") == "train", fold).otherwise(-1).cast("int")
    ).select(*MANIFEST_SCHEMA.names)


def _with_places_of_sources(joined: DataFrame) -> DataFrame:
    """New samples of a source inherit the place of its settled ones, or that of the settled
    look-alikes of any of them where these are of one split. A source that is held back from the
    test split goes there with no look-alike as a whole."""

    def place_of(kind: str) -> Column:
        split = F.col(f"{kind}_split")
        place = F.struct(split.alias("split"), F.col(f"{kind}_fold").alias("fold"))
        return F.when(split != "left_out", place)

    near = place_of("inherited")
    held = F.coalesce(F.max("held"), F.lit(False))
    alike = F.min(near)["split"] == F.max(near)["split"]
    one_near = F.when(alike & ~(held & (F.min(near)["split"] == "test")), F.min(near))
    whole = (
        joined.filter(is_source(F.col("group")))
        .groupBy("group")
        .agg(F.coalesce(F.min(place_of("settled")), one_near).alias("place"))
        .select(
            "group",
            F.col("place.split").alias("source_split"),
            F.col("place.fold").alias("source_fold"),
        )
    )
    return joined.join(whole, "group", "left").withColumns(
        {
            "held": F.coalesce("held", F.lit(False)),
            "inherited_split": F.coalesce("source_split", "inherited_split"),
            "inherited_fold": F.coalesce("source_fold", "inherited_fold"),
        }
    )


def _assigned(fresh: DataFrame, settled_labels: Collection[str]) -> DataFrame:
    """(group, group_hint, group_split, group_fold) of the groups that are new.

    Sources that hold several classes are ranked among themselves, and those that are held back from
    the test split after all others.
    """
    several = is_source(F.col("group")) & (F.min("label") < F.max("label"))
    label = F.when(~several, F.min_by("label", "sample_id"))
    groups = fresh.groupBy("group").agg(
        F.coalesce(label, F.lit("")).alias("group_label"),
        F.max("hint").alias("group_hint"),
        F.max("held").alias("held"),
    )
    digest = F.sha2("group", 256)
    hashed = groups.withColumns(
        {"share": F.substring(digest, 1, 16), "other": F.substring(digest, 17, 8)}
    )
    ranked = hashed.withColumns(
        {
            "rank": F.row_number().over(
                Window.partitionBy("group_label", "group_hint").orderBy("held", "share", "group")
            ),
            "of": F.count(F.lit(1)).over(Window.partitionBy("group_label", "group_hint")),
        }
    )
    wanted = _test_groups(F.col("of"))
    known = ["", *settled_labels] if settled_labels else []
    settled = F.col("group_label").isin(*known) if known else F.lit(False)
    chosen = F.when(settled, F.col("share") < splits.TEST_BOUND).otherwise(F.col("rank") <= wanted)
    in_test = chosen & ~F.col("held")
    by_hash = F.conv("other", 16, 10).cast(_BITS) % splits.FOLDS
    by_rank = (F.col("rank") - 1) % splits.FOLDS
    return ranked.select(
        "group",
        "group_hint",
        F.when(in_test, "test").otherwise("train").alias("group_split"),
        F.when(settled, by_hash).otherwise(by_rank).cast("int").alias("group_fold"),
    )


def _test_groups(groups: Column) -> Column:
    """`splits.test_groups_of_new_class` as Spark computes it."""
    wanted = F.floor(groups * splits.TEST_RATE + 0.5)
    at_least = F.when(groups >= splits.LEAST_GROUPS_FOR_A_TEST, F.greatest(wanted, F.lit(1)))
    return F.least(F.coalesce(at_least, wanted), groups - 1)
