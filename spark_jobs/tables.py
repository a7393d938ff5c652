"""Parquet tables of a step: read, write, and the schemas of Arrow as Spark spells them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from orchard.blobs import Blobs


def spark_schema(schema: pa.Schema) -> StructType:
    """The same columns as Spark's type."""
    return from_arrow_schema(schema)


def empty(session: SparkSession, schema: pa.Schema) -> DataFrame:
    """A table without rows."""
    return session.createDataFrame([], spark_schema(schema))


def read(session: SparkSession, blobs: Blobs, key: str, schema: pa.Schema) -> DataFrame:
    """A folder of Parquet files with the columns of a schema; absent or empty: no rows."""
    if not any(name.endswith(".parquet") for name in blobs.list(key)):
        return empty(session, schema)
    return session.read.schema(spark_schema(schema)).parquet(blobs.url(key))


def write(frame: DataFrame, blobs: Blobs, key: str) -> None:
    """Write a table as a folder of Parquet files in place of what is there."""
    frame.write.mode("overwrite").parquet(blobs.url(key))


def row_count(blobs: Blobs, key: str) -> int:
    """Number of rows below a folder, from the files' footers."""
    rows = 0
    for name in blobs.list(key):
        if name.endswith(".parquet"):
            with blobs.open(name) as file:
                rows += pq.ParquetFile(file).metadata.num_rows
    return rows


def batches(
    blobs: Blobs, key: str, columns: list[str] | None = None, rows: int = 4096
) -> Iterator[pa.RecordBatch]:
    """The rows of a folder in the order of its files, a batch at a time."""
    for name in blobs.list(key):
        if name.endswith(".parquet"):
            with blobs.open(name) as file:
                yield from pq.ParquetFile(file).iter_batches(batch_size=rows, columns=columns)
