"""Near-duplicates: fingerprints that share a band are candidates, the Hamming distance decides.

Banded search as in locality-sensitive hashing: a fingerprint of 256 bits is cut into 16 bands of
16 bits. Two fingerprints that differ in fewer bits than there are bands have at least one band in
common, so none is missed. The work is bounded where very many look alike: a member of a bucket is
compared with the bucket's first members only, which connects all that look like them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

BANDS = 16
FINGERPRINT_BYTES = 32
FIRST_MEMBERS = 32
"""With how many settled and how many new members of a bucket a sample is compared."""

BAND_SCHEMA = pa.schema(
    [
        ("bucket", pa.int32()),
        ("sample_id", pa.string()),
        ("fingerprint", pa.binary()),
        ("settled_group", pa.string()),
        ("settled_split", pa.string()),
    ]
)
EDGE_SCHEMA = pa.schema(
    [("first", pa.string()), ("second", pa.string()), ("second_split", pa.string())]
)


def bucket_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each sample once a band. Columns as BAND_SCHEMA without `bucket` → BAND_SCHEMA.

    Fingerprints that are not 32 bytes long are left out: they take no part.
    """
    for batch in batches:
        fingerprints = batch.column("fingerprint").to_pylist()
        kept = [i for i, f in enumerate(fingerprints) if f and len(f) == FINGERPRINT_BYTES]
        if not kept:
            continue
        taken = batch.take(pa.array(kept, pa.int32()))
        words = np.frombuffer(b"".join(fingerprints[i] for i in kept), np.uint16)
        words = words.reshape(-1, BANDS).astype(np.int32)
        buckets = words + (np.arange(BANDS, dtype=np.int32) << 16)
        repeated = taken.take(pa.array(np.repeat(np.arange(len(kept)), BANDS)))
        yield pa.RecordBatch.from_arrays(
            [pa.array(buckets.reshape(-1))]
            + [repeated.column(name) for name in BAND_SCHEMA.names[1:]],
            schema=BAND_SCHEMA,
        )


def near_pairs(batches: Iterable[pa.RecordBatch], near_bits: int) -> Iterator[pa.RecordBatch]:
    """Pairs that differ in at most `near_bits` bits out of rows sorted by bucket, settled ones first, then sample id.

    `first` is a new sample; `second` a new sample, or the group of a settled one with its split.
    Pairs of two settled samples are left out: their groups stay. A pair may come more than once.
    """
    bucket = _Bucket(-1, near_bits)
    for batch in batches:
        rows = zip(*(batch.column(name).to_pylist() for name in BAND_SCHEMA.names), strict=True)
        edges: list[tuple[str, str, str | None]] = []
        for number, sample_id, fingerprint, group, split in rows:
            if number != bucket.number:
                bucket = _Bucket(number, near_bits)
            edges.extend(bucket.add(sample_id, fingerprint, group, split))
        if edges:
            columns = [list(column) for column in zip(*edges, strict=True)]
            yield pa.RecordBatch.from_arrays(
                [pa.array(column, pa.string()) for column in columns], schema=EDGE_SCHEMA
            )


class _Bucket:
    """The first members of one bucket, against which the later ones are compared."""

    def __init__(self, number: int, near_bits: int) -> None:
        self.number = number
        self._near_bits = near_bits
        self._room = {True: FIRST_MEMBERS, False: FIRST_MEMBERS}
        self._nodes: list[tuple[str, str | None]] = []
        self._roots: list[int] = []
        self._words: NDArray[np.uint64] = np.zeros((2 * FIRST_MEMBERS, 4), np.uint64)

    def add(
        self, sample_id: str, fingerprint: bytes, group: str | None, split: str | None
    ) -> list[tuple[str, str, str | None]]:
        words = np.frombuffer(fingerprint, np.uint64)
        known = len(self._nodes)
        edges: list[tuple[str, str, str | None]] = []
        joined: list[int] = []
        if known:
            distances = np.bitwise_count(self._words[:known] ^ words).sum(axis=1)
            for index in np.flatnonzero(distances <= self._near_bits):
                node, node_split = self._nodes[index]
                if group is not None and node_split is not None:
                    continue
                root = self._roots[index]
                if root in joined:  # the pairs so far connect it already
                    continue
                joined.append(root)
                edges.append(
                    (node, group, split) if group is not None else (sample_id, node, node_split)
                )
        if self._room[group is not None]:
            self._room[group is not None] -= 1
            self._words[known] = words
            self._nodes.append((group or sample_id, split if group is not None else None))
            self._roots.append(known)
        self._join(joined, known)
        return edges

    def _join(self, joined: list[int], latest: int) -> None:
        """Note that the members with these roots, and the latest if kept, are connected now."""
        if not joined:
            return
        goal = min(joined)
        self._roots = [goal if root in joined else root for root in self._roots]
        if latest < len(self._roots):
            self._roots[latest] = goal
