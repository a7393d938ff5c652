"""Which split and fold a group of near-duplicates belongs to: a hash of its first member.

The hash never changes, so a group never moves, whatever else joins the data set.
"""

from __future__ import annotations

import hashlib

TEST_RATE = 0.2
FOLDS = 5
LEAST_GROUPS_FOR_A_TEST = 5
"""A class that is new gets at least one test group where it has this many groups."""

TEST_BOUND = f"{int(TEST_RATE * 2**64):016x}"
"""A group whose `share_digits` sort before these belongs to the test split."""


def share_digits(first_member: str) -> str:
    """16 hexadecimal digits of sha256; as a number over 2^64 it is uniform in 0..1."""
    return hashlib.sha256(first_member.encode()).hexdigest()[:16]


def fold_of(first_member: str) -> int:
    """0..4, independent of `share_digits`."""
    return int(hashlib.sha256(first_member.encode()).hexdigest()[16:24], 16) % FOLDS


def test_groups_of_new_class(groups: int) -> int:
    """How many of a new class's groups are set aside: those with the smallest hashes.

    One group stays for training in any case.
    """
    wanted = int(TEST_RATE * groups + 0.5)
    if groups >= LEAST_GROUPS_FOR_A_TEST:
        wanted = max(wanted, 1)
    return min(wanted, max(groups - 1, 0))
