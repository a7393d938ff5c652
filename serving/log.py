"""The service's log: one plain line an event on standard output."""

from __future__ import annotations

import logging
import sys

access = logging.getLogger("serving.access")


def set_up_log() -> None:
    """Lines with a time; the server's own access log is off, ours holds no token."""
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stdout,
        format="%(asctime)s %(process)d %(message)s",
        force=True,
    )
    for noisy in ("uvicorn.error", "uvicorn.access", "asyncio", "python_multipart"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def log_request(
    method: str, path: str, status: int, seconds: float, size: int, log_id: int, note: str
) -> None:
    """One line a request: what, answer's status, latency, size of the body, what answered."""
    access.info(
        "%s %s %d %.1f ms %d bytes log_id=%d %s",
        method,
        path,
        status,
        1000 * seconds,
        size,
        log_id,
        note,
    )
