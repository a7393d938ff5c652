"""Fetching over http, from a real server on this machine."""

from __future__ import annotations

import contextlib
import ipaddress
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from orchard.errors import BadInput, TryAgain
from orchard.sources import Limits
from orchard.sources.web import Address, download, is_public
from tests.orchard.sources.helpers import LIMITS


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if path == "/loop":
            self._answer(302, b"", Location="/loop")
        elif path == "/moved":
            self._answer(301, b"", Location="/a.zip")
        elif path == "/inside":
            self._answer(302, b"", Location=f"http://10.0.0.1:{self.server.server_port}/a.zip")  # type: ignore[attr-defined]
        elif path == "/file":
            self._answer(302, b"", Location="file:///etc/passwd")
        elif path == "/away":
            self._answer(503, b"")
        elif path == "/short":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"x" * 10)
        elif path == "/endless":
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # the client hangs up, as it should
                for _ in range(100):
                    self.wfile.write(b"x" * 100)
        elif path == "/a.zip":
            self._answer(200, b"content")
        else:
            self._answer(404, b"")

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as http_server:
        thread = threading.Thread(target=http_server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{http_server.server_port}"
        http_server.shutdown()
        thread.join()


def loopback_only(address: Address) -> bool:
    return address.is_loopback


def test_it_fetches_and_follows_redirects(server: str, tmp_path: Path) -> None:
    for name in ("a.zip?x=y", "moved"):
        assert download(f"{server}/{name}", LIMITS, tmp_path, loopback_only).read_bytes() == (
            b"content"
        )


def test_this_machine_is_not_fetched_from(server: str, tmp_path: Path) -> None:
    port = server.rsplit(":", 1)[1]
    for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1"):
        with pytest.raises(BadInput, match="private network"):
            download(f"http://{host}:{port}/a.zip", LIMITS, tmp_path)


@pytest.mark.parametrize(
    ("path", "error", "text"),
    [
        ("loop", BadInput, "from one to the next"),
        ("inside", BadInput, "private network"),
        ("file", BadInput, "cannot be fetched"),
        ("none?token=abc", BadInput, "404"),
        ("away", TryAgain, "503"),
        ("short", TryAgain, "ended too early"),
    ],
)
def test_faults_are_sentences(
    server: str, tmp_path: Path, path: str, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text) as caught:
        download(f"{server}/{path}", LIMITS, tmp_path, loopback_only)
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize("path", ["endless", "a.zip"])
def test_too_much_is_cut_off(server: str, tmp_path: Path, path: str) -> None:
    small = Limits(archive_bytes=5, archive_ratio=2, entry_bytes=4, entries=2)
    with pytest.raises(BadInput, match="more than is allowed"):
        download(f"{server}/{path}", small, tmp_path, loopback_only)


def test_which_addresses_are_public() -> None:
    for text in ("93.184.216.34", "2606:2800:220:1::1"):
        assert is_public(ipaddress.ip_address(text)), text
    for text in [
        "10.1.2.3",
        "127.0.0.1",
        "169.254.169.254",
        "192.168.0.1",
        "172.16.0.1",
        "100.64.0.1",
        "224.0.0.1",
        "0.0.0.0",
        "::1",
        "fe80::1",
        "fc00::1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ]:
        assert not is_public(ipaddress.ip_address(text)), text
