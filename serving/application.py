"""The HTTP side of the service: routes, limits, errors, the line a request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException

from orchard.inference import Model
from orchard.names import BUNDLE_HEADER, SERVICE_PREFIX
from orchard.settings import Settings
from serving import metrics
from serving.batching import Batcher
from serving.body import read_body
from serving.description import PREDICT_PATH, described
from serving.endpoints import Deployment, Endpoints
from serving.errors import (
    BAD_TOKEN,
    METHOD_NOT_ALLOWED,
    MODEL_UNAVAILABLE,
    NO_SUCH_API,
    TOO_MANY_REQUESTS,
    ServiceError,
)
from serving.model import BATCH_LIMIT
from serving.observation import Observation, as_json, refusal
from serving.predictor import Asked, predict
from serving.status import Status, describe, path_of

WAIT_SECONDS = 10.0
"""A request that is not begun after this time is answered with 429."""

_PAGE = Path(__file__).with_name("page.html")


class Service:
    """One worker's state: its endpoints, its queue, its count of requests in flight."""

    def __init__(self, settings: Settings, endpoints: Endpoints, status: Status) -> None:
        self.settings = settings
        self.endpoints = endpoints
        self.status = status
        self.in_flight = 0
        # Connections are shared equally, a worker a core: a second thread would only take the core
        # from its sibling.
        self.batcher: Batcher[Model] = Batcher(predict, threads=1, limit=BATCH_LIMIT, late=_busy)

    async def predict(self, request: Request, segment: str, endpoint: str) -> dict[str, Any]:
        """The answer to a prediction request. Raises ServiceError."""
        log_id = request.state.log_id
        if self.in_flight >= self.settings.service_maximum_in_flight:
            raise _busy()
        self.in_flight += 1
        metrics.IN_FLIGHT.inc()
        try:
            deployment = self._deployment(segment, endpoint)
            request.state.endpoint = endpoint
            _check_token(deployment, request)
            model = _model(deployment, request, log_id)
            request.state.note = f"{endpoint} {model.bundle.hash}"
            body = await read_body(request, self.settings.service_maximum_request_bytes)
            request.state.size = len(body)
            query = {
                name: value
                for name, value in request.query_params.items()
                if name != "access_token"
            }
            asked = Asked(body, request.headers.get("content-type", ""), query)
            answer = await self.batcher.submit(model, asked, seconds=WAIT_SECONDS)
            return {"log_id": log_id, **answer}
        finally:
            self.in_flight -= 1
            metrics.IN_FLIGHT.dec()

    def _deployment(self, segment: str, endpoint: str) -> Deployment:
        deployment = self.endpoints.find(endpoint)
        if deployment is None:
            raise ServiceError(NO_SUCH_API, f"there is no endpoint {endpoint[:60]!r}")
        path = path_of(deployment)
        if not path:
            raise ServiceError(MODEL_UNAVAILABLE, "the endpoint's task is unknown here")
        if path != f"{SERVICE_PREFIX}/{segment}/{endpoint}":
            raise ServiceError(NO_SUCH_API, f"this endpoint's address is {path}")
        return deployment


def create(service: Service) -> FastAPI:
    """The FastAPI application of one worker."""
    app = FastAPI(
        title="Orchard prediction service",
        description="EasyDL's REST API. Errors carry `error_code` and `error_msg`.",
        docs_url=None,
        redoc_url=None,
    )

    app.add_middleware(Observation)

    async def predict_sample(request: Request) -> Response:
        answer = await service.predict(request, **request.path_params)
        return as_json(answer)

    # A plain route: FastAPI's reading of parameters would cost more than all else around the model.
    app.add_route(PREDICT_PATH, predict_sample, methods=["POST"])
    app.openapi = lambda: described(app)  # type: ignore[method-assign]

    @app.get("/health", summary="Whether this process lives", tags=["operation"])
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/ready", summary="Whether all endpoints were looked at", tags=["operation"])
    async def ready() -> Response:
        looked = service.endpoints.looked.is_set()
        endpoints = {name: describe(each) for name, each in service.endpoints.all().items()}
        return as_json({"ready": looked, "endpoints": endpoints}, 200 if looked else 503)

    @app.get("/endpoints/{endpoint}", summary="What each process has loaded", tags=["operation"])
    async def endpoint_status(endpoint: str) -> Response:
        processes = service.status.of_endpoint(endpoint)
        known = any(each["digest"] or each["error"] for each in processes)
        value = {"endpoint": endpoint, "known": known, "processes": processes}
        value["expected_processes"] = service.settings.service_processes
        return as_json(value)

    @app.get("/metrics", summary="Prometheus metrics of all processes", tags=["operation"])
    def read_metrics() -> Response:
        return Response(metrics.exposition(), media_type=CONTENT_TYPE_LATEST)

    @app.get("/", include_in_schema=False)
    @app.get("/docs", include_in_schema=False)
    async def page() -> HTMLResponse:
        return HTMLResponse(_PAGE.read_text(encoding="utf-8"))

    @app.exception_handler(ServiceError)
    async def refused(request: Request, error: ServiceError) -> Response:
        return refusal(request, error)

    @app.exception_handler(HTTPException)
    async def not_routed(request: Request, error: HTTPException) -> Response:
        if error.status_code == METHOD_NOT_ALLOWED.status:
            sentence = f"{request.method} is not possible here; predictions are asked with POST"
            return refusal(request, ServiceError(METHOD_NOT_ALLOWED, sentence))
        sentence = f"there is nothing at this address; see /docs ({error.detail})"
        return refusal(request, ServiceError(NO_SUCH_API, sentence))

    return app


def _check_token(deployment: Deployment, request: Request) -> None:
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    token = request.query_params.get("access_token") or ""
    if not token and scheme.lower() == "bearer":
        token = bearer.strip()
    if not token:
        raise ServiceError(
            BAD_TOKEN, "the token is missing; add ?access_token=… or Authorization: Bearer …"
        )
    if not deployment.takes(token):
        raise ServiceError(BAD_TOKEN, "this token is not one of this endpoint's")


def _model(deployment: Deployment, request: Request, log_id: int) -> Model:
    wanted = request.headers.get(BUNDLE_HEADER)
    if wanted is not None:
        model = deployment.models.get(wanted)
        if model is None:
            raise ServiceError(MODEL_UNAVAILABLE, f"the bundle {wanted[:40]!r} is not loaded here")
        return model
    model = deployment.model_for(log_id)
    if model is None:
        raise ServiceError(
            MODEL_UNAVAILABLE,
            "the endpoint has no model that could be loaded; see /endpoints/ and its name",
            retry_after=5,
        )
    return model


def _busy() -> ServiceError:
    sentence = "the service has all the requests that it can answer in time; try again shortly"
    return ServiceError(TOO_MANY_REQUESTS, sentence, retry_after=1)
