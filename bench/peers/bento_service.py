"""BentoML: a worker a core, and adaptive batching where the largest batch is above one.

`bentoml serve bench.peers.bento_service:ClassifierService`. Its documentation advises a worker a
core for work that holds Python's lock, batchable APIs for models that take batches, and files as
multipart uploads, which Pillow opens.
"""

from __future__ import annotations

import bentoml
import numpy as np
from PIL.Image import Image

from bench.peers.classifier import BATCH, WORKERS, from_environment, number, prepared

LARGEST_LATENCY_MILLISECONDS = 1000


@bentoml.service(  # type: ignore[untyped-decorator]
    workers=number(WORKERS), logging={"access": {"enabled": False}}
)
class ClassifierService:
    """Pictures → K scores each."""

    def __init__(self) -> None:
        self.classifier = from_environment()

    @bentoml.api(  # type: ignore[untyped-decorator]
        batchable=number(BATCH) > 1,
        max_batch_size=max(2, number(BATCH)),
        max_latency_ms=LARGEST_LATENCY_MILLISECONDS,
    )
    def classify(self, images: list[Image]) -> np.ndarray:  # type: ignore[type-arg]
        return self.classifier([prepared(image) for image in images])
