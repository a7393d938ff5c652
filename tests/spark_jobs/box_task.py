"""A task of boxes over the judge of pictures, enough for the step `check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchard.tasks.base import Given, Settled
from orchard.tasks.image_classification import ImageClassification
from orchard.tasks.object_detection import labels, repair


class BoxTask(ImageClassification):
    """Boxes in pictures."""

    label_kind = "boxes"
    least_classes = 1

    def labels_of(self, annotation: Any) -> tuple[str, ...]:
        return labels.labels_of(annotation)

    def renamed(self, annotation: Any, names: Mapping[str, str]) -> Any:
        return labels.renamed(annotation, names)

    def stratum(self, annotation: Any, counts: Mapping[str, int] | None = None) -> str:
        return labels.stratum(annotation, counts or {})

    def merged(self, annotations: Sequence[Any]) -> Any:
        return labels.merged(annotations)

    def settled(
        self, annotation: Any, width: int, height: int, given: Given | None = None
    ) -> Settled:
        return repair.settled(annotation, width, height, given)
