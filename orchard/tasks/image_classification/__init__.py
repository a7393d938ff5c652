"""Image classification: one class a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.classification import ClassificationTask
from orchard.pictures.task import PictureTask
from orchard.tasks.base import Ask, Planned


class ImageClassification(PictureTask, ClassificationTask):
    """Pictures in, one of K class names out."""

    name = "image_classification"
    title = "Image classification"
    service_segment = "classification"
    figure_words = {**ClassificationTask.figure_words, "test_samples": "pictures tested"}

    def thumbnail(
        self,
        payload: bytes,
        side: int,
        truth: Any = None,
        answer: NDArray[np.float32] | None = None,
        card: Mapping[str, Any] | None = None,
    ) -> bytes:
        from orchard.pictures.thumbnails import thumbnail

        return thumbnail(payload, side)

    def plan(self, ask: Ask) -> Planned:
        from orchard.tasks.image_classification.branching import plan

        return plan(ask)


TASK = ImageClassification()
