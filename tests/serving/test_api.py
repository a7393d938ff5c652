"""EasyDL's documented requests, the other ways in, and the address of each error."""

from __future__ import annotations

import base64
import json
import struct
import time
import zlib
from collections.abc import Callable

import httpx
import pytest

from tests.serving.bundles import LABELS, TOKEN, picture
from tests.serving.conftest import Endpoint
from tests.serving.servers import wait_for

RED = base64.b64encode(picture("red")).decode()


def names(answer: dict[str, list[dict[str, object]]]) -> list[str]:
    return [str(each["name"]) for each in answer["results"]]


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/x-www-form-urlencoded", "text/plain; charset=utf-8", ""],
)
def test_documented_request_whatever_the_content_type(colours: Endpoint, content_type: str) -> None:
    body = json.dumps({"image": RED, "top_num": 5})
    reply = colours.post(content=body, headers={"Content-Type": content_type})
    answer = reply.json()
    assert reply.status_code == 200
    assert set(answer) == {"log_id", "results", "not_sure"}
    assert isinstance(answer["log_id"], int)
    assert 0 <= answer["log_id"] < 2**53
    assert names(answer)[0] == "red"
    assert sorted(names(answer)) == sorted(LABELS)
    assert sum(each["score"] for each in answer["results"]) == pytest.approx(1.0, abs=1e-5)
    assert answer["not_sure"] is False


@pytest.mark.parametrize("value", [1, "1", 2])
def test_top_num(colours: Endpoint, value: object) -> None:
    answer = colours.post(json={"image": RED, "top_num": value}).json()
    assert len(answer["results"]) == int(str(value))


def test_not_sure_is_said_and_results_still_come(colours: Endpoint) -> None:
    import io

    from PIL import Image

    grey = io.BytesIO()
    Image.new("RGB", (20, 20), (128, 128, 128)).save(grey, "PNG")
    answer = colours.post(json={"image": base64.b64encode(grey.getvalue()).decode()}).json()
    assert answer["not_sure"] is True
    assert len(answer["results"]) == 3


def test_base64_with_a_data_head_and_with_line_breaks(colours: Endpoint) -> None:
    wrapped = base64.encodebytes(picture("red")).decode()
    for text in (f"data:image/png;base64,{RED}", wrapped):
        assert names(colours.post(json={"image": text}).json())[0] == "red"


def test_multipart_and_raw_bytes_and_bearer(colours: Endpoint) -> None:
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    upload = colours.post(
        token=None,
        headers=bearer,
        files={"file": ("a.jpg", picture("green", kind="JPEG"), "image/jpeg")},
        data={"top_num": "2"},
    )
    assert names(upload.json())[0] == "green"
    assert len(upload.json()["results"]) == 2
    for kind in ("image/png", "application/octet-stream"):
        raw = colours.post(
            token=None,
            headers={**bearer, "Content-Type": kind},
            content=picture("blue"),
            params={"top_num": "1"},
        )
        assert names(raw.json()) == ["blue"]


def huge_png(width: int, height: int) -> bytes:
    """A black picture of one bit a pixel: small as a file, huge when decoded."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content))
            + name
            + content
            + struct.pack(">I", zlib.crc32(name + content))
        )

    row = b"\0" * (1 + (width + 7) // 8)
    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    pixels = zlib.compress(row * height, 9)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def encoded(payload: bytes) -> bytes:
    return json.dumps({"image": base64.b64encode(payload).decode()}).encode()


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, 336002),
        (b"not json", 400, 336002),
        (b"[1, 2]", 400, 336002),
        (b"[" * 100_000, 400, 336002),
        (b'{"image": ', 400, 336002),
        (b"image=abc&top_num=5", 400, 336001),
        (b"{}", 400, 336006),
        (b'{"image": null}', 400, 336006),
        (b'{"image": ""}', 400, 336006),
        (b'{"image": 5}', 400, 336001),
        (b'{"image": "%%%"}', 400, 336003),
        (b'{"image": "abc"}', 400, 336003),
        ('{"image": "é"}'.encode(), 400, 336003),
        (b'{"image": "\\ud800"}', 400, 336003),
        (encoded(b"hello, this is no picture"), 400, 336005),
        (encoded(picture("red")[:60]), 400, 336005),
        (encoded(huge_png(20_000, 10_000)), 413, 336004),
        (json.dumps({"image": RED, "top_num": 0}).encode(), 400, 336001),
        (json.dumps({"image": RED, "top_num": -3}).encode(), 400, 336001),
        (json.dumps({"image": RED, "top_num": "many"}).encode(), 400, 336001),
        (json.dumps({"image": RED, "top_num": "9" * 5000}).encode(), 400, 336001),
        (json.dumps({"image": RED, "top_num": True}).encode(), 400, 336001),
        (f'{{"image": "{RED}", "top_num": NaN}}'.encode(), 400, 336001),
    ],
)
def test_bodies_that_cannot_be_used(colours: Endpoint, body: bytes, status: int, code: int) -> None:
    reply = colours.post(content=body, headers={"Content-Type": "application/json"})
    answer = reply.json()
    assert (reply.status_code, answer["error_code"]) == (status, code)
    assert set(answer) == {"log_id", "error_code", "error_msg"}
    assert len(answer["error_msg"]) > 20
    assert "Traceback" not in reply.text


def test_a_body_of_50_megabytes(colours: Endpoint) -> None:
    for content in (b"x" * 50_000_000, (b"x" * 1_000_000 for _ in range(50))):
        reply = colours.post(content=content)
        assert (reply.status_code, reply.json()["error_code"]) == (413, 336004)
    assert colours.post(json={"image": RED}).status_code == 200


def test_tokens(colours: Endpoint) -> None:
    for token in (
        None,
        "",
        "wrong",
        "é\udcff".encode("utf-8", "surrogateescape").decode("latin-1"),
    ):
        reply = colours.post(token=token, json={"image": RED})
        assert (reply.status_code, reply.json()["error_code"]) == (401, 110)
    for head in ("Bearer wrong", "Bearer", "Basic abc", "nonsense"):
        reply = colours.post(token=None, headers={"Authorization": head}, json={"image": RED})
        assert (reply.status_code, reply.json()["error_code"]) == (401, 110)


def test_addresses_that_do_not_exist(colours: Endpoint) -> None:
    reply = colours.post(endpoint="no-such-endpoint", json={"image": RED})
    assert (reply.status_code, reply.json()["error_code"]) == (404, 3)
    assert "no-such-endpoint" in reply.json()["error_msg"]
    base = colours.server.url
    other = colours.client.post(f"{base}/rpc/2.0/ai_custom/v1/detection/colours", json={})
    assert (other.status_code, other.json()["error_code"]) == (404, 3)
    get = colours.client.get(f"{base}/rpc/2.0/ai_custom/v1/classification/colours")
    assert (get.status_code, get.json()["error_code"]) == (405, 3)
    nowhere = colours.client.get(f"{base}/nowhere")
    assert (nowhere.status_code, nowhere.json()["error_code"]) == (404, 3)


def test_unusable_ways_to_ask(colours: Endpoint) -> None:
    by_address = colours.post(params={"input_type": "url"}, json={"url": "http://example.com/a"})
    assert (by_address.status_code, by_address.json()["error_code"]) == (400, 336001)
    unnamed = colours.post(data={"top_num": "2"}, files={"other": b""})
    assert unnamed.json()["error_code"] == 336006
    broken = colours.post(
        content=b"--x\r\nnonsense", headers={"Content-Type": "multipart/form-data; boundary=x"}
    )
    assert broken.json()["error_code"] in (336001, 336006)
    no_boundary = colours.post(content=b"abc", headers={"Content-Type": "multipart/form-data"})
    assert (no_boundary.status_code, no_boundary.json()["error_code"]) == (400, 336001)


def test_a_bundle_by_name(colours: Endpoint) -> None:
    good = colours.post(json={"image": RED}, headers={"X-Orchard-Bundle": colours.bundle})
    assert good.status_code == 200
    bad = colours.post(json={"image": RED}, headers={"X-Orchard-Bundle": "f" * 16})
    assert (bad.status_code, bad.json()["error_code"]) == (503, 336100)


def test_health_readiness_description_and_page(colours: Endpoint) -> None:
    base = colours.server.url
    assert colours.client.get(f"{base}/health").json() == {"status": "ok"}
    ready = colours.client.get(f"{base}/ready").json()
    assert ready["ready"] is True
    assert ready["endpoints"]["colours"]["loaded"] == [colours.bundle]
    status = colours.client.get(f"{base}/endpoints/colours").json()
    assert status["known"] is True
    assert len(status["processes"]) == status["expected_processes"] == 2
    assert colours.client.get(f"{base}/endpoints/other").json()["known"] is False
    paths = colours.client.get(f"{base}/openapi.json").json()["paths"]
    assert "/rpc/2.0/ai_custom/v1/{segment}/{endpoint}" in paths
    page = colours.client.get(f"{base}/docs").text
    assert "Try it" in page
    assert "http://" not in page
    assert "https://" not in page


def test_metrics_count_all_processes(colours: Endpoint) -> None:
    def count() -> float:
        lines = colours.client.get(f"{colours.server.url}/metrics").text.splitlines()
        wanted = 'orchard_service_requests_total{code="0",endpoint="colours",status="200"}'
        return sum(float(line.split()[-1]) for line in lines if line.startswith(wanted))

    before = settled(count)
    for _ in range(20):
        url = f"{colours.server.url}/rpc/2.0/ai_custom/v1/classification/colours"
        httpx.post(
            url, params={"access_token": TOKEN}, json={"image": RED}, trust_env=False
        ).raise_for_status()
    assert settled(count) == before + 20


def settled(count: Callable[[], float]) -> float:
    """A count that has come to rest: requests are counted after they were answered."""
    seen = [count()]

    def rests() -> bool:
        time.sleep(0.3)
        seen.append(count())
        return seen[-1] == seen[-2]

    wait_for(rests)
    return seen[-1]


def test_log_has_a_line_a_request_and_no_token(colours: Endpoint) -> None:
    answer = colours.post(json={"image": RED}).json()
    named = f"log_id={answer['log_id']}"
    wait_for(lambda: named in colours.server.log.read_text())
    log = colours.server.log.read_text()
    line = next(each for each in log.splitlines() if named in each)
    assert " 200 " in line
    assert " ms " in line
    assert colours.bundle in line
    assert TOKEN not in log
    assert "Traceback" not in log
