"""Batches of what waits: no request waits for others, but those that wait together run together.

One queue a process, in order of arrival. A compute thread takes the oldest job and, with it, the
next ones that ask the same model, up to a limit. While the thread computes, the event loop goes on
reading and answering.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")
Result = Any

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class Job(Generic[Key]):
    """One request in the queue.

    Attributes:
        key: jobs of an equal key may run together.
        work: what the batch's function needs.
        deadline: time.monotonic() after which nobody waits for the answer any more.
    """

    key: Key
    work: Any
    deadline: float
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Result]
    arrived: float = field(default_factory=time.monotonic)


class Batcher(Generic[Key]):
    """Runs jobs in batches on its own threads.

    Args:
        run: (key, jobs) → one result or exception a job, in order; called on a compute thread.
        threads: compute threads.
        limit: jobs in a batch at most.
        late: makes the exception for a job whose deadline passed in the queue.
    """

    def __init__(
        self,
        run: Callable[[Key, Sequence[Job[Key]]], Sequence[Result | Exception]],
        *,
        threads: int,
        limit: int,
        late: Callable[[], Exception],
    ) -> None:
        self._run = run
        self._limit = limit
        self._late = late
        self._queue: deque[Job[Key]] = deque()
        self._ready = threading.Condition()
        self._stopped = False
        self._threads = [
            threading.Thread(target=self._serve, name=f"compute-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def submit(self, key: Key, work: Any, *, seconds: float) -> Result:
        """The result of one job. Raises what the batch's function returned for it."""
        loop = asyncio.get_running_loop()
        job = Job(key, work, time.monotonic() + seconds, loop, loop.create_future())
        with self._ready:
            self._queue.append(job)
            self._ready.notify()
        return await job.future

    def close(self) -> None:
        """End the compute threads; jobs in the queue are left unanswered."""
        with self._ready:
            self._stopped = True
            self._ready.notify_all()
        for thread in self._threads:
            thread.join(5.0)

    def _serve(self) -> None:
        while (batch := self._take()) is not None:
            now = time.monotonic()
            live = [job for job in batch if job.deadline > now and not job.future.cancelled()]
            for job in batch:
                if job.deadline <= now:
                    _answer(job, self._late())
            if not live:
                continue
            try:
                results: Sequence[Result | Exception] = self._run(live[0].key, live)
            except Exception as error:
                logger.exception("A batch of %d requests failed", len(live))
                results = [error] * len(live)
            for job, result in zip(live, results, strict=True):
                _answer(job, result)

    def _take(self) -> list[Job[Key]] | None:
        with self._ready:
            while not self._queue and not self._stopped:
                self._ready.wait()
            if self._stopped:
                return None
            first = self._queue.popleft()
            batch = [first]
            if self._limit > 1 and self._queue:
                rest: deque[Job[Key]] = deque()
                for job in self._queue:
                    if len(batch) < self._limit and job.key == first.key:
                        batch.append(job)
                    else:
                        rest.append(job)
                self._queue = rest
            return batch


def _answer(job: Job[Any], result: Result | Exception) -> None:
    def settle() -> None:
        if job.future.done():
            return
        if isinstance(result, Exception):
            job.future.set_exception(result)
        else:
            job.future.set_result(result)

    try:
        job.loop.call_soon_threadsafe(settle)
    except RuntimeError:
        logger.info("An answer came after the service had stopped")
