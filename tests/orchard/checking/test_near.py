"""Near-duplicates by bands, and the components of their pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from orchard.checking import near
from orchard.checking.components import components

NEAR = 10
BANDS = 16
Row = tuple[str, bytes, str | None, str | None]


def pairs_of(rows: Sequence[Row], batch: int = 7) -> list[tuple[str, str, str | None]]:
    """What two stages of Spark with a sort between them give."""
    names = near.BAND_SCHEMA.names[1:]
    table = pa.table(
        dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)),
        schema=pa.schema([near.BAND_SCHEMA.field(name) for name in names]),
    )
    banded = pa.Table.from_batches(
        near.bucket_rows(table.to_batches(max_chunksize=batch), bands), near.BAND_SCHEMA
    ).to_pylist()
    banded.sort(
        key=lambda r: (r["bucket"], r["settled_group"] is None, r["settled_group"], r["sample_id"])
    )
    ordered = pa.Table.from_pylist(banded, schema=near.BAND_SCHEMA)
    found = near.near_pairs(ordered.to_batches(max_chunksize=batch), NEAR)
    return [tuple(row.values()) for each in found for row in each.to_pylist()]


def bands(fingerprint: bytes) -> tuple[int, ...]:
    return tuple(int.from_bytes(fingerprint[at : at + 2], "big") for at in range(0, 32, 2))


def flipped(fingerprint: bytes, bits: Sequence[int]) -> bytes:
    number = int.from_bytes(fingerprint, "little")
    for bit in bits:
        number ^= 1 << bit
    return number.to_bytes(32, "little")


@settings(max_examples=60)
@given(st.binary(min_size=32, max_size=32), st.sets(st.integers(0, 255), max_size=24))
def test_two_are_a_pair_exactly_where_few_bits_differ(fingerprint: bytes, bits: set[int]) -> None:
    other = flipped(fingerprint, sorted(bits))
    found = pairs_of([("a", fingerprint, None, None), ("b", other, None, None)])
    if len(bits) <= NEAR:
        assert set(found) == {("b", "a", None)}
    else:
        assert found == []


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_groups_are_those_of_all_pairs(seed: int) -> None:
    random = np.random.Generator(np.random.PCG64(seed))
    rows: list[Row] = []
    for number in range(24):
        if rows and random.random() < 0.6:
            origin = rows[random.integers(len(rows))][1]
            bits = random.choice(256, random.integers(0, 15), replace=False)
            fingerprint = flipped(origin, bits.tolist())
        else:
            fingerprint = random.bytes(32)
        rows.append((f"s{number:02d}", fingerprint, None, None))
    words = [int.from_bytes(row[1], "little") for row in rows]
    all_pairs = [
        (rows[i][0], rows[j][0])
        for i in range(len(rows))
        for j in range(i)
        if (words[i] ^ words[j]).bit_count() <= NEAR
    ]
    found = components([(first, second) for first, second, _ in pairs_of(rows)])
    assert found == components(all_pairs)


def test_very_many_alike_cost_one_pair_a_band_each() -> None:
    rows: list[Row] = [(f"s{n:04d}", bytes(32), None, None) for n in range(400)]
    found = pairs_of(rows)
    assert len(found) == 399 * BANDS
    assert set(components([pair[:2] for pair in found]).values()) == {"s0000"}


def test_a_full_bucket_of_settled_ones_leaves_room_for_new_ones() -> None:
    random = np.random.Generator(np.random.PCG64(5))
    shared = bytes(2)
    settled: list[Row] = [
        (f"o{n:03d}", shared + random.bytes(30), f"g{n:03d}", "train:1") for n in range(100)
    ]
    twin = shared + random.bytes(30)
    found = pairs_of([*settled, ("x", twin, None, None), ("y", twin, None, None)])
    assert set(found) == {("y", "x", None)}


def test_settled_ones_stand_for_their_group_and_are_not_paired() -> None:
    print_ = bytes(range(32))
    found = pairs_of(
        [
            ("a", print_, "g1", "train:2"),
            ("b", print_, "g2", "test:-1"),
            ("c", print_, None, None),
        ]
    )
    assert set(found) == {("c", "g1", "train:2"), ("c", "g2", "test:-1")}


def test_samples_without_a_fingerprint_take_no_part() -> None:
    assert pairs_of([("a", b"", None, None), ("b", b"", None, None)]) == []


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh"))))
def test_components_are_closed_under_edges(edges: list[tuple[str, str]]) -> None:
    roots = components(edges)
    assert set(roots) == {node for edge in edges for node in edge}
    assert all(roots[one] == roots[other] for one, other in edges)
    assert all(roots[root] == root <= node for node, root in roots.items())
