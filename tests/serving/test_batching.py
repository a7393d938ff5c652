"""Batches: what waits runs together, nothing waits for others, late jobs are given up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from serving.batching import Batcher, Job


class Late(Exception):
    pass


class Recorder:
    """Runs batches of numbers; the first batch waits until it is let go."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, list[int]]] = []
        self.go = threading.Event()

    def __call__(self, key: str, jobs: Sequence[Job[str]]) -> list[Any]:
        self.batches.append((key, [job.work for job in jobs]))
        self.go.wait(10)
        return [ValueError("odd") if job.work % 2 else job.work * 10 for job in jobs]


async def submit_all(recorder: Recorder, keys: str, seconds: float = 30.0) -> list[Any]:
    batcher = Batcher(recorder, threads=1, limit=3, late=Late)
    tasks = []
    for number, key in enumerate(keys):
        tasks.append(asyncio.create_task(batcher.submit(key, number * 2, seconds=seconds)))
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.2 if seconds < 1 else 0)
    recorder.go.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    batcher.close()
    return results


def test_what_waits_runs_together_by_key_and_in_order() -> None:
    recorder = Recorder()
    results = asyncio.run(submit_all(recorder, "aabaaab"))
    assert recorder.batches == [("a", [0]), ("a", [2, 6, 8]), ("b", [4, 12]), ("a", [10])]
    assert results == [number * 20 for number in range(7)]


def test_late_jobs_are_given_up_unrun() -> None:
    recorder = Recorder()
    results = asyncio.run(submit_all(recorder, "aaa", seconds=0.15))
    assert recorder.batches == [("a", [0])]
    assert results[0] == 0
    assert [type(each) for each in results[1:]] == [Late, Late]


def test_one_failure_is_one_jobs_own() -> None:
    async def body() -> list[Any]:
        recorder = Recorder()
        recorder.go.set()
        batcher = Batcher(recorder, threads=1, limit=4, late=Late)
        jobs = [batcher.submit("a", number, seconds=5) for number in range(4)]
        results = await asyncio.gather(*jobs, return_exceptions=True)
        batcher.close()
        return list(results)

    results = asyncio.run(body())
    assert [isinstance(each, ValueError) for each in results] == [False, True, False, True]


def test_a_fault_of_the_function_reaches_every_job_and_the_thread_lives() -> None:
    def run(key: str, jobs: Sequence[Job[str]]) -> list[Any]:
        if key == "bad":
            raise MemoryError
        return [1 for _ in jobs]

    async def body() -> None:
        batcher = Batcher(run, threads=1, limit=4, late=Late)
        with pytest.raises(MemoryError):
            await batcher.submit("bad", None, seconds=5)
        assert await batcher.submit("good", None, seconds=5) == 1
        batcher.close()

    asyncio.run(body())
