"""How fast a core of this machine is against the one that the cost tables were written for."""

from __future__ import annotations

import time

import numpy as np
import onnxruntime

from trainers.backbones.feature_graph import feature_graph
from trainers.backbones.registry import Backbone

_SIDE = 224
_PICTURES = 6
_ROUNDS = 8
_STEP = 0.05
_RANGE = (0.2, 2.0)


def core_speed(backbone: Backbone) -> float:
    """The reference's time over this core's, 0.2 to 2.0 in steps of 0.05; 0.5 is half as fast.

    The quickest of a few rounds of the backbone's feature graph with one thread counts, in processor
    time: other work on the machine costs less of that than of the clock's.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        feature_graph(backbone), options, providers=["CPUExecutionProvider"]
    )
    picture = np.zeros((1, 3, _SIDE, _SIDE), np.float32)
    session.run(None, {"input": picture})
    seconds = []
    for _ in range(_ROUNDS):
        began = time.process_time()
        for _ in range(_PICTURES):
            session.run(None, {"input": picture})
        seconds.append((time.process_time() - began) / _PICTURES)
    reference = backbone.milliseconds_per_megapixel / 1000 * _SIDE**2 / 1e6
    speed = round(reference / min(seconds) / _STEP) * _STEP
    return round(min(max(speed, _RANGE[0]), _RANGE[1]), 2)
