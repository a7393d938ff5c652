"""Asking an endpoint about one sample."""

from __future__ import annotations

import base64
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from orchard.catalog import deployments
from orchard.catalog.connection import documents
from orchard.errors import BadInput, NotFound, TryAgain
from orchard.publishing import tokens
from orchard.publishing.service import ServiceClient
from orchard.settings import settings
from orchard.tasks import task

_LATER = (429, 500, 503)
"""The request was sound: the service is busy, met a fault, or has no model at the moment."""


@dataclass(frozen=True)
class Prediction:
    """What the endpoint answered, and the command that asks it again."""

    answer: dict[str, Any]
    curl: str


def predict(endpoint: str, sample: Path) -> Prediction:
    """Send a sample to an endpoint.

    Raises:
        NotFound: no such endpoint, or its token is not on this machine.
        BadInput: the file cannot be read, or the service refused it (its own sentence).
        TryAgain: the service does not answer, or is busy.
    """
    deployment = deployments.get(documents(), settings().owner, endpoint)
    try:
        payload = sample.read_bytes()
    except OSError as error:
        raise BadInput(f"This file cannot be read: {error.strerror}", value=str(sample)) from error
    token_file = tokens.path_of(settings().home, endpoint)
    try:
        token = token_file.read_text().strip()
    except OSError as error:
        raise NotFound(
            "The endpoint's token is not on this machine",
            value=str(token_file),
            way_out="Make a new one: python -m orchard token " + endpoint,
        ) from error
    kind = task(deployment["task"])
    address = ServiceClient(settings().service_url).address(endpoint, kind.name)
    body = {kind.service_field: base64.b64encode(payload).decode()}
    try:
        answer = httpx.post(
            address, params={"access_token": token}, json=body, timeout=60, trust_env=False
        )
        told = json.loads(answer.content)
    except (httpx.HTTPError, ValueError) as error:
        raise TryAgain(
            "The prediction service does not answer",
            value=f"{settings().service_url}: {error}",
            way_out="Look at `make status`; `make up` starts it",
        ) from error
    if "error_code" in told:
        kind_of_error = TryAgain if answer.status_code in _LATER else BadInput
        raise kind_of_error(f"The service refused this: {told['error_code']} {told['error_msg']}")
    return Prediction(told, _curl(address, kind.service_field, sample, token_file))


def _curl(address: str, field: str, sample: Path, token: Path) -> str:
    picture = shlex.quote(str(sample))
    return (
        f'base64 -w0 {picture} | sed \'s/.*/{{"{field}":"&"}}/\' | '
        f'curl -s -d @- "{address}?access_token=$(cat {shlex.quote(str(token))})"'
    )
