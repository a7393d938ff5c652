"""Workers that die, a supervisor that dies, more requests than can be answered."""

from __future__ import annotations

import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from tests.programs import lives
from tests.serving import servers
from tests.serving.bundles import TOKEN, deploy, make_bundle, picture
from tests.serving.servers import wait_for

PATH = "/rpc/2.0/ai_custom/v1/classification/"


def ask(url: str, payload: bytes | None = None) -> httpx.Response:
    return httpx.post(
        f"{url}{PATH}colours",
        params={"access_token": TOKEN},
        content=payload or picture("red"),
        headers={"Content-Type": "image/png"},
        timeout=60.0,
        trust_env=False,
    )


def workers(url: str) -> set[int]:
    reply = httpx.get(f"{url}/endpoints/colours", trust_env=False, timeout=60.0)
    return {each["process"] for each in reply.json()["processes"]}


def test_a_killed_worker_is_replaced_and_no_process_stays(tmp_path: Path) -> None:
    root = tmp_path / "serving"
    deploy(root, "colours", [(make_bundle(root / "colours" / "bundles"), 1)])
    with servers.service(root, tmp_path / "service.log") as server:
        wait_for(lambda: len(workers(server.url)) == 2)
        before = workers(server.url)
        victim = min(before)
        with ThreadPoolExecutor(8) as clients:
            asked = [clients.submit(ask, server.url) for _ in range(120)]
            wait_for(lambda: sum(each.done() for each in asked) >= 20)
            os.kill(victim, signal.SIGKILL)
        lost = [each for each in asked if each.exception() is not None]
        assert len(lost) <= 8, "more was lost than one request a client"
        assert {each.result().status_code for each in asked if each not in lost} == {200}
        wait_for(lambda: len(workers(server.url)) == 2)
        after = workers(server.url)
        assert victim not in after
        assert len(after & before) == 1
        os.kill(min(after), signal.SIGKILL)  # with nothing on it, nothing is lost
        assert [ask(server.url).status_code for _ in range(20)] == [200] * 20
        wait_for(lambda: len(workers(server.url)) == 2)
        after = workers(server.url)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(10)
        wait_for(lambda: not any(lives(each) for each in after), 30)


def test_sigterm_ends_everything_and_a_port_in_use_is_said(tmp_path: Path) -> None:
    root = tmp_path / "serving"
    deploy(root, "colours", [(make_bundle(root / "colours" / "bundles"), 1)])
    with servers.service(root, tmp_path / "service.log") as server:
        wait_for(lambda: len(workers(server.url)) == 2)
        children = workers(server.url)
        port = int(server.url.rpartition(":")[2])
        try:
            with servers.service(root, tmp_path / "second.log", service_port=port):
                raise AssertionError("two services listen on one port")
        except AssertionError as error:
            assert "cannot listen" in str(error)
        server.process.terminate()
        assert server.process.wait(30) == 0
        assert not any(lives(each) for each in children)


def test_overload_is_refused_and_what_was_accepted_is_answered_in_time(tmp_path: Path) -> None:
    root = tmp_path / "serving"
    slow = make_bundle(root / "colours" / "bundles", layers=10, side=256)
    deploy(root, "colours", [(slow, 1)])
    with servers.service(
        root, tmp_path / "service.log", processes=1, service_maximum_in_flight=6
    ) as server:
        started = time.monotonic()
        ask(server.url)
        alone = time.monotonic() - started
        seconds: list[float] = []
        refused: list[httpx.Response] = []

        def load(_: int) -> None:
            begun = time.monotonic()
            reply = ask(server.url)
            if reply.status_code == 200:
                seconds.append(time.monotonic() - begun)
            else:
                refused.append(reply)

        with ThreadPoolExecutor(40) as pool:
            list(pool.map(load, range(160)))
        assert refused
        assert {each.status_code for each in refused} == {429}
        assert all(each.json()["error_code"] == 18 for each in refused)
        assert all(int(each.headers["Retry-After"]) >= 1 for each in refused)
        assert len(seconds) >= 6
        assert max(seconds) < max(40 * alone, 5.0)
        assert ask(server.url).status_code == 200


def test_a_slow_or_broken_upload_holds_nobody_up(tmp_path: Path) -> None:
    root = tmp_path / "serving"
    deploy(root, "colours", [(make_bundle(root / "colours" / "bundles"), 1)])
    with servers.service(root, tmp_path / "service.log", processes=1) as server:
        port = int(server.url.rpartition(":")[2])
        head = f"POST {PATH}colours?access_token={TOKEN} HTTP/1.1\r\nHost: x\r\n"
        slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(10)]
        for each in slow:
            each.sendall(f"{head}Content-Length: 1000\r\n\r\nabc".encode())
        assert ask(server.url).status_code == 200
        for each in slow:
            each.close()
        wait_for(lambda: "orchard_service_in_flight 0.0" in metrics(server.url))
        assert ask(server.url).status_code == 200
        assert "Traceback" not in server.log.read_text()


def metrics(url: str) -> str:
    return httpx.get(f"{url}/metrics", trust_env=False, timeout=60.0).text


def test_the_largest_number_of_pixels_is_a_setting(tmp_path: Path) -> None:
    root = tmp_path / "serving"
    deploy(root, "colours", [(make_bundle(root / "colours" / "bundles"), 1)])
    log = tmp_path / "service.log"
    with servers.service(root, log, processes=1, maximum_pixels=1200) as server:
        assert ask(server.url, picture("red", (40, 30))).status_code == 200
        refused = ask(server.url, picture("red", (40, 31)))
    assert refused.status_code == 413
    assert refused.json()["error_code"] == 336004
    assert "pixels" in refused.json()["error_msg"]
