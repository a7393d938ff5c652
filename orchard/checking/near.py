"""Near-duplicates: samples that share a band are candidates, the Hamming distance decides.

Banded search as in locality-sensitive hashing: the task cuts a fingerprint into bands of which two
near ones share at least one, so none is missed. The work is bounded where very many look alike: a
member of a bucket is compared with the bucket's first members only, which connects all that look
like them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

FIRST_MEMBERS = 32
"""With how many settled and how many new members of a bucket a sample is compared."""

BAND_SCHEMA = pa.schema(
    [
        ("bucket", pa.int64()),
        ("sample_id", pa.string()),
        ("fingerprint", pa.binary()),
        ("settled_group", pa.string()),
        ("settled_split", pa.string()),
    ]
)
EDGE_SCHEMA = pa.schema(
    [("first", pa.string()), ("second", pa.string()), ("second_split", pa.string())]
)

Edge = tuple[str, str, str | None]


def bucket_rows(
    batches: Iterable[pa.RecordBatch], bands: Callable[[bytes], tuple[int, ...]]
) -> Iterator[pa.RecordBatch]:
    """Each sample once a band. Columns as BAND_SCHEMA without `bucket` → BAND_SCHEMA.

    Samples without a fingerprint take no part. `bands` gives numbers below 2^32, at most 2^31.
    """
    for batch in batches:
        buckets: list[int] = []
        rows: list[int] = []
        for row, fingerprint in enumerate(batch.column("fingerprint").to_pylist()):
            if fingerprint:
                numbers = bands(fingerprint)
                buckets.extend(place << 32 | number for place, number in enumerate(numbers))
                rows.extend([row] * len(numbers))
        if rows:
            repeated = batch.take(pa.array(rows, pa.int32()))
            yield pa.RecordBatch.from_arrays(
                [pa.array(buckets, pa.int64())]
                + [repeated.column(name) for name in BAND_SCHEMA.names[1:]],
                schema=BAND_SCHEMA,
            )


def near_pairs(batches: Iterable[pa.RecordBatch], near_bits: int) -> Iterator[pa.RecordBatch]:
    """Pairs that differ in at most `near_bits` bits → EDGE_SCHEMA.

    Rows come sorted by bucket, settled ones first, then by sample id. `first` is a new sample;
    `second` a new sample, or the group of a settled one with its split. Pairs of two settled
    samples are left out: their groups stay. A pair may come more than once.
    """
    bucket, place = _Bucket(near_bits), -1
    for batch in batches:
        rows = zip(*(batch.column(name).to_pylist() for name in BAND_SCHEMA.names), strict=True)
        edges: list[Edge] = []
        for number, sample_id, fingerprint, group, split in rows:
            if number != place:
                bucket, place = _Bucket(near_bits), number
            if group is not None:
                bucket.add_settled(fingerprint, group, split)
            else:
                edges.extend(bucket.add_new(fingerprint, sample_id))
        if edges:
            columns = [list(column) for column in zip(*edges, strict=True)]
            yield pa.RecordBatch.from_arrays(
                [pa.array(column, pa.string()) for column in columns], schema=EDGE_SCHEMA
            )


class _Bucket:
    """The first members of one bucket, against which the later ones are compared."""

    def __init__(self, near_bits: int) -> None:
        self._near_bits = near_bits
        self._bits: list[int] = []
        self._nodes: list[tuple[str, str | None]] = []
        self._roots: list[int] = []
        self._settled = 0

    def add_settled(self, fingerprint: bytes, group: str, split: str) -> None:
        if self._settled < FIRST_MEMBERS:
            self._settled += 1
            self._keep(int.from_bytes(fingerprint, "big"), (group, split))

    def add_new(self, fingerprint: bytes, sample_id: str) -> list[Edge]:
        """Compare with the members; gives the pairs that connect the sample with each of them."""
        bits = int.from_bytes(fingerprint, "big")
        edges: list[Edge] = []
        joined: list[int] = []
        for other, node, root in zip(self._bits, self._nodes, self._roots, strict=True):
            if root not in joined and (bits ^ other).bit_count() <= self._near_bits:
                joined.append(root)
                edges.append((sample_id, *node))
        if len(self._nodes) - self._settled < FIRST_MEMBERS:
            joined.append(self._keep(bits, (sample_id, None)))
        if len(joined) > 1:
            goal = min(joined)
            self._roots = [goal if root in joined else root for root in self._roots]
        return edges

    def _keep(self, bits: int, node: tuple[str, str | None]) -> int:
        self._bits.append(bits)
        self._nodes.append(node)
        self._roots.append(len(self._roots))
        return self._roots[-1]
