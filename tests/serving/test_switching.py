"""A change of the live bundles under load, bundles that do not load, shares of traffic."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.serving import servers
from tests.serving.bundles import TOKEN, deploy, make_bundle, picture
from tests.serving.conftest import Endpoint
from tests.serving.servers import wait_for


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Endpoint]:
    """A service of two processes that a test may change."""
    root = tmp_path / "serving"
    bundle = make_bundle(root / "colours" / "bundles")
    deploy(root, "colours", [(bundle, 1)])
    with (
        servers.service(root, tmp_path / "service.log") as server,
        httpx.Client(trust_env=False, timeout=60.0) as client,
    ):
        endpoint = Endpoint(server, client, root, bundle)
        wait_for(lambda: len(endpoint.processes()) == 2)
        yield endpoint


def live(endpoint: Endpoint) -> list[list[str]]:
    return [[each["bundle"] for each in one["bundles"]] for one in endpoint.processes()]


def red_score(
    endpoint: Endpoint, client: httpx.Client | None = None, headers: dict[str, str] | None = None
) -> float:
    url = f"{endpoint.server.url}/rpc/2.0/ai_custom/v1/classification/colours"
    reply = (client or endpoint.client).post(
        url,
        params={"access_token": TOKEN, "top_num": "1"},
        content=picture("red"),
        headers={"Content-Type": "image/png", **(headers or {})},
    )
    assert reply.status_code == 200, reply.text
    return round(float(reply.json()["results"][0]["score"]), 4)


def test_no_request_fails_while_the_model_switches(own: Endpoint) -> None:
    second = make_bundle(own.root / "colours" / "bundles", sharpness=2.0)
    seen: Counter[float] = Counter()
    failures: list[str] = []
    stop = threading.Event()

    def load() -> None:
        with httpx.Client(trust_env=False, timeout=60.0) as client:
            while not stop.is_set():
                try:
                    seen[red_score(own, client)] += 1
                except (AssertionError, httpx.HTTPError) as error:
                    failures.append(repr(error))

    with ThreadPoolExecutor(8) as pool:
        for _ in range(8):
            pool.submit(load)
        time.sleep(1.0)
        for revision in (2, 3, 4):
            name = second if revision % 2 == 0 else own.bundle
            deploy(own.root, "colours", [(name, 1)], revision=revision)
            wait_for(lambda expected=name: live(own) == [[expected]] * 2)  # type: ignore[misc]
        time.sleep(0.5)
        stop.set()
    assert not failures
    assert len(seen) == 2
    assert sum(seen.values()) > 50


def test_a_bundle_that_does_not_load_keeps_the_old_one(own: Endpoint) -> None:
    before = red_score(own)
    broken = make_bundle(own.root / "colours" / "bundles", sharpness=3.0)
    graph = own.root / "colours" / "bundles" / broken / "model.onnx"
    graph.write_bytes(graph.read_bytes()[:-10])
    for name in (broken, "0" * 16):
        deploy(own.root, "colours", [(name, 1)], revision=2)
        file = own.root / "colours" / "deployment.json"
        digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        wait_for(
            lambda digest=digest: all(  # type: ignore[misc]
                one["failed_digest"] == digest and one["error"] for one in own.processes()
            )
        )
        assert live(own) == [[own.bundle]] * 2
        assert red_score(own) == before
    (own.root / "colours" / "deployment.json").write_text("{ no json")
    time.sleep(1.0)
    assert red_score(own) == before
    deploy(own.root, "colours", [(own.bundle, 1)], revision=3)
    wait_for(lambda: all(not one["error"] for one in own.processes()))


def test_golden_scores_are_checked(own: Endpoint) -> None:
    """A bundle that is whole but gives other scores than its golden ones is refused."""
    from orchard.bundle import bundle_hash

    folder = own.root / "colours" / "bundles"
    other = make_bundle(folder, sharpness=5.0)
    forged = folder / "forged"
    (folder / other).rename(forged)
    graph = (folder / own.bundle / "model.onnx").read_bytes()
    (forged / "model.onnx").write_bytes(graph)
    name = bundle_hash(forged)
    forged.rename(folder / name)
    deploy(own.root, "colours", [(name, 1)], revision=2)
    wait_for(lambda: all("golden" in one["error"] for one in own.processes()))
    assert live(own) == [[own.bundle]] * 2


def test_shares_of_traffic_and_a_staged_bundle(own: Endpoint) -> None:
    second = make_bundle(own.root / "colours" / "bundles", sharpness=2.0)
    third = make_bundle(own.root / "colours" / "bundles", sharpness=1.0)
    first_score = red_score(own)
    deploy(own.root, "colours", [(own.bundle, 3), (second, 1), (third, 0)], revision=2)
    wait_for(lambda: all(third in one["loaded"] for one in own.processes()))
    seen = Counter(red_score(own) for _ in range(200))
    assert len(seen) == 2
    assert 115 <= seen[first_score] <= 180
    staged = {"X-Orchard-Bundle": third}
    assert red_score(own, headers=staged) not in seen


def test_withdrawn_token_and_removed_endpoint(own: Endpoint) -> None:
    deploy(own.root, "colours", [("0" * 16, 1)], revision=2, token="another")
    wait_for(lambda: own.post(json={}).status_code == 401)
    assert own.post(token="another", json={}).json()["error_code"] == 336006
    (own.root / "colours" / "deployment.json").unlink()
    wait_for(lambda: own.post(json={}).status_code == 404)
