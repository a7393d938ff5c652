"""The service as OpenAPI describes it. The prediction route is read by hand, so it is written here."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from orchard.names import SERVICE_PREFIX

PREDICT_PATH = f"{SERVICE_PREFIX}/{{segment}}/{{endpoint}}"

_JSON_BODY = {
    "type": "object",
    "required": ["image"],
    "properties": {
        "image": {"type": "string", "format": "byte", "description": "The file in base64."},
        "top_num": {
            "type": "integer",
            "minimum": 1,
            "default": 6,
            "description": "How many classes are answered at most.",
        },
    },
}
_ANSWER = {
    "type": "object",
    "properties": {
        "log_id": {"type": "integer", "description": "Names this request in the log."},
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "score": {"type": "number"}},
            },
        },
        "not_sure": {"type": "boolean", "description": "No score reaches the threshold."},
    },
}
_ERROR = {
    "type": "object",
    "properties": {
        "log_id": {"type": "integer"},
        "error_code": {"type": "integer"},
        "error_msg": {"type": "string"},
    },
}


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


_ERRORS = {
    400: "336001, 336002, 336003, 336005, 336006: what was sent cannot be used",
    401: "110: the token is missing or wrong",
    404: "3: there is no such endpoint",
    413: "336004: the request or the sample is too large",
    429: "18: too many requests at once; see Retry-After",
    500: "336000: a fault of the service",
    503: "336100: no model could be loaded",
}

_PREDICT: dict[str, Any] = {
    "summary": "Ask for a prediction",
    "operationId": "predict",
    "tags": ["prediction"],
    "parameters": [
        {
            "name": "segment",
            "in": "path",
            "required": True,
            "schema": {"type": "string"},
            "description": "Stands for the endpoint's task.",
        },
        {"name": "endpoint", "in": "path", "required": True, "schema": {"type": "string"}},
        {
            "name": "access_token",
            "in": "query",
            "required": False,
            "schema": {"type": "string"},
            "description": "The endpoint's token; or as Authorization: Bearer.",
        },
    ],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": _JSON_BODY},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "top_num": {"type": "integer", "minimum": 1, "default": 6},
                    },
                }
            },
            "image/*": {"schema": {"type": "string", "format": "binary"}},
        },
    },
    "responses": {
        "200": {"description": "The classes, most likely first", "content": _content(_ANSWER)},
        **{
            str(status): {"description": text, "content": _content(_ERROR)}
            for status, text in _ERRORS.items()
        },
    },
}


def described(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of all routes, made on the first call."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        document["paths"] = {PREDICT_PATH: {"post": _PREDICT}, **document["paths"]}
        app.openapi_schema = document
    return app.openapi_schema
