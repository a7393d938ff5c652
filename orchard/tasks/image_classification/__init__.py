"""Image classification: one class a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.classification import ClassificationTask
from orchard.tasks.base import Accepted, Ask, Limits, Planned, Refused


class ImageClassification(ClassificationTask):
    """Pictures in, one of K class names out.

    Judge and decoder are imported on the first use, so that what only reads labels or figures
    (the form) loads no picture library.
    """

    name = "image_classification"
    title = "Image classification"
    sample_word = "picture"
    service_segment = "classification"
    figure_words = {**ClassificationTask.figure_words, "test_samples": "pictures tested"}

    @property
    def near_bits(self) -> int:  # type: ignore[override]
        from orchard.tasks.image_classification.fingerprint import NEAR_BITS

        return NEAR_BITS

    def judge(self, payload: bytes, path: str, limits: Limits) -> Accepted | Refused:
        from orchard.tasks.image_classification.judge import judge_picture

        return judge_picture(payload, path, limits)

    def decode(self, payload: bytes, limits: Limits | None = None) -> NDArray[np.uint8]:
        from orchard.decode import decode_picture

        return decode_picture(payload, (limits or Limits()).maximum_pixels)

    def inputs(
        self, operations: Sequence[Mapping[str, Any]], decoded: NDArray[Any]
    ) -> NDArray[np.float32]:
        from orchard.preprocess import apply

        return apply(operations, decoded)[None]

    def view(self, inputs: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        # A mirrored picture normalised is the normalised picture mirrored, bit for bit.
        return inputs[..., ::-1] if name == "mirror" else inputs

    def bands(self, fingerprint: bytes) -> tuple[int, ...]:
        from orchard.tasks.image_classification.fingerprint import bands

        return bands(fingerprint)

    def distance(self, one: bytes, other: bytes) -> int:
        from orchard.tasks.image_classification.fingerprint import distance

        return distance(one, other)

    def golden_payloads(self) -> tuple[bytes, ...]:
        from orchard.tasks.image_classification.pictures import golden_payloads

        return golden_payloads()

    def thumbnail(
        self,
        payload: bytes,
        side: int,
        truth: Any = None,
        answer: NDArray[np.float32] | None = None,
        card: Mapping[str, Any] | None = None,
    ) -> bytes:
        from orchard.tasks.image_classification.pictures import thumbnail

        return thumbnail(payload, side)

    def plan(self, ask: Ask) -> Planned:
        from orchard.tasks.image_classification.branching import plan

        return plan(ask)


TASK = ImageClassification()
