"""Asking an endpoint from the command line: what a person is told when something is missing."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from orchard.api.predicting import predict
from orchard.catalog import deployments
from orchard.catalog.connection import documents
from orchard.errors import BadInput, NotFound, TryAgain
from orchard.publishing import tokens
from orchard.settings import settings


class _Service(HTTPServer):
    """Gives the answer that the test has set, and keeps what was asked."""

    status = 200
    content = b"{}"
    asked: tuple[str, Any] = ("", None)


class _Handler(BaseHTTPRequestHandler):
    server: _Service

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked = (self.path, json.loads(body))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def service(orchard_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Service]:
    """A service in place of the real one, and the endpoint `line` with its token."""
    server = _Service(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    monkeypatch.setenv("ORCHARD_SERVICE_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    settings.cache_clear()
    deployments.switch(
        documents(),
        settings().owner,
        "line",
        project="keys",
        task="image_classification",
        bundles=[{"bundle": "0" * 16, "weight": 1}],
    )
    tokens.ensure(orchard_home, "line")
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A file whose name needs quoting."""
    path = tmp_path / "a picture.jpg"
    path.write_bytes(b"bytes")
    return path


def test_the_answer_comes_with_a_command_that_holds_no_token(
    service: _Service, sample: Path, orchard_home: Path
) -> None:
    service.content = b'{"results": []}'
    found = predict("line", sample)
    token = tokens.ensure(orchard_home, "line")
    assert found.answer == {"results": []}
    path, body = service.asked
    assert path == f"/rpc/2.0/ai_custom/v1/classification/line?access_token={token}"
    assert body == {"image": "Ynl0ZXM="}
    assert token not in found.curl
    assert f"'{sample}'" in found.curl


def test_what_is_missing_is_said(service: _Service, sample: Path, orchard_home: Path) -> None:
    with pytest.raises(NotFound, match="no such endpoint"):
        predict("other", sample)
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        predict("line", sample.with_name("none.jpg"))
    tokens.path_of(orchard_home, "line").unlink()
    with pytest.raises(NotFound, match="token is not on this machine") as caught:
        predict("line", sample)
    assert "python -m orchard token line" in caught.value.way_out


@pytest.mark.parametrize(
    ("status", "content", "kind", "said"),
    [
        (400, b'{"error_code": 336005, "error_msg": "no picture"}', BadInput, "336005 no picture"),
        (429, b'{"error_code": 18, "error_msg": "busy"}', TryAgain, "18 busy"),
        (503, b'{"error_code": 336100, "error_msg": "no model"}', TryAgain, "336100"),
        (502, b"<html>Bad gateway</html>", TryAgain, "does not answer"),
    ],
)
def test_what_the_service_refuses_is_told_by_its_kind(
    service: _Service,
    sample: Path,
    status: int,
    content: bytes,
    kind: type[Exception],
    said: str,
) -> None:
    service.status, service.content = status, content
    with pytest.raises(kind, match=said):
        predict("line", sample)


def test_a_service_that_is_away_may_be_asked_again(
    service: _Service, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCHARD_SERVICE_URL", "http://127.0.0.1:1")
    settings.cache_clear()
    with pytest.raises(TryAgain, match="does not answer"):
        predict("line", sample)
