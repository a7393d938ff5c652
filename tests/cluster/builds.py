"""Builds over a store at any address, step by step as a pod runs them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq
import pytest

from orchard.blobs import Blobs, SegmentReader, keys
from orchard.catalog.connection import documents
from orchard.program import Step, read_result, run
from orchard.settings import settings
from tests.spark_jobs.intakes import OWNER, picture, step

Body = Callable[[Step], dict[str, Any]]

PICTURES = {
    f"{label}/{number:02d} #1; 50%&ü.png": picture(number + seed, size=(60, 40))
    for label, seed in (("dent", 0), ("scratch", 1000))
    for number in range(12)
}
"""Samples of two classes by their paths, whose names mean something in an address."""


@dataclass(frozen=True)
class Way:
    """One build of one store."""

    of: Step

    def go(self, name: str, body: Body) -> dict[str, Any]:
        """Run a step as its program does. Returns its facts; fails where it does not end well."""
        assert run(name, body, ["--build", self.of.build_id]) == 0, self.result(name)
        return dict(self.result(name)["facts"])

    def result(self, name: str) -> Any:
        """What a step left."""
        return read_result(self.of.blobs, OWNER, self.of.build_id, name)

    def rows(self, folder: str) -> list[dict[str, Any]]:
        """The rows of all Parquet files below a folder."""
        blobs, found = self.of.blobs, []
        for each in blobs.entries(folder):
            if each.is_folder:
                found += self.rows(each.key)
            elif each.key.endswith(".parquet"):
                with blobs.open(each.key) as file:
                    found += pq.read_table(file).to_pylist()
        return found

    def intake(self) -> list[dict[str, Any]]:
        """The files that ingest stored, each with its bytes."""
        reader = SegmentReader(self.of.blobs)
        found = self.rows(f"{keys.intake(OWNER, self.of.build_id)}/files")
        for row in found:
            row["payload"] = reader.read(row["segment"], row["offset"], row["length"])
        reader.close()
        return found


@contextlib.contextmanager
def way(
    blobs_uri: str, location: str, imports: str, database: str, **variables: str
) -> Iterator[Way]:
    """A build in a store and a database of its own, with data from a location."""
    values = {
        "ORCHARD_BLOBS_URI": blobs_uri,
        "ORCHARD_DOCUMENTS_DATABASE": database,
        "ORCHARD_IMPORT_ROOTS": f'["{imports}"]',
        **variables,
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setenv(name, value)
        settings.cache_clear()
        try:
            data = {"kind": "folder", "location": location}
            yield Way(step("ingest", "way", data=data))
        finally:
            documents().client.drop_database(database)
            Blobs(blobs_uri).delete(OWNER)
    settings.cache_clear()
