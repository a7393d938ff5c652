"""Data set versions that nobody names, and segments that no version names."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import pyarrow.parquet as pq

from orchard import bundle as bundles
from orchard.blobs import Blobs, keys
from orchard.catalog import builds, datasets, deployments, projects
from orchard.catalog.connection import Document
from orchard.errors import NotFound
from orchard.program import read_result
from orchard.tidying.removal import Removal, Tidied


def of_project(tidied: Tidied, owner: str, project: str) -> Iterator[Removal]:
    """Versions first, then the segments that only they named: an interruption leaves segments that
    nobody names, which the next time finds."""
    dataset = str(projects.get(tidied.documents, owner, project)["dataset"])
    newest = builds.of_project(tidied.documents, owner, project)[: tidied.builds]
    needed = _needed(tidied, owner, project, dataset, newest)
    if needed is None:
        return
    kept: set[str] = set()
    for each in datasets.versions(tidied.documents, owner, dataset):
        version = str(each["version"])
        if version in needed or each["created"] >= tidied.before:
            kept.add(version)
            continue
        key = keys.version(owner, dataset, version)
        size = tidied.blobs.weigh(key).bytes if tidied.blobs.exists(key) else 0
        remove = _removing(tidied, owner, dataset, version)
        yield Removal("data set versions", key, size, remove)
    yield from _unseen(tidied, owner, dataset)
    yield from _segments(tidied, owner, dataset, kept, newest)


def _needed(
    tidied: Tidied, owner: str, project: str, dataset: str, newest: Sequence[Document]
) -> set[str] | None:
    """Versions that are named by somebody; None where a bundle in service does not say its own."""
    needed: set[str] = set()
    current = datasets.newest_version(tidied.documents, owner, dataset)
    if current is not None:
        needed.add(str(current["version"]))
    for build in newest:
        if build.get("parent"):
            needed.add(str(build["parent"]))
        checked = read_result(tidied.blobs, owner, str(build["_id"]), "check")
        needed.add(str((checked or {}).get("facts", {}).get("version", "")))
    for deployment in deployments.of_project(tidied.documents, owner, project):
        for entry in (*deployment["bundles"], *deployment["previous"]):
            key = f"{keys.bundle(owner, str(entry['bundle']))}/{bundles.CARD}"
            try:
                needed.add(str(tidied.blobs.read_json(key)["data"]["version"]))
            except NotFound:
                return None
    return needed


def _removing(tidied: Tidied, owner: str, dataset: str, version: str) -> Callable[[], None]:
    def remove() -> None:
        datasets.forget_version(tidied.documents, owner, dataset, version)
        tidied.blobs.delete(keys.version(owner, dataset, version))

    return remove


def _unseen(tidied: Tidied, owner: str, dataset: str) -> Iterator[Removal]:
    """Folders of versions whose document is gone, or never came because the check had died."""
    known = {str(each["version"]) for each in datasets.versions(tidied.documents, owner, dataset)}
    for each in tidied.blobs.entries(keys.versions(owner, dataset)):
        version = each.key.rsplit("/", 1)[1]
        if version in known or version.startswith("."):
            continue
        found = tidied.blobs.weigh(each.key)
        if found.modified < tidied.before:
            remove = _removing(tidied, owner, dataset, version)
            yield Removal("data set versions", each.key, found.bytes, remove)


def _segments(
    tidied: Tidied, owner: str, dataset: str, kept: set[str], newest: Sequence[Document]
) -> Iterator[Removal]:
    """Segments that neither a version that stays nor an intake of a newest build names."""
    tables = [f"{keys.version(owner, dataset, version)}/manifest" for version in sorted(kept)]
    tables += [f"{keys.intake(owner, str(build['_id']))}/files" for build in newest]
    named: set[str] = set()
    for table in tables:
        named |= _segments_in(tidied.blobs, table)
    for each in tidied.blobs.entries(keys.segments(owner, dataset)):
        whole = each.key.endswith(".bin") and not each.is_folder
        if whole and each.key not in named and each.modified < tidied.before:
            yield Removal("segments", each.key, each.bytes, _deleting(tidied.blobs, each.key))


def _deleting(blobs: Blobs, key: str) -> Callable[[], None]:
    return lambda: blobs.delete(key)


def _segments_in(blobs: Blobs, table: str) -> set[str]:
    """Keys in the column `segment` of a table's files, a batch at a time."""
    found: set[str] = set()
    for key in blobs.list(table):
        if not key.endswith(".parquet"):
            continue
        with contextlib.closing(blobs.open(key)) as file:
            for batch in pq.ParquetFile(file).iter_batches(columns=["segment"]):
                found.update(batch.column(0).unique().to_pylist())
    return found
