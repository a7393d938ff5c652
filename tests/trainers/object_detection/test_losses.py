"""The losses against plain arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from trainers.engine import paddle
from trainers.object_detection.losses import box_overlaps, distribution_focal, quality_focal


def test_quality_focal_is_the_papers_formula() -> None:
    random = np.random.default_rng(0)
    logits = random.normal(0, 2, (3, 5)).astype(np.float32)
    targets = random.uniform(0, 1, (3, 5)).astype(np.float32)
    sigma = 1 / (1 + np.exp(-logits.astype(float)))
    entropy = -((1 - targets) * np.log(1 - sigma) + targets * np.log(sigma))
    expected = (np.abs(targets - sigma) ** 2 * entropy).sum()
    found = quality_focal(paddle.to_tensor(logits), paddle.to_tensor(targets))
    assert float(found) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("one", "other", "overlap", "generalised"),
    [
        ((0, 0, 2, 2), (0, 0, 2, 2), 1.0, 1.0),
        ((0, 0, 2, 2), (1, 1, 3, 3), 1 / 7, 1 / 7 - 2 / 9),
        ((0, 0, 1, 1), (3, 0, 4, 1), 0.0, -2 / 4),
        ((0, 0, 4, 4), (1, 1, 3, 3), 4 / 16, 4 / 16),
    ],
)
def test_overlaps_of_boxes(
    one: tuple[float, ...], other: tuple[float, ...], overlap: float, generalised: float
) -> None:
    boxes = [paddle.to_tensor(np.array([box], np.float32)) for box in (one, other)]
    found = [float(value.numpy()[0]) for value in box_overlaps(*boxes)]
    assert found == pytest.approx([overlap, generalised], abs=1e-5)


def test_distribution_focal_shares_between_the_two_nearest() -> None:
    logits = np.random.default_rng(1).normal(0, 1, (1, 4, 6)).astype(np.float32)
    distances = np.array([[0.0, 1.25, 3.5, 4.9]], np.float32)
    logarithms = logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))
    expected = 0.0
    for side, distance in enumerate(distances[0]):
        low = int(distance)
        share = distance - low
        expected -= (1 - share) * logarithms[0, side, low]
        expected -= share * logarithms[0, side, low + 1]
    found = distribution_focal(paddle.to_tensor(logits), paddle.to_tensor(distances))
    assert float(found.numpy()[0]) == pytest.approx(expected / 4, rel=1e-5)
