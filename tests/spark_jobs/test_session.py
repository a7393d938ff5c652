"""The session of a step: errors of workers keep their kind, the shared session stays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from orchard.errors import BadInput, TryAgain
from spark_jobs.progress import task_count
from spark_jobs.session import session_of
from tests.conftest import free_port


@pytest.mark.parametrize("kind", [TryAgain, BadInput])
def test_a_workers_own_error_keeps_its_kind(spark_session: Any, kind: type[Exception]) -> None:
    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            raise kind("The store is away")
        yield from ()

    with pytest.raises(kind, match="The store is away"), session_of("test") as session:
        session.range(3).mapInArrow(fail, "id long").collect()
    assert spark_session.range(3).count() == 3


def test_any_other_error_is_a_fault(spark_session: Any) -> None:
    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            raise RuntimeError("no such thing")
        yield from ()

    with pytest.raises(PySparkException, match="no such thing"), session_of("test") as session:
        session.range(3).mapInArrow(fail, "id long").collect()


def test_an_hdfs_that_is_away_is_told_within_seconds(spark_session: Any) -> None:
    away = f"hdfs://127.0.0.1:{free_port()}/store/rows"
    for call in (
        lambda session: session.read.parquet(away),
        lambda session: session.range(3).write.parquet(away),
    ):
        with (
            pytest.raises(TryAgain, match="could not use the store of bytes.*Connect"),
            session_of("test") as session,
        ):
            call(session)


@pytest.mark.parametrize(
    ("rows", "cores", "most", "wanted"),
    [(0, 2, 500, 1), (3, 2, 500, 1), (120, 2, 500, 8), (1000, 2, 500, 8), (100_000, 2, 500, 200)],
)
def test_work_is_cut_so_that_all_cores_end_together(
    rows: int, cores: int, most: int, wanted: int
) -> None:
    assert task_count(rows, cores, most) == wanted
