"""The part of a task that is the same for all tasks whose samples are pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchard.tasks.base import Accepted, Limits, Refused, Task


class PictureTask(Task):
    """Samples are pictures, decoded to (H, W, 3) uint8 RGB; one row of the graph's input each, or
    one a tile.

    Judge and decoder are imported on the first use, so that what only reads labels or figures
    (the form) loads no picture library.
    """

    sample_word = "picture"
    service_field = "image"

    @property
    def near_bits(self) -> int:  # type: ignore[override]
        from orchard.pictures.fingerprint import NEAR_BITS

        return NEAR_BITS

    def judge(self, payload: bytes, path: str, limits: Limits) -> Accepted | Refused:
        from orchard.pictures.judge import judge_picture

        return judge_picture(payload, path, limits)

    def decode(self, payload: bytes, limits: Limits | None = None) -> NDArray[np.uint8]:
        from orchard.decode import decode_picture

        return decode_picture(payload, (limits or Limits()).maximum_pixels)

    def inputs(
        self, operations: Sequence[Mapping[str, Any]], decoded: NDArray[Any]
    ) -> NDArray[np.float32]:
        from orchard import preprocess

        return preprocess.inputs(operations, decoded)

    def view(self, inputs: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        # A mirrored picture normalised is the normalised picture mirrored, bit for bit.
        return inputs[..., ::-1] if name == "mirror" else inputs

    def bands(self, fingerprint: bytes) -> tuple[int, ...]:
        from orchard.pictures.fingerprint import bands

        return bands(fingerprint)

    def distance(self, one: bytes, other: bytes) -> int:
        from orchard.pictures.fingerprint import distance

        return distance(one, other)

    def golden_payloads(self) -> tuple[bytes, ...]:
        from orchard.pictures.golden import golden_payloads

        return golden_payloads()
