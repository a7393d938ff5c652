"""What surrounds every request: its log id, its line in the log, its metrics, its last resort."""

from __future__ import annotations

import json
import logging
import secrets
import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orchard.names import SERVICE_PREFIX
from serving import metrics
from serving.errors import BAD_TOKEN, INTERNAL, ServiceError
from serving.log import log_request

logger = logging.getLogger(__name__)

_LOG_ID_BITS = 53
"""A log id is a number that JavaScript keeps exactly."""

_QUIET = frozenset({"/health", "/ready", "/metrics"})


class Observation:
    """ASGI middleware. The request's `state` has `log_id`, and takes what the line shall say:

    `endpoint` (a name that exists, for the metrics), `note`, `size` of the body, error `code`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.monotonic()
        state: dict[str, Any] = {"log_id": secrets.randbits(_LOG_ID_BITS)}
        state.update(endpoint="", note="-", size=0, code=0)
        scope["state"] = state
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception:
            logger.exception("A request met a fault")
            if status == 0:
                error = ServiceError(INTERNAL, "the service met a fault; its log says more")
                await refusal(Request(scope), error)(scope, receive, noted)
        _report(scope, state, status, time.monotonic() - started)


def refusal(request: Request, error: ServiceError) -> Response:
    """The answer to a request that gets no prediction."""
    request.state.code = error.fault.code
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    if error.fault is BAD_TOKEN:
        headers["WWW-Authenticate"] = "Bearer"
    return as_json(error.body(request.state.log_id), error.fault.status, headers)


def as_json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer."""
    content = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(content, status, headers, media_type="application/json")


def _report(scope: Scope, state: dict[str, Any], status: int, seconds: float) -> None:
    path = scope["path"]
    if path.startswith(SERVICE_PREFIX):
        metrics.REQUESTS.labels(state["endpoint"], status, state["code"]).inc()
        metrics.SECONDS.labels(state["endpoint"]).observe(seconds)
    if path not in _QUIET:
        shown = path[:120].encode("unicode_escape").decode()
        log_request(
            scope["method"], shown, status, seconds, state["size"], state["log_id"], state["note"]
        )
