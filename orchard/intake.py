"""The tables of an intake, as ingest writes them and check reads them (see `orchard.blobs.keys.intake`)."""

from __future__ import annotations

import pyarrow as pa

FILES = pa.schema(
    [
        ("path", pa.string()),
        ("segment", pa.string()),
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("sha256", pa.string()),
        ("split", pa.string()),
        ("hints", pa.string()),
    ]
)
LABELS = pa.schema(
    [
        ("path", pa.string()),
        ("annotation", pa.string()),
        ("split", pa.string()),
        ("source", pa.string()),
        ("line", pa.int32()),
        ("origin", pa.string()),
    ]
)
REFUSED = pa.schema(
    [("path", pa.string()), ("code", pa.string()), ("reason", pa.string()), ("stage", pa.string())]
)
