"""The three losses of a detector's head."""

from __future__ import annotations

from trainers.engine import paddle

Tensor = paddle.Tensor
functional = paddle.nn.functional


def quality_focal(logits: Tensor, targets: Tensor) -> Tensor:
    """Sum of the quality focal loss (Li et al. 2020, arXiv:2006.04388, equation 6, β = 2).

    Args:
        logits, targets: of equal shape; a target is the overlap of the predicted box with the
            true one at the true class, 0 elsewhere.
    """
    error = (targets - functional.sigmoid(logits)).square()
    entropy = functional.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    return (error * entropy).sum()


def box_overlaps(predicted: Tensor, goal: Tensor) -> tuple[Tensor, Tensor]:
    """Intersection over union and its generalisation (Rezatofighi et al. 2019, arXiv:1902.09630).

    Args:
        predicted, goal: (P, 4) left, top, right, bottom.

    Returns:
        Both (P,); the second is from -1 to 1.
    """
    low = _larger(predicted[:, :2], goal[:, :2])
    high = -_larger(-predicted[:, 2:], -goal[:, 2:])
    shared = functional.relu(high - low).prod(axis=1)
    union = _area(predicted) + _area(goal) - shared + 1e-7
    overlap = shared / union
    outer_low = -_larger(-predicted[:, :2], -goal[:, :2])
    outer_high = _larger(predicted[:, 2:], goal[:, 2:])
    hull = (outer_high - outer_low).prod(axis=1) + 1e-7
    return overlap, overlap - (hull - union) / hull


def distribution_focal(logits: Tensor, distances: Tensor) -> Tensor:
    """Distribution focal loss (arXiv:2006.04388, equation 7) of each position, (P,).

    Args:
        logits: (P, 4, B) over the distances 0, 1, … B - 1.
        distances: (P, 4), each from 0 to below B - 1.
    """
    lower = distances.floor()
    share = distances - lower
    index = lower.astype("int64")
    count = logits.shape[2]
    logarithms = functional.log_softmax(logits, axis=2)
    weights = functional.one_hot(index, count) * (1 - share).unsqueeze(2)
    weights = weights + functional.one_hot(index + 1, count) * share.unsqueeze(2)
    return -(logarithms * weights).sum(axis=2).mean(axis=1)


def _larger(one: Tensor, other: Tensor) -> Tensor:
    larger: Tensor = paddle.maximum(one, other)  # type: ignore[no-untyped-call]
    return larger


def _area(boxes: Tensor) -> Tensor:
    return functional.relu(boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
