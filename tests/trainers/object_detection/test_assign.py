"""Which positions learn which box."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trainers.object_detection.assign import adaptive, aligned
from trainers.object_detection.geometry import Array, anchor_points, overlaps

SHAPES = [(8, 12, 8), (4, 6, 16), (2, 3, 32)]
POINTS, STRIDES = anchor_points(SHAPES)
WIDTH, HEIGHT = 96, 64


def _boxes(seed: int, count: int) -> Array:
    random = np.random.default_rng(seed)
    corner = random.uniform(0, [WIDTH - 6, HEIGHT - 6], (count, 2))
    side = random.uniform(3, 60, (count, 2))
    high = np.minimum(corner + side, [WIDTH, HEIGHT])
    return np.concatenate([corner, high], axis=1).astype(np.float32)


def _plain_adaptive(boxes: Array) -> dict[int, set[int]]:
    """Candidates that a box accepts, by the paper's algorithm with loops."""
    accepted: dict[int, set[int]] = {}
    for index, box in enumerate(boxes):
        middle = (box[:2] + box[2:]) / 2
        candidates: list[int] = []
        for stride in (8, 16, 32):
            rows = [i for i in range(len(POINTS)) if STRIDES[i] == stride]
            rows.sort(key=lambda i: float(((POINTS[i] - middle) ** 2).sum()))
            candidates += rows[:9]
        values = []
        for i in candidates:
            half = 4 * STRIDES[i]
            square = np.concatenate([POINTS[i] - half, POINTS[i] + half])[None]
            values.append(float(overlaps(square.astype(np.float32), box[None])[0, 0]))
        limit = np.mean(values) + np.std(values)
        accepted[index] = {
            i
            for i, value in zip(candidates, values, strict=True)
            if value >= limit - 1e-6
            and box[0] < POINTS[i][0] < box[2]
            and box[1] < POINTS[i][1] < box[3]
        }
    return accepted


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 4))
def test_adaptive_takes_only_what_the_paper_takes(seed: int, count: int) -> None:
    boxes = _boxes(seed, count)
    chosen = adaptive(POINTS, STRIDES, boxes)
    accepted = _plain_adaptive(boxes)
    for index in range(count):
        taken = set(np.flatnonzero(chosen == index).tolist())
        # A box without any gets one from elsewhere; all others are the paper's.
        assert taken <= accepted[index] or len(taken) == 1
        assert taken
    if count == 1 and accepted[0]:
        ties = len(accepted[0]) - len(np.flatnonzero(chosen == 0))
        assert abs(ties) <= 2  # equally near positions at the edge of the nine


def test_no_box_is_all_background() -> None:
    empty = np.zeros((0, 4), np.float32)
    assert (adaptive(POINTS, STRIDES, empty) == -1).all()
    none = np.zeros((len(POINTS), 2), np.float32)
    chosen = aligned(
        POINTS, empty, none, np.zeros((len(POINTS), 4), np.float32), np.zeros(0, np.int64)
    )
    assert (chosen == -1).all()


def test_a_box_between_positions_is_learnt_too() -> None:
    tiny = np.array([[4.5, 4.5, 6.5, 6.5], [60.0, 40.0, 61.0, 41.0]], np.float32)
    chosen = adaptive(POINTS, STRIDES, tiny)
    assert set(chosen[chosen >= 0]) == {0, 1}


def test_aligned_prefers_what_is_predicted_well() -> None:
    box = np.array([[8.0, 8.0, 56.0, 56.0]], np.float32)
    inside = (POINTS > 8).all(axis=1) & (POINTS < 56).all(axis=1)
    predicted = np.tile(np.array([[0, 0, 20, 20]], np.float32), (len(POINTS), 1))
    scores = np.full((len(POINTS), 2), 0.1, np.float32)
    best = np.flatnonzero(inside)[3:13]
    predicted[best] = box + np.linspace(0, 2, 10)[:, None]
    scores[best, 1] = 0.9
    chosen = aligned(POINTS, box, scores, predicted, np.array([1]))
    assert set(np.flatnonzero(chosen == 0)) == set(best)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 6))
def test_aligned_positions_lie_in_their_box_and_are_few(seed: int, count: int) -> None:
    boxes = _boxes(seed, count)
    random = np.random.default_rng(seed)
    predicted = _boxes(seed + 1, len(POINTS))
    scores = random.uniform(0, 1, (len(POINTS), 3)).astype(np.float32)
    chosen = aligned(POINTS, boxes, scores, predicted, random.integers(0, 3, count))
    counts = np.bincount(chosen[chosen >= 0], minlength=count)
    assert (counts >= 1).all()
    assert (counts <= 10).all()
    for index, box in enumerate(boxes):
        taken = POINTS[chosen == index]
        within = (taken > box[:2]).all(axis=1) & (taken < box[2:]).all(axis=1)
        assert within.all() or len(taken) == 1
