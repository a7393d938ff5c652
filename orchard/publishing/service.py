"""A client of the prediction service, for what publishes to it."""

from __future__ import annotations

import base64
import json
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from orchard.errors import OrchardError, TryAgain
from orchard.names import BUNDLE_HEADER, SERVICE_PREFIX
from orchard.publishing.publisher import BundleRefused
from orchard.tasks import task as task_of

logger = logging.getLogger(__name__)

_WAIT_SECONDS = 90.0
_POLL_SECONDS = 0.1
_SAY_SECONDS = 3.0
_REQUEST_SECONDS = 30.0


class ServiceClient:
    """Asks the prediction service at an address such as `http://127.0.0.1:8500`."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def address(self, endpoint: str, task: str) -> str:
        """Where an endpoint is asked."""
        return f"{self._url}{SERVICE_PREFIX}/{task_of(task).service_segment}/{endpoint}"

    def wait_until_loaded(self, endpoint: str, digest: str, seconds: float = _WAIT_SECONDS) -> None:
        """Return when every process of the service answers with the deployment of this digest.

        Raises:
            BundleRefused: a process could not load it.
            TryAgain: the service does not answer, or not in time.
        """
        started = said = time.monotonic()
        while True:
            status = self._status(endpoint)
            processes = status["processes"]
            for each in processes:
                if each["failed_digest"] == digest:
                    raise BundleRefused(
                        "The prediction service does not take the bundle; it goes on with what it has",
                        value=each["error"],
                        way_out="Read the reason; build the model again",
                    )
            ready = sum(each["digest"] == digest for each in processes)
            if ready >= status["expected_processes"] and ready == len(processes):
                return
            now = time.monotonic()
            if now - started > seconds:
                raise TryAgain(
                    "The prediction service did not load a deployment in time",
                    value=f"{endpoint}: {ready} of {status['expected_processes']} processes",
                    way_out="See the service's log",
                )
            if now - said > _SAY_SECONDS:
                said = now
                logger.info(
                    "%d of %d processes of the service have loaded the bundle",
                    ready,
                    status["expected_processes"],
                )
            time.sleep(_POLL_SECONDS)

    def predict(
        self,
        endpoint: str,
        task: str,
        payload: bytes,
        token: str,
        bundle: str,
        parameters: Mapping[str, Any],
    ) -> dict[str, Any]:
        """The response of one bundle of an endpoint to a sample."""
        field = task_of(task).service_field
        content = {**parameters, field: base64.b64encode(payload).decode()}
        headers = {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {token}",
            BUNDLE_HEADER: bundle,
        }
        body = json.dumps(content).encode()
        return self._ask(urllib.request.Request(self.address(endpoint, task), body, headers))

    def _status(self, endpoint: str) -> dict[str, Any]:
        return self._ask(urllib.request.Request(f"{self._url}/endpoints/{endpoint}"))

    def _ask(self, request: urllib.request.Request) -> dict[str, Any]:
        try:
            with self._opener.open(request, timeout=_REQUEST_SECONDS) as reply:
                answer: dict[str, Any] = json.load(reply)
                return answer
        except urllib.error.HTTPError as error:
            text = error.read(1000).decode("utf-8", "replace")
            kind = TryAgain if error.code in (429, 503) else OrchardError
            raise kind("The prediction service refused a request", value=text) from error
        except (OSError, ValueError) as error:
            raise TryAgain(
                f"The prediction service does not answer ({error})",
                value=self._url,
                way_out="Look at `make status`; `make up` starts it again",
            ) from error
