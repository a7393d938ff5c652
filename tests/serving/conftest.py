"""A prediction service with one endpoint, shared by the tests that do not change it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serving import servers
from tests.serving.bundles import TOKEN, deploy, make_bundle

PATH = "/rpc/2.0/ai_custom/v1/classification/"


@dataclass
class Endpoint:
    """The endpoint `colours` of a running service."""

    server: servers.Running
    client: httpx.Client
    root: Path
    bundle: str

    def post(
        self,
        *,
        endpoint: str = "colours",
        token: str | None = TOKEN,
        headers: dict[str, str] | None = None,
        params: dict[str, str] | None = None,
        **body: Any,
    ) -> httpx.Response:
        """Ask for a prediction."""
        query = {} if token is None else {"access_token": token}
        url = f"{self.server.url}{PATH}{endpoint}"
        return self.client.post(url, params={**query, **(params or {})}, headers=headers, **body)

    def processes(self) -> list[dict[str, Any]]:
        """What each process has loaded of the endpoint."""
        reply = self.client.get(f"{self.server.url}/endpoints/colours")
        found: list[dict[str, Any]] = reply.json()["processes"]
        return found


@pytest.fixture(scope="session")
def colours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A service of two processes with the endpoint `colours`; nobody changes it."""
    folder = tmp_path_factory.mktemp("service")
    root = folder / "serving"
    bundle = make_bundle(root / "colours" / "bundles")
    deploy(root, "colours", [(bundle, 1)])
    with (
        servers.service(root, folder / "service.log") as server,
        httpx.Client(trust_env=False, timeout=60.0) as client,
    ):
        endpoint = Endpoint(server, client, root, bundle)
        servers.wait_for(lambda: len(endpoint.processes()) == 2)
        yield endpoint
