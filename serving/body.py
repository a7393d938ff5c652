"""Reading a request's body under a limit that holds while it streams.

What a client sends after it was answered is read and forgotten by the server, so an early answer
reaches also those clients that read only when they have sent everything.
"""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect, Request

from serving.errors import INPUT_TOO_LARGE, INVALID_ARGUMENT, UPLOAD_TOO_SLOW, ServiceError

UPLOAD_SECONDS = 30.0
"""An upload that takes longer is given up, so that slow senders do not hold all places."""


async def read_body(request: Request, limit: int) -> bytes:
    """The whole body, at most `limit` bytes of it in memory. Raises ServiceError."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    try:
        async with asyncio.timeout(UPLOAD_SECONDS):
            return await _collect(request, limit)
    except TimeoutError:
        raise ServiceError(
            UPLOAD_TOO_SLOW, f"the upload took more than {UPLOAD_SECONDS:.0f} seconds"
        ) from None
    except ClientDisconnect:
        raise ServiceError(INVALID_ARGUMENT, "the upload broke off") from None


async def _collect(request: Request, limit: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        chunks.append(chunk)
    return b"".join(chunks)


def _too_large(limit: int) -> ServiceError:
    return ServiceError(
        INPUT_TOO_LARGE,
        f"a request may have {limit / 1024**2:.0f} MB at most; send a smaller file",
    )
