"""What a task says of samples: limits, verdicts of the judge, settled annotations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Json = Any

LEAST_TO_TRAIN = 5
"""Training samples without which a class cannot be learnt."""

PICTURE_ENDINGS = frozenset(
    {
        *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".apng", ".bmp", ".dib", ".gif", ".webp"),
        *(".tif", ".tiff", ".heic", ".heif", ".hif", ".avif", ".avifs", ".mpo", ".jps", ".ico"),
        *(".ppm", ".pgm", ".pbm", ".pnm", ".jp2", ".j2k", ".jpx", ".jpf", ".j2c", ".jpc"),
    }
)
"""Extensions of pictures; whether a file is one, its content says."""


@dataclass(frozen=True)
class Limits:
    """What the judge accepts; every field is a setting.

    Attributes:
        maximum_pixels: width × height above which a picture is refused before it is decoded.
        maximum_bytes: encoded size above which a picture is scaled to fit (and said so).
        minimum_side: shortest side in pixels that is accepted.
        maximum_seconds: longest recording accepted, in seconds.
    """

    maximum_pixels: int = 100_000_000
    maximum_bytes: int = 4 * 1024 * 1024
    minimum_side: int = 1
    maximum_seconds: float = 60.0


JUDGED = Limits(maximum_pixels=2**40, maximum_seconds=float("inf"))
"""For samples that the judge has taken: its limits are not asked twice."""


@dataclass(frozen=True)
class Given:
    """A picture as its file has it.

    Attributes:
        width, height: size in pixels upright, before the judge scaled it.
        orientation: EXIF orientation, 1 to 8; 5 to 8 stand on their side in the file.
    """

    width: int
    height: int
    orientation: int = 1


@dataclass(frozen=True)
class Accepted:
    """A sample the judge took.

    Attributes:
        payload: the bytes to store; the bytes that were given unless the judge had to change them.
        changed: whether `payload` differs from what was given.
        width, height: size in pixels after rotation (pictures); 0 where the task has none.
        fingerprint: perceptual hash for near-duplicate search (32 bytes), or b"" where the task
            has none. Near means a small Hamming distance.
        notices: sentences about what was done or found (wrong extension, first frame taken, …).
        given: what the file was before the judge turned or scaled it, for annotations that are
            measured on it.
    """

    payload: bytes
    changed: bool = False
    width: int = 0
    height: int = 0
    fingerprint: bytes = b""
    notices: tuple[str, ...] = ()
    given: Given | None = None


@dataclass(frozen=True)
class Refused:
    """A sample the judge did not take, with the reason as a sentence and a short code."""

    code: str
    reason: str


@dataclass(frozen=True)
class Settled:
    """An annotation after the sample's size is known.

    Attributes:
        annotation: as it is stored; None where it is refused.
        notices: sentences about what was repaired; the same words for the same thing.
        code, reason: of a refusal.
    """

    annotation: Json | None
    notices: tuple[str, ...] = ()
    code: str = ""
    reason: str = ""
