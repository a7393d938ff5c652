"""A load generator that costs little: keep-alive connections, prepared requests, no parsing.

It runs in a process of its own and reports the processor time that it took.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import re
import resource
import time
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Load:
    """What was measured.

    Attributes:
        latencies: seconds of each answered request, sorted.
        refused: requests with another status than 200.
        generator_seconds: processor time of the generator itself.
    """

    seconds: float
    latencies: list[float]
    refused: int
    generator_seconds: float

    @property
    def rate(self) -> float:
        """Answered requests a second."""
        return len(self.latencies) / self.seconds

    def percentile(self, share: float) -> float:
        """Latency in milliseconds below which `share` per cent of the requests are."""
        index = min(int(len(self.latencies) * share / 100), len(self.latencies) - 1)
        return 1000 * self.latencies[index] if self.latencies else float("nan")


def processor_times() -> dict[int, float]:
    """Seconds of processor of every process below this one: those of the server under load."""
    found = {}
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            found[process.pid] = times.user + times.system
    return found


def generate(
    url: str,
    path: str,
    bodies: Sequence[bytes],
    content_type: str,
    *,
    seconds: float,
    connections: int,
    headers: str = "",
) -> Load:
    """POST bodies in turn for a time over a number of connections, each one request at a time."""
    target = urllib.parse.urlsplit(url)
    head = f"POST {path} HTTP/1.1\r\nHost: {target.netloc}\r\nContent-Type: {content_type}\r\n"
    requests = [
        f"{head}{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body for body in bodies
    ]
    arguments = (str(target.hostname), int(target.port or 80), requests, seconds, connections)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_run, arguments)


def _run(host: str, port: int, requests: list[bytes], seconds: float, connections: int) -> Load:
    before = resource.getrusage(resource.RUSAGE_SELF)
    started = time.monotonic()
    latencies, refused = asyncio.run(_all(host, port, requests, seconds, connections))
    elapsed = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Load(elapsed, sorted(latencies), refused, spent)


async def _all(
    host: str, port: int, requests: list[bytes], seconds: float, connections: int
) -> tuple[list[float], int]:
    end = time.monotonic() + seconds
    parts = await asyncio.gather(
        *(_connection(host, port, requests, number, end) for number in range(connections))
    )
    return [each for latencies, _ in parts for each in latencies], sum(bad for _, bad in parts)


async def _connection(
    host: str, port: int, requests: list[bytes], number: int, end: float
) -> tuple[list[float], int]:
    reader, writer = await asyncio.open_connection(host, port)
    latencies: list[float] = []
    refused = 0
    while time.monotonic() < end:
        started = time.monotonic()
        writer.write(requests[number % len(requests)])
        number += 1
        head = await reader.readuntil(b"\r\n\r\n")
        found = _LENGTH.search(head)
        if found is None:
            raise ValueError(f"an answer without length: {head[:200]!r}")
        await reader.readexactly(int(found.group(1)))
        if head.split(b" ", 2)[1] == b"200":
            latencies.append(time.monotonic() - started)
        else:
            refused += 1
    writer.close()
    return latencies, refused
