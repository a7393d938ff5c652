"""A worker's side of `serving.distribution`: takes the connections that the supervisor gives it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from serving.distribution import CLOSED, READY, TAKEN


class Server(uvicorn.Server):
    """uvicorn on connections that come over a link instead of from a listening socket.

    Args:
        link: the worker's end of the link to the supervisor.
    """

    def __init__(self, config: uvicorn.Config, link: socket.socket) -> None:
        super().__init__(config)
        link.setblocking(False)
        self._link = link
        self._unsaid = bytearray()
        self._connection_class = _connection_class(self._say)
        self._tasks: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say that this worker is ready, and take what comes."""
        await super().startup(sockets=[])
        asyncio.get_running_loop().add_reader(self._link, self._take)
        self._say(READY)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more; what was given and not taken goes to a sibling. Then end as uvicorn does."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._link)
        loop.remove_writer(self._link)
        self._link.close()
        await super().shutdown(sockets)

    def _take(self) -> None:
        try:
            _, descriptors, _, _ = socket.recv_fds(self._link, 1, 1)
        except BlockingIOError:
            return
        except OSError:
            descriptors = []
        if not descriptors:  # the supervisor is gone
            asyncio.get_running_loop().remove_reader(self._link)
            return
        # Said before a byte is read: what was not taken may be given to another.
        self._say(TAKEN)
        task = asyncio.get_running_loop().create_task(self._receive(descriptors[0]))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _receive(self, descriptor: int) -> None:
        connection = socket.socket(fileno=descriptor)
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        return self._connection_class(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )

    def _say(self, message: bytes) -> None:
        self._unsaid += message
        self._say_rest()

    def _say_rest(self) -> None:
        """Send what the link takes now, the rest when it takes more."""
        loop = asyncio.get_running_loop()
        try:
            sent = self._link.send(self._unsaid)
        except BlockingIOError:
            sent = 0
        except OSError:  # closed on either side: nobody listens any more
            self._unsaid.clear()
            return
        del self._unsaid[:sent]
        if self._unsaid:
            loop.add_writer(self._link, self._say_rest)
        else:
            loop.remove_writer(self._link)


def _connection_class(say: Callable[[bytes], None]) -> Any:
    """uvicorn's protocol of a connection, which says when it is closed."""

    class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            say(CLOSED)

    return Connection
