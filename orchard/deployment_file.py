"""The file `deployment.json` that the prediction service reads: its fields, its text, its name.

    <serving folder>/<endpoint>/deployment.json
    <serving folder>/<endpoint>/bundles/<bundle hash>/…

A bundle of weight 0 is loaded and answers only requests that ask for it by name.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from orchard.errors import BadInput

NAME = "deployment.json"
_FIELDS = (
    "endpoint",
    "owner",
    "project",
    "task",
    "revision",
    "bundles",
    "previous",
    "settings",
    "token_hashes",
)


def text(deployment: Mapping[str, Any]) -> bytes:
    """The file's content: the fields of the file out of a deployment, keys sorted."""
    value = {name: deployment[name] for name in _FIELDS}
    return json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False).encode()


def digest_of(content: bytes) -> str:
    """16 hexadecimal digits that name a file's content, so that a publisher can wait for it."""
    return hashlib.sha256(content).hexdigest()[:16]


def parse(content: bytes) -> dict[str, Any]:
    """The fields that the service uses, checked. Raises BadInput."""
    try:
        value: dict[str, Any] = json.loads(content)
        bundles = value["bundles"]
        names = [each["bundle"] for each in bundles]
        weights = [each["weight"] for each in bundles]
        sound = (
            isinstance(value["task"], str)
            and isinstance(value["revision"], int)
            and all(isinstance(each, str) for each in value["token_hashes"])
            and all(isinstance(name, str) and name.isalnum() for name in names)
            and all(isinstance(weight, int | float) for weight in weights)
            and all(math.isfinite(weight) and weight >= 0 for weight in weights)
            and len(set(names)) == len(names)
        )
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput("A deployment cannot be read", value=repr(error)[:200]) from error
    if not sound:
        raise BadInput("A deployment has a field of a wrong kind", way_out="Publish it again")
    return value
