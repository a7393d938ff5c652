"""Bytes: the only way to files that outlive a step. `Blobs` over fsspec, segments, keys."""

from orchard.blobs.segments import Reference, SegmentReader, SegmentWriter
from orchard.blobs.store import Blobs

__all__ = ["Blobs", "Reference", "SegmentReader", "SegmentWriter"]
