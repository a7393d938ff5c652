"""Short texts: one class a text, by the three-letter pieces in it."""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from orchard.classification import ClassificationTask
from orchard.errors import BadInput
from orchard.tasks.base import Accepted, Ask, Limits, Planned, Refused

WIDTH = 512
LONGEST = 10_000


class ShortText(ClassificationTask):
    """UTF-8 texts in, one of K class names out."""

    name = "short_text"
    title = "Short texts"
    sample_word = "text"
    sample_endings = frozenset({".txt"})
    service_segment = "text_cls"
    service_field = "text"
    views = ("plain",)

    def judge(self, payload: bytes, path: str, limits: Limits) -> Accepted | Refused:
        try:
            self.decode(payload)
        except BadInput as error:
            return Refused("no_text", str(error))
        return Accepted(payload)

    def decode(self, payload: bytes, limits: Limits | None = None) -> NDArray[np.uint8]:
        try:
            text = payload.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise BadInput("This is no UTF-8 text", value=str(error)) from error
        if not text or len(text) > LONGEST or text.startswith("<html"):
            raise BadInput("A text must have 1 to 10,000 characters", value=len(text))
        return np.frombuffer(text.lower().encode(), np.uint8)

    def inputs(
        self, operations: Sequence[Mapping[str, Any]], decoded: NDArray[Any]
    ) -> NDArray[np.float32]:
        width = int(operations[0]["width"])
        row = np.zeros((1, width), np.float32)
        letters = decoded.tobytes()
        for start in range(max(1, len(letters) - 2)):
            row[0, zlib.crc32(letters[start : start + 3]) % width] += 1
        return row / np.float32(np.linalg.norm(row))

    def view(self, inputs: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        return inputs

    def golden_payloads(self) -> tuple[bytes, ...]:
        return (b"a first text", b"another one", b"and a third, a little longer")

    def thumbnail(
        self,
        payload: bytes,
        side: int,
        truth: Any = None,
        answer: NDArray[np.float32] | None = None,
        card: Mapping[str, Any] | None = None,
    ) -> bytes:
        picture = Image.new("RGB", (side, side // 2), "white")
        ImageDraw.Draw(picture).text((4, 4), payload.decode("utf-8", "replace")[:40], fill="black")
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG")
        return buffer.getvalue()

    def plan(self, ask: Ask) -> Planned:
        ask.reasons.append("texts are learnt from themselves, no backbone is needed")
        branch = {
            "key": "pieces",
            "title": "Three-letter pieces",
            "backbone": "none",
            "mode": "frozen",
            "views": ["plain"],
            "preprocessing": [{"operation": "pieces", "width": WIDTH}],
            "feature_key": "",
            "work": {"steps": 300},
            "pixels": 0,
            "prepare_seconds": 0.0,
            "seconds": 5.0,
        }
        return Planned(5, [branch], 0.0001)


TASK = ShortText()
