"""Image classification: one class a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.tasks.base import Accepted, Finding, Limits, Plot, Refused, Scores, Task
from orchard.tasks.image_classification import labels, metrics, response, thresholds


class ImageClassification(Task):
    """Pictures in, one of K class names out.

    Judge and decoder are imported on the first use, so that what only reads labels or figures
    (the plan, the form) loads no picture library.
    """

    name = "image_classification"
    title = "Image classification"
    sample_word = "picture"
    service_segment = "classification"
    objectives = thresholds.OBJECTIVES
    figure_words = {
        "accuracy": "answered right (accuracy)",
        "macro_f1": "all classes alike (macro F1)",
        "worst_class_recall": "of the worst class found (recall)",
        "test_samples": "pictures tested",
    }

    @property
    def near_bits(self) -> int:  # type: ignore[override]
        from orchard.pictures.fingerprint import NEAR_BITS

        return NEAR_BITS

    def judge(self, payload: bytes, path: str, limits: Limits) -> Accepted | Refused:
        from orchard.pictures.judge import judge_picture

        return judge_picture(payload, path, limits)

    def labels_of(self, annotation: Any) -> tuple[str, ...]:
        return labels.labels_of(annotation)

    def renamed(self, annotation: Any, names: Mapping[str, str]) -> Any:
        return labels.renamed(annotation, names)

    def decode(self, payload: bytes, limits: Limits | None = None) -> NDArray[np.uint8]:
        from orchard.decode import decode_picture

        return decode_picture(payload, (limits or Limits()).maximum_pixels)

    def bands(self, fingerprint: bytes) -> tuple[int, ...]:
        from orchard.pictures.fingerprint import bands

        return bands(fingerprint)

    def distance(self, one: bytes, other: bytes) -> int:
        from orchard.pictures.fingerprint import distance

        return distance(one, other)

    def metrics(self, scores: Scores) -> dict[str, Any]:
        return metrics.evaluate(scores)

    def temperature(self, logits: NDArray[np.float32], truth: NDArray[np.int64]) -> float:
        return thresholds.temperature(logits, truth)

    def thresholds(self, scores: Scores, objective: str) -> dict[str, Any]:
        return thresholds.choose(scores, objective)

    def response(
        self, scores: NDArray[np.float32], bundle: Mapping[str, Any], request: Mapping[str, Any]
    ) -> dict[str, Any]:
        return response.response(scores, bundle, request)

    def golden_payloads(self) -> tuple[bytes, ...]:
        from orchard.pictures.golden import golden_payloads

        return golden_payloads()

    def findings(
        self, metrics: Mapping[str, Any], card: Mapping[str, Any], summary: Mapping[str, Any]
    ) -> list[Finding]:
        from orchard.tasks.image_classification.findings import findings

        return findings(metrics, card, summary)

    def plots(self, metrics: Mapping[str, Any], card: Mapping[str, Any]) -> list[Plot]:
        from orchard.tasks.image_classification.plots import plots

        return plots(metrics, card)

    def thumbnail(self, payload: bytes, side: int) -> bytes:
        from orchard.pictures.thumbnails import thumbnail

        return thumbnail(payload, side)

    @property
    def headline_metrics(self) -> Sequence[str]:
        return ("accuracy", "macro_f1", "worst_class_recall")


TASK = ImageClassification()
