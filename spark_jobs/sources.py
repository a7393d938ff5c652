"""Which samples come of one source (a voice, a machine): as a column of the labels tells, else as the
task reads it from their names.

Samples of one source are one group: they stay in one split and one fold. What names tell is decided
with the first data: where the version before has no sources, later data have none by their names
either, since its samples are spread over the splits already.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from orchard.checking import origins
from orchard.checking.origins import PREFIX
from orchard.tasks.base import Task

logger = logging.getLogger(__name__)

MOST_NAMES = 200_000
"""Up to this many names are looked at in one process (about 50 MB); of more, no source is read. The
same for pairs of a column's sources and classes."""

SOURCE_SCHEMA = pa.schema(
    [("sample_id", pa.string()), ("source", pa.string()), ("held", pa.bool_())]
)
_ORIGIN_SCHEMA = pa.schema([("origin", pa.string()), ("held", pa.bool_())])


@dataclass(frozen=True)
class Found:
    """What is told.

    Attributes:
        table: SOURCE_SCHEMA: the source of samples, and whether it must not be tested on; None
            where no samples are kept together.
        notices: sentences for the person who brought the data, with the number of samples.
    """

    table: DataFrame | None
    notices: Mapping[str, int]


def sources_of(
    session: SparkSession, kept: DataFrame, task: Task, facts: Mapping[str, int]
) -> Found:
    """The sources of the labelled samples of the next version.

    Args:
        kept: sample_id, path, label, annotation, origin, settled_split, settled_group.
        facts: new (labelled samples without a place), origins (samples of which the intake tells
            one), several_origins (contents of which it tells several), test_hints.
    """
    if not facts["new"]:
        return Found(None, {})
    labelled = kept.filter("annotation is not null")
    notices: dict[str, int] = {}
    table = None
    if facts["origins"]:
        told = _by_column(session, labelled, task, divided=bool(facts["test_hints"]))
        table, notices = told.table, dict(told.notices)
        if facts["several_origins"]:
            text = "One content is said to come of several sources; the first by name counts"
            notices[text] = facts["several_origins"]
    if table is None:
        named = _by_names(session, labelled, task)
        table, notices = named.table, {**notices, **named.notices}
    for notice in notices:
        logger.info("%s", notice)
    return Found(table, notices)


def _by_column(session: SparkSession, labelled: DataFrame, task: Task, *, divided: bool) -> Found:
    """The sources that the labels tell of new samples."""
    settled = F.col("settled_split").isNotNull()
    in_source = F.coalesce(is_source(F.col("settled_group")), F.lit(False))
    known = F.when(in_source, F.substring("settled_group", len(PREFIX) + 1, 1_000))
    outside = settled & ~in_source & F.col("origin").isNotNull()
    pairs = (
        labelled.groupBy(
            F.coalesce(known, F.col("origin")).alias("source"), "label", "settled_split"
        )
        .agg(F.count(F.lit(1)).alias("samples"), F.count_if(outside).alias("outside"))
        .limit(MOST_NAMES + 1)
        .toArrow()
    )
    if pairs.num_rows > MOST_NAMES:
        text = "A column names so many sources that they are not kept together"
        return Found(None, {text: pairs.num_rows})
    columns = (pairs.column(name).to_pylist() for name in pairs.column_names)
    told = origins.kept_together(
        (origins.Row(*row) for row in zip(*columns, strict=True)), task.sample_word, divided=divided
    )
    if not told.held:
        return Found(None, told.notices)
    names = sorted(told.held)
    held = pa.table([names, [told.held[name] for name in names]], schema=_ORIGIN_SCHEMA)
    table = (
        labelled.filter(~settled)
        .join(session.createDataFrame(held), "origin")
        .select("sample_id", F.col("origin").alias("source"), "held")
    )
    return Found(table, told.notices)


def _by_names(session: SparkSession, labelled: DataFrame, task: Task) -> Found:
    """The sources that the names tell for certain."""
    spread = F.col("settled_split").isNotNull() & ~is_source(F.col("settled_group"))
    row = labelled.agg(F.count(F.lit(1)), F.count_if(spread)).first() or (0, 0)
    if not 0 < row[0] <= MOST_NAMES or row[1]:
        return Found(None, {})
    rows = labelled.select("sample_id", "path", "label").orderBy("sample_id").toArrow()
    ids, paths, labels = (rows.column(name).to_pylist() for name in rows.column_names)
    found = task.sources(paths, labels)
    if found is None:
        return Found(None, {})
    sources, notice = found
    table = pa.table([ids, list(sources), [False] * len(ids)], schema=SOURCE_SCHEMA)
    return Found(session.createDataFrame(table), {notice: len(ids)})


def group_of(source: Column) -> Column:
    """The name of a source's group; null where there is no source."""
    return F.concat(F.lit(PREFIX), source)


def is_source(group: Column) -> Column:
    """Whether a group is that of a source."""
    return group.startswith(PREFIX)
