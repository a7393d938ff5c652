"""MLflow's REST API (https://mlflow.org/docs/latest/rest-api.html), as far as runs and models need it.

It is used directly: the few calls do not need the client library, whose import takes seconds in
every step.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

from orchard.errors import OrchardError, TryAgain

EXISTS = "RESOURCE_ALREADY_EXISTS"
MISSING = "RESOURCE_DOES_NOT_EXIST"
_SECONDS = 30.0


class Refused(OrchardError):
    """MLflow said no; `code` is its error code."""

    code = ""


def call(tracking_uri: str, method: str, name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """One call, its JSON back.

    Args:
        name: what follows `/api/2.0/mlflow/`.
        value: the query of a GET, else the body.

    Raises:
        TryAgain: MLflow does not answer, or met a fault.
        Refused: MLflow does not accept the call.
    """
    base = tracking_uri.rstrip("/")
    url = f"{base}/api/2.0/mlflow/{name}"
    body = None
    if method == "GET":
        url += "?" + urllib.parse.urlencode(value)
    else:
        body = json.dumps(value).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, body, headers, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_SECONDS) as reply:
            answer: dict[str, Any] = json.load(reply)
            return answer
    except urllib.error.HTTPError as error:
        raise _refusal(name, error.code, error.read(2000)) from error
    except (OSError, ValueError) as error:
        raise TryAgain(
            f"MLflow does not answer ({error})",
            value=base,
            way_out="Look at `make status`; `make up` starts it again",
        ) from error


def _refusal(name: str, status: int, body: bytes) -> OrchardError:
    try:
        said = json.loads(body)
        code, message = str(said["error_code"]), str(said.get("message", ""))
    except (ValueError, KeyError, TypeError):
        code, message = "", body.decode("utf-8", "replace")
    if status >= 500 or status == 429:
        return TryAgain("MLflow could not answer", value=f"{name}: {message[:300]}")
    refused = Refused("MLflow refused a call", value=f"{name}: {code} {message[:300]}")
    refused.code = code
    return refused
