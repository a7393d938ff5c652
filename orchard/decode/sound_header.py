"""What the header of a recording promises, checked before anything is decoded.

libsndfile reads what is there and does not say that the rest is missing, and it takes memory by
the header's word. So lengths are compared with the bytes here.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from orchard.decode.sound_refusal import SoundRefused

_INTEGER_PCM, _EXTENSIBLE = 1, 0xFFFE
MOST_BITS = 32
# What programs write that do not know the length when they begin (a pipe); every length above
# these stands for "until the end".
_UNKNOWN_LENGTH = 0x7FFFF000
_END_OF_STREAM = 4
_PAGE_HEADER = 27

_AGAIN = "Copy or export it again"


@dataclass(frozen=True)
class WaveHeader:
    """The `fmt` and `data` chunks of a WAV file.

    Attributes:
        bits: stored bits of one value.
        open_ended: the header does not say how long the recording is.
    """

    bits: int
    open_ended: bool


def check_wave(payload: bytes) -> WaveHeader:
    """Walk over the chunks of a RIFF, RIFX or RF64 file up to the samples.

    (Multimedia Programming Interface and Data Specifications 1.0, IBM and Microsoft, 1991; RF64:
    EBU Tech 3306.)

    Raises:
        SoundRefused: `corrupt` without a format, `unsupported_depth` above 32-bit integers,
            `empty` without samples, `truncated` where the file ends before its samples do.
    """
    order = ">" if payload[:4] == b"RIFX" else "<"
    bits, wide_length, at = 0, None, 12
    while at + 8 <= len(payload):
        name = payload[at : at + 4]
        (length,) = struct.unpack_from(f"{order}I", payload, at + 4)
        body = at + 8
        if name == b"ds64" and body + 16 <= len(payload):
            (wide_length,) = struct.unpack_from("<Q", payload, body + 8)
        elif name == b"fmt " and body + 16 <= len(payload):
            bits = _bits(payload, body, length, order)
        elif name == b"data":
            if not bits:
                break
            if length == 0xFFFFFFFF and wide_length is not None:
                length = wide_length
            return WaveHeader(bits, _check_length(length, len(payload) - body))
        at = body + length + (length & 1)
    if bits:
        raise SoundRefused(
            "empty", "The WAV file ends before any samples", way_out="Copy or export it again"
        )
    raise SoundRefused(
        "corrupt", "The WAV file's header is broken", value=payload[:16].hex(" "), way_out=_AGAIN
    )


def _bits(payload: bytes, body: int, length: int, order: str) -> int:
    kind, _, _, _, _, bits = struct.unpack_from(f"{order}HHIIHH", payload, body)
    if kind == _EXTENSIBLE and length >= 26 and body + 26 <= len(payload):
        (kind,) = struct.unpack_from(f"{order}H", payload, body + 24)
    if kind == _INTEGER_PCM and bits > MOST_BITS:
        raise SoundRefused(
            "unsupported_depth",
            f"The recording stores integers of {bits} bits; 8 to {MOST_BITS} are read",
            way_out="Export it with 16 or 24 bits, or as 32-bit floating point",
        )
    # Compressed kinds may say 0 bits.
    return max(1, int(bits))


def _check_length(promised: int, there: int) -> bool:
    """Whether the length is unknown. Raises SoundRefused where samples are missing."""
    if promised == 0 and there == 0 or there == 0:
        raise SoundRefused(
            "empty", "The WAV file has a header and no samples", way_out="Record or export it again"
        )
    if promised == 0 or promised >= _UNKNOWN_LENGTH:
        return True
    if promised > there:
        raise SoundRefused(
            "truncated",
            f"The file ends early: its header promises {promised:,} bytes of samples, "
            f"{there:,} are there",
            way_out=_AGAIN,
        )
    return False


def check_ogg(payload: bytes) -> None:
    """Refuse an Ogg file whose last page is cut or is not marked as the last (RFC 3533).

    Raises:
        SoundRefused: `truncated`.
    """
    at = payload.rfind(b"OggS")
    header = payload[at : at + _PAGE_HEADER]
    whole = False
    if len(header) == _PAGE_HEADER:
        segments = payload[at + _PAGE_HEADER : at + _PAGE_HEADER + header[26]]
        end = at + _PAGE_HEADER + header[26] + sum(segments)
        whole = len(segments) == header[26] and end <= len(payload)
    if not whole or not header[5] & _END_OF_STREAM:
        raise SoundRefused(
            "truncated", "The Ogg file ends early: its last page is missing", way_out=_AGAIN
        )
