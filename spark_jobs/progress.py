"""Says how far a Spark stage is: the workers count, a thread here reports."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from orchard.program import Progress

logger = logging.getLogger(__name__)


@contextmanager
def counted(
    session: SparkSession, what: str, total: int, every_seconds: float = 3.0
) -> Iterator[Callable[[int], None]]:
    """Gives the function by which workers count; logs "n of m, rate, time left" meanwhile.

    Counts arrive when a task ends, so tasks must be small against the whole.
    """
    counter = session.sparkContext.accumulator(0)
    progress = Progress(what, total)
    ended = threading.Event()

    def report() -> None:
        said = 0
        while not ended.wait(every_seconds):
            if counter.value != said:
                said = progress.done = counter.value
                logger.info("%s", progress.line())

    def count(number: int) -> None:
        counter.add(number)

    thread = threading.Thread(target=report, name="progress", daemon=True)
    thread.start()
    try:
        yield count
    finally:
        ended.set()
        thread.join()
        progress.done = counter.value
        logger.info("%s", progress.line())


def task_count(rows: int, cores: int, most_rows: int) -> int:
    """Into how many tasks to cut so that both cores end together and counts come often."""
    if rows <= 0:
        return 1
    least = -(-rows // most_rows)
    return max(least, min(cores * 4, -(-rows // 16)))
