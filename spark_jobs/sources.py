"""Which samples come of one source (a voice, a machine), as the task reads it from their names.

Samples of one source are one group: they stay in one split and one fold. Sources are decided with the
first data: where the version before has none, later data have none either, since its samples are
spread over the splits already.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from orchard.tasks.base import Task

logger = logging.getLogger(__name__)

MOST_NAMES = 200_000
"""Up to this many names are looked at in one process (about 50 MB); of more, no source is read."""

PREFIX = "source:"
"""What the group of a source begins with; the groups of look-alikes are named by a sample's hash."""

SOURCE_SCHEMA = pa.schema([("sample_id", pa.string()), ("source", pa.string())])


@dataclass(frozen=True)
class Found:
    """What the names tell.

    Attributes:
        table: sample_id, source of each labelled sample.
        count: number of samples in it.
        notice: a sentence for the person who brought the data.
    """

    table: DataFrame
    count: int
    notice: str


def sources_of(session: SparkSession, kept: DataFrame, task: Task) -> Found | None:
    """The sources of the labelled samples of the next version, or None where none are certain.

    Args:
        kept: sample_id, path, label, annotation, settled_split, settled_group.
    """
    labelled = kept.filter("annotation is not null")
    spread = F.col("settled_split").isNotNull() & ~is_source(F.col("settled_group"))
    row = labelled.agg(F.count(F.lit(1)), F.count_if(spread)).first() or (0, 0)
    if not 0 < row[0] <= MOST_NAMES or row[1]:
        return None
    rows = labelled.select("sample_id", "path", "label").orderBy("sample_id").toArrow()
    ids, paths, labels = (rows.column(name).to_pylist() for name in rows.column_names)
    found = task.sources(paths, labels)
    if found is None:
        return None
    sources, notice = found
    logger.info("%s", notice)
    table = pa.table([pa.array(ids), pa.array(sources)], schema=SOURCE_SCHEMA)
    return Found(session.createDataFrame(table), len(ids), notice)


def group_of(source: Column) -> Column:
    """The name of a source's group; null where there is no source."""
    return F.concat(F.lit(PREFIX), source)


def is_source(group: Column) -> Column:
    """Whether a group is that of a source."""
    return group.startswith(PREFIX)
