"""One worker process of the service; started by the supervisor, never by hand."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import socket
import sys
import threading
import time
from pathlib import Path

import uvicorn

from orchard.settings import settings
from serving.log import set_up_log

logger = logging.getLogger(__name__)

_GRACE_SECONDS = 10
_KEEP_ALIVE_SECONDS = 30


def main() -> int:
    """Serve until SIGTERM, or until the supervisor is gone. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="serving.worker")
    parser.add_argument("--link", type=int, required=True)
    parser.add_argument("--life", type=int, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--number", type=int, required=True)
    given = parser.parse_args()
    set_up_log()
    shared = given.state / "metrics"
    shared.mkdir(exist_ok=True)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(shared)

    from prometheus_client import multiprocess

    from orchard.tasks.base import Limits
    from serving.application import Service, create
    from serving.connections import Server
    from serving.endpoints import Endpoints
    from serving.status import Status

    status = Status(given.state, given.number)
    limits = Limits(maximum_pixels=settings().maximum_pixels)
    endpoints = Endpoints(settings().serving_root, status.write, limits)
    service = Service(settings(), endpoints, status)
    config = uvicorn.Config(
        create(service),
        loop="asyncio",
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        lifespan="off",
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server = Server(config, socket.socket(fileno=given.link))
    _end_with_parent(given.life, server)
    endpoints.start()
    endpoints.looked.wait()  # a worker that knows no endpoint yet must not take requests
    asyncio.run(server.serve())
    endpoints.stop()
    service.batcher.close()
    multiprocess.mark_process_dead(os.getpid())  # type: ignore[no-untyped-call]
    return 0


def _end_with_parent(life: int, server: uvicorn.Server) -> None:
    """Stop the server when the other end of the pipe `life` is closed: the supervisor is gone."""

    def watch() -> None:
        while os.read(life, 1):
            pass
        logger.warning("The supervisor is gone; this worker ends")
        server.should_exit = True
        time.sleep(_GRACE_SECONDS + 2)
        os._exit(1)

    threading.Thread(target=watch, name="life", daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
