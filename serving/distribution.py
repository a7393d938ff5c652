"""Gives each connection to the worker that has the fewest, by passing its file descriptor.

Workers that accept from one shared port get unequal shares: of connections that are opened at once,
a worker that is awake takes many before a sibling has woken up, and keep-alive leaves them there.
So the supervisor alone accepts. It hands a connection over a Unix socket (SCM_RIGHTS, see unix(7))
and keeps its own descriptor until the worker says that it has taken the connection; what a worker
that died had not taken goes to another. A worker reports by one byte each: ready, taken, closed.
"""

from __future__ import annotations

import logging
import selectors
import socket
import time
from collections import deque
from dataclasses import dataclass, field

logger = logging.getLogger(__name__)

READY, TAKEN, CLOSED = b"r", b"t", b"c"

_STALLED_SECONDS = 0.5
_PAUSE_SECONDS = 0.1
_MESSAGE_BYTES = 4096


@dataclass(eq=False)
class _Link:
    """A worker as the supervisor sees it.

    Attributes:
        open: connections that were given and are not closed.
        given: when it was given one last, in seconds of time.monotonic().
        untaken: connections that it has not taken yet, each with the time when it was given.
    """

    number: int
    socket: socket.socket
    ready: bool = False
    open: int = 0
    given: float = 0.0
    untaken: deque[tuple[socket.socket, float]] = field(default_factory=deque)

    def rank(self, now: float) -> tuple[bool, int, float]:
        """Who comes first gets the next connection; who has stopped taking any comes last."""
        stalled = bool(self.untaken) and now - self.untaken[0][1] > _STALLED_SECONDS
        return stalled, self.open, self.given


class Distributor:
    """Accepts connections and gives them out; nothing is accepted while no worker is ready.

    Args:
        listener: the listening socket; it is closed by `close`.
    """

    def __init__(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._listens = False
        self._selector = selectors.DefaultSelector()
        self._links: dict[int, _Link] = {}
        self._waiting: deque[socket.socket] = deque()

    def connect(self, number: int) -> socket.socket:
        """A new worker's end of its link; it takes the place of the one of this number before."""
        if number in self._links:
            self._drop(self._links[number])
        own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        own.setblocking(False)
        self._links[number] = link = _Link(number, own)
        self._selector.register(own, selectors.EVENT_READ, link)
        return other

    def serve(self, seconds: float) -> None:
        """Wait up to a time for something to do, and do it."""
        self._follow_listener()
        for key, _ in self._selector.select(seconds):
            if key.data is None:
                self._accept()
            elif self._links.get(key.data.number) is key.data:
                self._hear(key.data)
        self._give_out()

    def close(self) -> None:
        """Accept nothing more; who waits for a worker is sent away."""
        self._selector.close()
        self._listener.close()
        for link in self._links.values():
            link.socket.close()
            for connection, _ in link.untaken:
                connection.close()
        for connection in self._waiting:
            connection.close()
        self._links.clear()
        self._waiting.clear()

    def _follow_listener(self) -> None:
        listens = not self._waiting and any(link.ready for link in self._links.values())
        if listens and not self._listens:
            self._selector.register(self._listener, selectors.EVENT_READ, None)
        elif self._listens and not listens:
            self._selector.unregister(self._listener)
        self._listens = listens

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError as error:
            logger.error("A connection could not be accepted: %s", error)
            time.sleep(_PAUSE_SECONDS)
            return
        connection.setblocking(False)
        self._waiting.append(connection)

    def _give_out(self) -> None:
        while self._waiting:
            now = time.monotonic()
            ready = [link for link in self._links.values() if link.ready]
            if not any(self._give(link, now) for link in sorted(ready, key=lambda e: e.rank(now))):
                return

    def _give(self, link: _Link, now: float) -> bool:
        """Give the first that waits to a worker. False where it can take none now."""
        try:
            socket.send_fds(link.socket, [b"+"], [self._waiting[0].fileno()])
        except OSError:  # its end is closed or its queue is full
            return False
        link.untaken.append((self._waiting.popleft(), now))
        link.open += 1
        link.given = now
        return True

    def _hear(self, link: _Link) -> None:
        try:
            said = link.socket.recv(_MESSAGE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        if not said:
            self._drop(link)
            return
        link.ready = link.ready or READY in said
        for _ in range(said.count(TAKEN)):
            link.untaken.popleft()[0].close()
        link.open -= said.count(CLOSED)

    def _drop(self, link: _Link) -> None:
        """Forget a worker; what it had not taken waits for another."""
        del self._links[link.number]
        self._selector.unregister(link.socket)
        link.socket.close()
        self._waiting.extendleft(connection for connection, _ in reversed(link.untaken))
