"""Loading a bundle for the service: verified before it may answer."""

from __future__ import annotations

import logging
from pathlib import Path

from orchard import bundle as bundles
from orchard.inference import Model
from orchard.tasks.base import Limits

logger = logging.getLogger(__name__)

BATCH_LIMIT = 4
"""Requests that run through a model together at most. One core gains little from more, and the
first of a batch waits for the last."""


def load(folder: Path, expected_hash: str, limits: Limits | None = None) -> Model:
    """A bundle that answers; `limits` are those of a request's sample.

    Raises:
        OrchardError: the bundle is incomplete, changed, or does not give its golden scores here.
    """
    model = Model(bundles.read(folder, expected_hash), threads=1, batch=BATCH_LIMIT, limits=limits)
    difference = model.verify()
    logger.info("Bundle %s is loaded; golden scores differ by %.1e", expected_hash, difference)
    return model
