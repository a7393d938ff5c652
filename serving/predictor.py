"""What a compute thread does with a batch of requests to one model."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchard.errors import BadInput
from orchard.inference import Model, Prepared
from serving.batching import Job
from serving.errors import (
    INPUT_TOO_LARGE,
    INTERNAL,
    INVALID_ARGUMENT,
    NOT_DECODABLE,
    ServiceError,
)
from serving.metrics import BATCH
from serving.request import Sample, parse

logger = logging.getLogger(__name__)

_TOO_LARGE_CODES = frozenset({"too_many_pixels", "too_long"})


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    body: bytes
    content_type: str
    query: Mapping[str, str]


def predict(model: Model, jobs: Sequence[Job[Model]]) -> Sequence[dict[str, Any] | Exception]:
    """Answers of a batch, one a job in order; a request that fails does not touch the others."""
    outcomes: list[dict[str, Any] | Exception | None] = [None] * len(jobs)
    samples: list[tuple[int, Sample, Prepared]] = []
    for number, job in enumerate(jobs):
        try:
            sample = _sample(job.work, model)
            samples.append((number, sample, _prepared(sample, model)))
        except ServiceError as error:
            outcomes[number] = error
        except Exception:
            logger.exception("A request could not be prepared")
            outcomes[number] = _internal()
    if samples:
        BATCH.observe(len(samples))
        answers = model.answers_of([prepared for _, _, prepared in samples])
        for (number, sample, _), answer in zip(samples, answers, strict=True):
            try:
                outcomes[number] = model.response(answer, sample.parameters)
            except (BadInput, ValueError) as error:
                outcomes[number] = ServiceError(INVALID_ARGUMENT, str(error)[:200])
    return [outcome if outcome is not None else _internal() for outcome in outcomes]


def _sample(asked: Asked, model: Model) -> Sample:
    return parse(asked.body, asked.content_type, asked.query, model.task.service_field)


def _prepared(sample: Sample, model: Model) -> Prepared:
    try:
        return model.prepared(sample.payload)
    except BadInput as error:
        too_large = getattr(error, "code", "") in _TOO_LARGE_CODES
        raise ServiceError(
            INPUT_TOO_LARGE if too_large else NOT_DECODABLE, _sentence(error)
        ) from None


def _sentence(error: BadInput) -> str:
    return " ".join(part.rstrip(".") + "." for part in (error.headline, error.way_out) if part)


def _internal() -> ServiceError:
    return ServiceError(INTERNAL, "the service met a fault; its log says more")
