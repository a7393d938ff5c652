"""Segments: many samples in one file, named by their content, read by reference."""

from __future__ import annotations

import hashlib
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchard.blobs import Blobs, Reference, SegmentReader, SegmentWriter
from orchard.errors import NotFound, OrchardError


def pack(blobs: Blobs, payloads: list[bytes], limit: int) -> list[tuple[object, Reference]]:
    """Pack payloads; the tag of each is its position."""
    with SegmentWriter(blobs, "ann", "keys", limit) as writer:
        done = []
        for number, payload in enumerate(payloads):
            done += writer.add(payload, number)
        return done + writer.close()


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(1, 100))
def test_every_sample_comes_back_in_order(payloads: list[bytes], limit: int) -> None:
    blobs = Blobs(f"memory://{uuid.uuid4().hex}")
    done = pack(blobs, payloads, limit)
    assert [tag for tag, _ in done] == list(range(len(payloads)))
    reader = SegmentReader(blobs)
    for payload, (_, place) in zip(payloads, done, strict=True):
        assert reader.read(place.segment, place.offset, place.length) == payload
        assert place.sha256 == hashlib.sha256(payload).hexdigest()
        assert place.length <= limit or place.offset == 0 or place.length == 0
    reader.close()


def test_a_segment_is_no_longer_than_the_limit_unless_one_sample_is(blobs: Blobs) -> None:
    places = [place for _, place in pack(blobs, [b"aaaa", b"bb", b"c" * 20, b"dd"], 6)]
    sizes = {place.segment: blobs.size(place.segment) for place in places}
    assert sorted(sizes.values()) == [2, 6, 20]


def test_the_same_samples_again_cost_nothing(blobs: Blobs, monkeypatch: pytest.MonkeyPatch) -> None:
    first = pack(blobs, [b"aaaa", b"bb", b"cccc"], 6)

    def refuse(key: str, file: object = None) -> None:
        raise AssertionError(f"{key} is written twice")

    monkeypatch.setattr(blobs, "writing", refuse)
    monkeypatch.setattr(blobs, "send", refuse)
    assert pack(blobs, [b"aaaa", b"bb", b"cccc"], 6) == first


def test_other_samples_lie_in_other_segments(blobs: Blobs) -> None:
    one, two = pack(blobs, [b"aaaa"], 6), pack(blobs, [b"aaab"], 6)
    assert one[0][1].segment != two[0][1].segment


def test_a_segment_that_is_shorter_than_said_is_not_read(blobs: Blobs) -> None:
    place = pack(blobs, [b"aaaa"], 6)[0][1]
    reader = SegmentReader(blobs)
    with pytest.raises(OrchardError, match="shorter than its references"):
        reader.read(place.segment, 2, 4)
    with pytest.raises(NotFound):
        reader.read("ann/datasets/keys/segments/none.bin", 0, 1)
    reader.close()
