"""Whatever is sent, the service answers with a reason and never with a fault of its own."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serving.errors import ServiceError
from serving.request import decode_base64, parse
from tests.serving.conftest import Endpoint

KINDS = st.sampled_from(
    [
        "application/json",
        "image/png",
        "application/octet-stream",
        "multipart/form-data",
        "multipart/form-data; boundary=x",
        "text/plain",
        "",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
BODIES = (
    st.binary(max_size=300)
    | st.binary(max_size=200).map(lambda part: b"--x\r\n" + part)
    | JSON.map(lambda value: json.dumps(value).encode())
    | st.fixed_dictionaries({"image": JSON, "top_num": JSON}).map(
        lambda value: json.dumps(value).encode()
    )
)


@settings(max_examples=150, deadline=None)
@given(body=BODIES, kind=KINDS)
def test_parsing_gives_a_sample_or_a_reason(body: bytes, kind: str) -> None:
    try:
        sample = parse(body, kind, {}, "image")
    except ServiceError as error:
        assert 400 <= error.fault.status < 500
    else:
        assert sample.payload


@settings(max_examples=200, deadline=None)
@given(payload=st.binary(min_size=1, max_size=200), head=st.sampled_from(["", "data:a/b;base64,"]))
def test_base64_comes_back(payload: bytes, head: str) -> None:
    import base64

    assert decode_base64(head + base64.b64encode(payload).decode()) == payload


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=50))
def test_any_text_is_base64_or_refused(text: str) -> None:
    try:
        decode_base64(text)
    except ServiceError as error:
        assert error.fault.code == 336003


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(body=BODIES, kind=KINDS, query=st.dictionaries(st.text(max_size=5), st.text(max_size=5)))
def test_the_service_never_fails(
    colours: Endpoint, body: bytes, kind: str, query: dict[str, str]
) -> None:
    query.pop("access_token", None)
    reply = colours.post(content=body, headers={"Content-Type": kind}, params=query)
    assert reply.status_code < 500, reply.text
    if reply.status_code != 200:
        assert reply.json()["error_code"]


@pytest.mark.parametrize("path", ["/%00", "/rpc/2.0/ai_custom/v1/classification/%2e%2e", "/a%0ab"])
def test_odd_paths(colours: Endpoint, path: str) -> None:
    reply = colours.client.post(colours.server.url + path, content=b"{}")
    assert reply.status_code == 404
    assert "Traceback" not in colours.server.log.read_text()
