"""Object detection: boxes with class names in a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.tasks.base import (
    Accepted,
    Answers,
    Finding,
    Given,
    Limits,
    Plot,
    Refused,
    Settled,
    Table,
    Task,
    Verdict,
)
from orchard.tasks.object_detection import labels

Floats = NDArray[np.float32]


class ObjectDetection(Task):
    """Pictures in, boxes of K classes out; an answer is (M, 6), see `answers`.

    What needs the picture library, or is needed seldom, is imported on the first use, so that the
    form loads neither.
    """

    name = "object_detection"
    title = "Object detection"
    sample_word = "picture"
    service_segment = "detection"
    service_field = "image"
    label_kind = "boxes"
    least_classes = 1
    objectives = {"accuracy": "ap50", "worst_class_recall": "worst_class_ap50"}
    figure_words = {
        "ap50": "of what a perfect model finds (AP50)",
        "ap": "if boxes must fit tightly (AP50:95)",
        "f1": "found and right in one, at the threshold (F1)",
        "threshold": "is the score from which a box counts (threshold)",
        "test_samples": "pictures tested",
    }

    @property
    def near_bits(self) -> int:  # type: ignore[override]
        from orchard.pictures.fingerprint import NEAR_BITS

        return NEAR_BITS

    @property
    def headline_metrics(self) -> Sequence[str]:
        return ("ap50", "ap", "f1", "threshold")

    # Samples

    def judge(self, payload: bytes, path: str, limits: Limits) -> Accepted | Refused:
        from orchard.pictures.judge import judge_picture

        return judge_picture(payload, path, limits)

    def decode(self, payload: bytes, limits: Limits | None = None) -> NDArray[np.uint8]:
        from orchard.decode import decode_picture

        return decode_picture(payload, (limits or Limits()).maximum_pixels)

    def bands(self, fingerprint: bytes) -> tuple[int, ...]:
        from orchard.pictures.fingerprint import bands

        return bands(fingerprint)

    def distance(self, one: bytes, other: bytes) -> int:
        from orchard.pictures.fingerprint import distance

        return distance(one, other)

    def golden_payloads(self) -> tuple[bytes, ...]:
        from orchard.pictures.golden import golden_payloads

        return golden_payloads()

    def thumbnail(
        self,
        payload: bytes,
        side: int,
        truth: Any = None,
        answer: Floats | None = None,
        card: Mapping[str, Any] | None = None,
    ) -> bytes:
        from orchard.tasks.object_detection.pictures import thumbnail

        return thumbnail(payload, side, truth, answer, card)

    # Annotations

    def labels_of(self, annotation: Any) -> tuple[str, ...]:
        return labels.labels_of(annotation)

    def renamed(self, annotation: Any, names: Mapping[str, str]) -> Any:
        return labels.renamed(annotation, names)

    def stratum(self, annotation: Any, counts: Mapping[str, int] = MappingProxyType({})) -> str:
        return labels.stratum(annotation, counts)

    def merged(self, annotations: Sequence[Any]) -> Any:
        return labels.merged(annotations)

    def settled(
        self, annotation: Any, width: int, height: int, given: Given | None = None
    ) -> Settled:
        from orchard.tasks.object_detection.repair import settled

        return settled(annotation, width, height, given)

    # Model

    def inputs(self, operations: Sequence[Mapping[str, Any]], decoded: NDArray[np.uint8]) -> Floats:
        from orchard.preprocess import apply

        return apply(operations, decoded)[np.newaxis]

    def view(self, inputs: Floats, name: str) -> Floats:
        # A mirrored picture normalised is the normalised picture mirrored, bit for bit.
        return inputs[..., ::-1] if name == "mirror" else inputs

    def answer(self, outputs: Floats, shape: tuple[int, ...], card: Mapping[str, Any]) -> Floats:
        from orchard.tasks.object_detection.answers import answer

        return answer(outputs, shape, card)

    def unflattened(self, flat: Floats, labels: Sequence[str]) -> Floats:
        return np.asarray(flat, np.float32).reshape(-1, 6)

    # Figures

    def metrics(self, answers: Answers, card: Mapping[str, Any]) -> dict[str, Any]:
        from orchard.tasks.object_detection.metrics import evaluate

        return evaluate(answers, card)

    def support(self, answers: Answers, objective: str) -> int:
        from orchard.tasks.object_detection.metrics import support

        return support(answers, objective)

    def thresholds(self, answers: Answers, objective: str) -> dict[str, Any]:
        from orchard.tasks.object_detection.thresholds import choose

        return choose(answers, objective)

    def verdict(self, answer: Floats, truth: Any, card: Mapping[str, Any]) -> Verdict:
        from orchard.tasks.object_detection.verdict import verdict

        return verdict(answer, truth, card)

    def class_scores(self, answers: Answers) -> None:
        return None

    def findings(
        self, metrics: Mapping[str, Any], card: Mapping[str, Any], summary: Mapping[str, Any]
    ) -> list[Finding]:
        from orchard.tasks.object_detection.findings import findings

        return findings(metrics, card, summary)

    def plots(self, metrics: Mapping[str, Any], card: Mapping[str, Any]) -> list[Plot]:
        from orchard.tasks.object_detection.plots import plots

        return plots(metrics, card)

    def class_table(
        self, metrics: Mapping[str, Any], card: Mapping[str, Any], labels: Mapping[str, Any]
    ) -> Table:
        from orchard.tasks.object_detection.table import class_table

        return class_table(metrics, card, labels)

    # Service

    def response(
        self, answer: Floats, card: Mapping[str, Any], request: Mapping[str, Any]
    ) -> dict[str, Any]:
        from orchard.tasks.object_detection.response import response

        return response(answer, card, request)

    def parity_request(self, card: Mapping[str, Any]) -> dict[str, Any]:
        from orchard.tasks.object_detection.response import parity_request

        return parity_request()

    def difference(self, here: Mapping[str, Any], there: Mapping[str, Any]) -> float:
        from orchard.tasks.object_detection.response import difference

        return difference(here, there)


TASK = ObjectDetection()
