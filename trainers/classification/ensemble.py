"""Several heads become one: an average of logits that is itself a head.

Linear heads are averaged exactly. Where a head has hidden units, its units stand beside those of
the others, and a linear head f joins as two units a class, since f = relu(f) - relu(-f).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trainers.head_weights import HeadWeights

Array = NDArray[np.float32]


def merged(heads: Sequence[HeadWeights], shares: Sequence[float]) -> HeadWeights:
    """The head whose logits are the weighted sum of the heads' logits / temperature.

    Args:
        heads: on the same features, each with one or two layers.
        shares: one weight a head.
    """
    linear = [(h, s) for h, s in zip(heads, shares, strict=True) if len(h.layers) == 1]
    deep = [(h, s) for h, s in zip(heads, shares, strict=True) if len(h.layers) == 2]
    width = len(heads[0].mean)
    zero, one = np.zeros(width, np.float32), np.ones(width, np.float32)
    classes = heads[0].layers[-1][0].shape[1]
    weight, bias = np.zeros((width, classes)), np.zeros(classes)
    for head, share in linear:
        ((head_weight, head_bias),) = head.folded()
        weight += share * head_weight.astype(np.float64)
        bias += share * head_bias.astype(np.float64)
    if not deep:
        return HeadWeights(zero, one, [(weight.astype(np.float32), bias.astype(np.float32))])
    firsts, seconds = [], []
    output_bias = np.zeros(classes)
    for head, share in deep:
        first, (second, second_bias) = head.folded()
        firsts.append(first)
        seconds.append(share * second.astype(np.float64))
        output_bias += share * second_bias.astype(np.float64)
    if linear:
        firsts.append((np.concatenate([weight, -weight], 1), np.concatenate([bias, -bias])))
        seconds.append(np.concatenate([np.eye(classes), -np.eye(classes)]))
    layers = [
        (
            np.concatenate([w for w, _ in firsts], axis=1).astype(np.float32),
            np.concatenate([b for _, b in firsts]).astype(np.float32),
        ),
        (np.concatenate(seconds).astype(np.float32), output_bias.astype(np.float32)),
    ]
    return HeadWeights(zero, one, layers)
