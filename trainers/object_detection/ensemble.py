"""What the members of a detector find together, from cached maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from trainers.engine import paddle
from trainers.object_detection.detector import SWAPPED, FoldedHead, mirrored_places
from trainers.object_detection.geometry import Array, anchor_points
from trainers.object_detection.maps import Pictures
from trainers.object_detection.network import Shape


def folded_layer(head: dict[str, Array], shape: Shape) -> FoldedHead:
    """A folded head as a layer in evaluation mode."""
    layer = FoldedHead(shape)
    layer.set_state_dict(cast(Any, head))
    layer.eval()
    return layer


def outputs_together(
    heads: Sequence[FoldedHead], pictures: Pictures, rows: Sequence[int], *, mirrored: bool
) -> Array:
    """(len(rows), A, 4 + K): what the exported detector of these heads says of the pictures.

    Args:
        mirrored: whether the mirrored picture is looked at too; its features must be there.
    """
    shape = heads[0].shape
    points, strides = anchor_points(shape.positions)
    found = [_said(head, pictures, rows, 0) for head in heads]
    if mirrored:
        view, places = pictures.views.index("mirror"), mirrored_places(shape)
        for head in heads:
            distances, scores = _said(head, pictures, rows, view)
            found.append((distances[:, list(SWAPPED)][:, :, places], scores[:, :, places]))
    reach = np.mean([distances for distances, _ in found], axis=0) * strides
    scores = np.mean([scores for _, scores in found], axis=0)
    low, high = points.T - reach[:, :2], points.T + reach[:, 2:]
    joined = np.concatenate([low, high, scores], axis=1)
    return np.ascontiguousarray(joined.transpose(0, 2, 1), np.float32)


def _said(
    head: FoldedHead, pictures: Pictures, rows: Sequence[int], view: int
) -> tuple[Array, Array]:
    maps = pictures.maps([(row, view) for row in rows])
    with paddle.no_grad():
        distances, scores = head([paddle.to_tensor(level) for level in maps])
    return distances.numpy(), scores.numpy()
