"""The one exception that decoding a recording raises, with a short code beside its sentence."""

from __future__ import annotations

from orchard.errors import BadInput

SOUND_CODES = (
    "empty",
    "zero_bytes",
    "html",
    "text",
    "not_audio",
    "unsupported_format",
    "unsupported_depth",
    "unsupported_rate",
    "too_short",
    "too_long",
    "not_finite",
    "truncated",
    "corrupt",
)


class SoundRefused(BadInput):
    """The bytes are not a recording that can be used.

    Attributes:
        code: one of `SOUND_CODES`; programs decide by it, persons read the sentence.
    """

    def __init__(self, code: str, headline: str, *, value: object = None, way_out: str) -> None:
        if code not in SOUND_CODES:
            raise ValueError(f"code must be one of {SOUND_CODES}, but got {code=}.")
        self.code = code
        super().__init__(headline, value=value, way_out=way_out)
