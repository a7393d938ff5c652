"""Signs of life of the servers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from orchard.settings import Settings
from orchard.stack.servers import servers
from orchard.stack.state import PREFERRED_PORTS


class _Healthy(BaseHTTPRequestHandler):
    """Answers everything with 200."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    """Port of a server that answers."""
    server = HTTPServer(("127.0.0.1", 0), _Healthy)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_proxy_of_the_environment_is_passed_by(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    listed = servers(Settings(), {**dict.fromkeys(PREFERRED_PORTS, 1), "tracking": port})
    alive = {each.name: each.alive() for each in listed}
    assert alive["tracking"]
    assert not alive["service"]  # nobody listens there
