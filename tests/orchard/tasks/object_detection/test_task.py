"""Object detection as the workflow sees it."""

from __future__ import annotations

import numpy as np
import pytest

from orchard.preprocess import standard
from orchard.tasks import Accepted, Limits, task

TASK = task("object_detection")


def test_what_the_workflow_asks() -> None:
    assert (TASK.title, TASK.service_segment, TASK.service_field) == (
        "Object detection",
        "detection",
        "image",
    )
    assert (TASK.label_kind, TASK.least_classes) == ("boxes", 1)
    assert TASK.objectives == {"accuracy": "ap50", "worst_class_recall": "worst_class_ap50"}
    assert TASK.headline_metrics[0] == "ap50"
    assert {"ap50", "ap", "f1", "threshold"} <= set(TASK.headline_metrics) <= set(TASK.figure_words)


def test_golden_pictures_are_accepted_and_give_inputs() -> None:
    operations = standard(64, "pad")
    for payload in TASK.golden_payloads():
        accepted = TASK.judge(payload, "golden.png", Limits())
        assert isinstance(accepted, Accepted) and len(TASK.bands(accepted.fingerprint)) > 1
        assert TASK.distance(accepted.fingerprint, accepted.fingerprint) == 0 <= TASK.near_bits
        assert TASK.inputs(operations, TASK.decode(payload)).shape == (1, 3, 64, 64)


@pytest.mark.parametrize("size", [(40, 30), (31, 57)])
def test_the_mirrored_view_is_what_the_operation_mirror_makes(size: tuple[int, int]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (*size, 3), np.uint8)
    resize, normalise = standard(32, "pad")
    plain = TASK.inputs([resize, normalise], pixels)
    mirrored = TASK.inputs([resize, {"operation": "mirror"}, normalise], pixels)
    assert (TASK.view(plain, "mirror") == mirrored).all()
    assert TASK.view(plain, "plain") is plain


def test_every_view_is_a_flip_and_undoes_itself() -> None:
    inputs = np.random.default_rng(0).random((1, 3, 4, 6)).astype(np.float32)
    seen = {TASK.view(inputs, name).tobytes() for name in TASK.views}
    assert len(seen) == len(TASK.views)
    for name in TASK.views:
        assert (TASK.view(TASK.view(inputs, name), name) == inputs).all()
