"""The intake: what ingest found, as Parquet that appears whole or not at all."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from orchard.blobs import Blobs, Reference, keys
from orchard.errors import OrchardError
from orchard.intake import FILES, LABELS, REFUSED

BATCH = 4096


class _Table:
    """One Parquet file, written a row group at a time."""

    def __init__(self, file: Any, schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = pq.ParquetWriter(file, schema, compression="zstd")
        self._rows: list[tuple[Any, ...]] = []
        self.count = 0

    def add(self, row: tuple[Any, ...]) -> None:
        self._rows.append(row)
        self.count += 1
        if len(self._rows) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        if not self._rows:
            return
        columns = [
            _array(column, field.type)
            for column, field in zip(zip(*self._rows, strict=True), self._schema, strict=True)
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self._rows = []

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        """Close the writer while its file is still open; what it wrote is thrown away."""
        with contextlib.suppress(pa.ArrowException, OSError, ValueError):
            self._writer.close()


def _array(column: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """A column of texts (None allowed) or of whole numbers.

    `pa.array` would import pandas to look at its argument, which costs a second and 40 MB.
    """
    if pa.types.is_string(kind):
        builder = pa.lib.StringBuilder()
        builder.append_values(list(column))
        return builder.finish()
    numbers = np.asarray(column, dtype=f"int{kind.bit_width}")
    return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(numbers)])


class IntakeWriter:
    """Writes an intake beside its place and moves it there when the block ends without an error.

    Args:
        attempt: number of this try; what earlier tries left half-written is removed.
    """

    def __init__(self, blobs: Blobs, owner: str, build_id: str, attempt: int) -> None:
        self._blobs = blobs
        self._goal = keys.intake(owner, build_id)
        folder = keys.build(owner, build_id)
        for earlier in range(1, attempt + 1):
            blobs.delete(f"{folder}/.intake-{earlier}.tmp")
        self._staging = f"{folder}/.intake-{attempt}.tmp"
        self._stack = contextlib.ExitStack()
        self.prefix = ""
        """What every path begins with: keeps the files of two sources apart."""

    def __enter__(self) -> IntakeWriter:
        self._files = self._open("files", FILES)
        self._labels = self._open("labels", LABELS)
        self._refused = self._open("refused", REFUSED)
        return self

    def _open(self, name: str, schema: pa.Schema) -> _Table:
        file = self._stack.enter_context(
            self._blobs.writing(f"{self._staging}/{name}/part-00000.parquet")
        )
        return _Table(file, schema)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            for table in (self._files, self._labels, self._refused):
                table.abandon()
            self._stack.__exit__(kind, error, trace)
            self._blobs.delete(self._staging)
            return
        with self._stack:
            for table in (self._files, self._labels, self._refused):
                table.close()
        self._blobs.delete(self._goal)
        if not self._blobs.rename_folder(self._staging, self._goal):
            raise OrchardError("The intake could not be put in its place", value=self._goal)

    @property
    def counts(self) -> dict[str, int]:
        """Rows written so far, by table."""
        return {
            "files": self._files.count,
            "labels": self._labels.count,
            "refused": self._refused.count,
        }

    def file(self, path: str, reference: Reference, split: str | None) -> None:
        """Record a stored file."""
        at = reference
        self._files.add(
            (self.prefix + path, at.segment, at.offset, at.length, at.sha256, split, None)
        )

    def label(
        self,
        path: str,
        annotation: Any,
        split: str | None,
        source: str,
        line: int,
        origin: str | None = None,
    ) -> None:
        """Record a label row; `annotation` is JSON, the rest as in `orchard.formats.base.Label`."""
        text = json.dumps(annotation, ensure_ascii=False, sort_keys=True, allow_nan=False)
        self._labels.add((self.prefix + path, text, split, source, line, origin))

    def refused(self, path: str, code: str, reason: str) -> None:
        """Record what was not taken."""
        self._refused.add((self.prefix + path, code, reason, "ingest"))
