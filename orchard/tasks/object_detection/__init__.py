"""Object detection: boxes with class names in a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.pictures.task import PictureTask
from orchard.tasks.base import (
    Answers,
    Ask,
    Finding,
    Given,
    Planned,
    Plot,
    Settled,
    Table,
    Verdict,
)
from orchard.tasks.object_detection import labels

Floats = NDArray[np.float32]


class ObjectDetection(PictureTask):
    """Pictures in, boxes of K classes out; an answer is (M, 6), see `answers`.

    What needs the picture library, or is needed seldom, is imported on the first use, so that the
    form loads neither.
    """

    name = "object_detection"
    title = "Object detection"
    service_segment = "detection"
    label_kind = "boxes"
    least_classes = 1
    # Such a class cannot be left out at no cost: its boxes lie in pictures of other classes, and what
    # has no box there is learnt as background. Trained on what there is it takes nothing from the
    # others, whose scores are their own, and its objects stay objects.
    trains_small_classes = True
    thumbnail_side = 320
    views = ("plain", "mirror", "flip", "turn")
    objectives = {"accuracy": "ap50", "worst_class_recall": "worst_class_ap50"}
    figure_words = {
        "ap50": "of what a perfect model finds (AP50)",
        "ap": "if boxes must fit tightly (AP50:95)",
        "f1": "found and right in one, at the threshold (F1)",
        "threshold": "is the score from which a box counts (threshold)",
        "worst_class_ap50": "AP50 of the worst class",
        "test_samples": "pictures tested",
    }

    @property
    def headline_metrics(self) -> Sequence[str]:
        return ("ap50", "ap", "f1", "threshold")

    # Samples

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

    def object_shares(self, annotation: Any, width: int, height: int) -> tuple[float, ...]:
        return labels.shares(annotation, width, height)

    def merged(self, annotations: Sequence[Any]) -> Any:
        return labels.merged(annotations)

    def settled(
        self, annotation: Any, width: int, height: int, given: Given | None = None
    ) -> Settled:
        from orchard.tasks.object_detection.repair import settled

        return settled(annotation, width, height, given)

    # Model

    def view(self, inputs: Floats, name: str) -> Floats:
        # A picture flipped and normalised is the normalised picture flipped, bit for bit.
        if name in ("mirror", "turn"):
            inputs = inputs[..., ::-1]
        return inputs[..., ::-1, :] if name in ("flip", "turn") else inputs

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

    def findings(
        self, metrics: Mapping[str, Any], card: Mapping[str, Any], summary: Mapping[str, Any]
    ) -> list[Finding]:
        from orchard.tasks.object_detection.findings import findings

        return findings(metrics, card, summary)

    def plots(self, metrics: Mapping[str, Any], card: Mapping[str, Any]) -> list[Plot]:
        from orchard.tasks.object_detection.plots import plots

        return plots(metrics, card)

    def plan(self, ask: Ask) -> Planned:
        from orchard.tasks.object_detection.branching import plan

        return plan(ask)

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
