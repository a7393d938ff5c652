"""The one exception that decoding raises, with a short code beside its sentence."""

from __future__ import annotations

from orchard.errors import BadInput

CODES = (
    "empty",
    "zero_bytes",
    "html",
    "text",
    "not_a_picture",
    "unsupported_format",
    "unsupported_pixels",
    "too_many_pixels",
    "truncated",
    "corrupt",
)


class PictureRefused(BadInput):
    """The bytes are not a picture that can be used.

    Attributes:
        code: one of `CODES`; programs decide by it, persons read the sentence.
    """

    def __init__(self, code: str, headline: str, *, value: object = None, way_out: str) -> None:
        if code not in CODES:
            raise ValueError(f"code must be one of {CODES}, but got {code=}.")
        self.code = code
        super().__init__(headline, value=value, way_out=way_out)
