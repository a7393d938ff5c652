"""Sizes inside an icon file, read before any pixel is."""

from __future__ import annotations

import struct

_ENTRY_LENGTH, _ENTRIES_AT = 16, 6
_PNG = b"\x89PNG\r\n\x1a\n"


def icon_size(payload: bytes) -> tuple[int, int]:
    """(width, height) of the largest picture, by its pixels, that an ICO file's pictures claim.

    The directory's own sizes end at 256 and may lie; what counts is the header of each picture,
    a PNG or a bitmap whose height is doubled for its mask.

    Raises:
        ValueError: the directory or a header lies outside the file.
    """
    count = int.from_bytes(payload[4:6], "little")
    largest = (0, 0)
    for index in range(count):
        at = _ENTRIES_AT + index * _ENTRY_LENGTH
        if at + _ENTRY_LENGTH > len(payload):
            raise ValueError(f"entry {index + 1} of {count} lies outside the file")
        (offset,) = struct.unpack_from("<I", payload, at + 12)
        if offset + 24 > len(payload):
            raise ValueError(f"picture {index + 1} of {count} lies outside the file")
        if payload.startswith(_PNG, offset):
            width, height = struct.unpack_from(">II", payload, offset + 16)
        else:
            width, doubled = struct.unpack_from("<ii", payload, offset + 4)
            width, height = abs(width), abs(doubled) // 2
        if width * height > largest[0] * largest[1]:
            largest = (width, height)
    return largest
