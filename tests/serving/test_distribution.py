"""Who gets a connection: the worker with the fewest; nobody's is lost when a worker dies."""

from __future__ import annotations

import json
import re
import socket
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

from serving import distribution
from serving.distribution import CLOSED, READY, TAKEN, Distributor
from tests.serving.bundles import TOKEN, picture
from tests.serving.conftest import PATH, Endpoint
from tests.serving.servers import wait_for


class Hall:
    """A distributor with workers that this test plays, and clients of it."""

    def __init__(self) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        self.address = listener.getsockname()
        self.distributor = Distributor(listener)
        self.workers: dict[int, socket.socket] = {}
        self.clients: list[socket.socket] = []

    def worker(self, number: int, *, ready: bool = True) -> None:
        self.workers[number] = worker = self.distributor.connect(number)
        worker.setblocking(False)
        if ready:
            self.say(number, READY)

    def say(self, number: int, message: bytes) -> None:
        self.workers[number].send(message)
        self.turn()

    def turn(self) -> None:
        for _ in range(5):
            self.distributor.serve(0.01)

    def clients_come(self, count: int) -> None:
        self.clients += [socket.create_connection(self.address) for _ in range(count)]
        for _ in range(count):
            self.turn()

    def take(self, number: int) -> list[socket.socket]:
        """What was given to a worker, taken as a worker does."""
        taken = []
        while True:
            try:
                _, descriptors, _, _ = socket.recv_fds(self.workers[number], 1, 1)
            except BlockingIOError:
                return taken
            taken.append(socket.socket(fileno=descriptors[0]))
            self.say(number, TAKEN)

    def end(self) -> None:
        self.distributor.close()
        for each in (*self.workers.values(), *self.clients):
            each.close()


@pytest.fixture
def hall() -> Iterator[Hall]:
    made = Hall()
    yield made
    made.end()


def close(connections: list[socket.socket]) -> None:
    for each in connections:
        each.close()


def test_each_gets_the_same_number_and_a_bigger_share_of_what_it_has_less(hall: Hall) -> None:
    for number in range(3):
        hall.worker(number)
    hall.clients_come(9)
    taken = {number: hall.take(number) for number in range(3)}
    assert [len(each) for each in taken.values()] == [3, 3, 3]
    hall.say(1, CLOSED * 3)
    hall.clients_come(3)
    assert [len(hall.take(number)) for number in range(3)] == [0, 3, 0]
    for each in taken.values():
        close(each)


def test_nobody_is_accepted_before_a_worker_is_ready(hall: Hall) -> None:
    hall.worker(0, ready=False)
    hall.clients_come(2)
    assert hall.take(0) == []
    hall.say(0, READY)
    hall.turn()
    taken = hall.take(0)
    assert len(taken) == 2
    close(taken)


def test_what_a_dead_worker_had_not_taken_is_answered_by_another(hall: Hall) -> None:
    hall.worker(0)
    hall.clients_come(3)
    hall.worker(1)
    hall.workers[0].close()
    hall.turn()
    taken = hall.take(1)
    assert len(taken) == 3
    for each, client in zip(taken, hall.clients, strict=True):
        assert each.getpeername() == client.getsockname()
        each.sendall(b"answer")
        each.close()
        assert client.recv(100) == b"answer"
        assert client.recv(100) == b"", "the supervisor still holds a connection that was taken"


def test_a_worker_that_takes_nothing_gets_nothing_more(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distribution, "_STALLED_SECONDS", 0.0)
    hall.worker(0)
    hall.worker(1)
    hall.clients_come(1)
    given = next(number for number in (0, 1) if len(hall.distributor._links[number].untaken))
    for _ in range(4):
        hall.clients_come(1)
        close(hall.take(1 - given))
    stuck = hall.take(given)
    assert len(stuck) == 1
    close(stuck)


def test_connections_that_are_opened_at_once_are_shared_equally(colours: Endpoint) -> None:
    """Each burst of eight gives every worker work; all stay open, as keep-alive leaves them."""
    port = int(colours.server.url.rpartition(":")[2])
    path = f"{PATH}colours?access_token={TOKEN}"
    kept: list[HTTPConnection] = []
    try:
        for _ in range(4):
            burst = [HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(8)]
            kept += burst
            for each in burst:
                each.connect()
            for each in burst:
                each.request("POST", path, picture("red"), {"Content-Type": "image/png"})
            names = [str(json.loads(each.getresponse().read())["log_id"]) for each in burst]
            wait_for(lambda names=names: len(processes_of(colours, names)) == 8)  # type: ignore[misc]
            shares = Counter(processes_of(colours, names).values())
            assert len(shares) == 2
            assert min(shares.values()) >= 3
    finally:
        for each in kept:
            each.close()


def processes_of(endpoint: Endpoint, names: list[str]) -> dict[str, str]:
    """Which process answered a request, by its log id, as the log says."""
    found = {}
    for line in endpoint.server.log.read_text().splitlines():
        matched = re.match(r"\S+ \S+ (\d+) .*log_id=(\d+)", line)
        if matched and matched.group(2) in names:
            found[matched.group(2)] = matched.group(1)
    return found
