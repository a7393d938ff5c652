"""A set of names in a few bytes each, so that millions of entries do not fill the memory."""

from __future__ import annotations

from array import array
from hashlib import blake2b

_SMALLEST = 1 << 12


class NameTable:
    """Maps texts to small numbers (0–254) in 9 bytes a slot, by a 64-bit hash of the text.

    Open addressing with linear probing, at most 2/3 full. Two different texts are taken for the
    same with a probability of about n² / 2⁶⁵: 10⁻⁷ at two million.
    """

    def __init__(self) -> None:
        self._count = 0
        self._allocate(_SMALLEST)

    def __len__(self) -> int:
        return self._count

    def _allocate(self, slots: int) -> None:
        self._mask = slots - 1
        self._keys = array("Q", bytes(8 * slots))
        self._values = bytearray(slots)

    def add(self, text: str, value: int = 0) -> bool:
        """Add a text. False where it was there already; its number then stays."""
        key = _hash(text)
        slot = self._slot(key)
        if self._keys[slot]:
            return False
        self._keys[slot] = key
        self._values[slot] = value
        self._count += 1
        if 3 * self._count > 2 * (self._mask + 1):
            self._grow()
        return True

    def get(self, text: str) -> int | None:
        """The number of a text, or None where it was never added."""
        slot = self._slot(_hash(text))
        return self._values[slot] if self._keys[slot] else None

    def __contains__(self, text: str) -> bool:
        return self.get(text) is not None

    def _slot(self, key: int) -> int:
        keys = self._keys
        mask = self._mask
        slot = key & mask
        while keys[slot] and keys[slot] != key:
            slot = (slot + 1) & mask
        return slot

    def _grow(self) -> None:
        keys, values = self._keys, self._values
        self._allocate(2 * (self._mask + 1))
        for key, value in zip(keys, values, strict=True):
            if key:
                slot = self._slot(key)
                self._keys[slot] = key
                self._values[slot] = value


def _hash(text: str) -> int:
    # Zero marks a free slot, so no key may be zero.
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little") or 1
