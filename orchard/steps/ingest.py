"""Ingest: unpack, recognise the labels, store every file in segments, leave the intake.

Started as `python -m orchard.steps.ingest --build ID`. Two walks over the source: the first looks
at names and tables to recognise the format, the second stores contents. Memory does not grow with
the number of samples but for a few bytes a name (see `orchard.sources.compact`).
"""

from __future__ import annotations

import logging
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from orchard.blobs import Reference, SegmentWriter
from orchard.catalog import datasets
from orchard.errors import BadInput
from orchard.formats import Label, Reading, Role, recognise
from orchard.program import Progress, Step, run
from orchard.settings import Settings
from orchard.sources import Entry, Limits, Listing, Refusal, Source
from orchard.sources.intake import IntakeWriter
from orchard.sources.locate import Located, Place, open_location
from orchard.sources.names import ending, is_junk

logger = logging.getLogger(__name__)

_TABLE_ENDINGS = frozenset({".csv", ".tsv", ".jsonl", ".ndjson", ".txt"})
_MAXIMUM_TABLES = 64
_MAXIMUM_DOCUMENTS = 16
_JUNK_NOTICE = "Hidden and system files were left out"


def body(step: Step) -> dict[str, Any]:
    """Run the step. Returns {format, files, labels, refused, bytes, notices, summary}."""
    data = step.parameters["data"]
    if data["kind"] == "newest":
        return _newest(step)
    workspace = _workspace(step)
    try:
        located = _open(data, step.settings, workspace)
        with located.source:
            return _ingest(step, located, workspace)
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def _newest(step: Step) -> dict[str, Any]:
    dataset = str(step.parameters["dataset"])
    if datasets.newest_version(step.documents, step.owner, dataset) is None:
        raise BadInput(
            "This project has no data yet",
            value=dataset,
            way_out="Start a run with a folder or an archive first",
        )
    with IntakeWriter(step.blobs, step.owner, step.build_id, step.attempt) as intake:
        counts = intake.counts
    summary = f"Nothing to read: the newest version of {dataset} is used"
    return {"format": "newest", **counts, "bytes": 0, "notices": [], "summary": summary}


def _workspace(step: Step) -> Path:
    """An empty folder for what must lie on the disk meanwhile; named by the build, so that what a
    killed attempt left is found and removed."""
    folder = step.settings.home / "temporary" / f"ingest-{step.build_id}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def limits_of(settings: Settings) -> Limits:
    """The limits of an import as the settings have them."""
    return Limits(
        archive_bytes=settings.maximum_archive_bytes,
        archive_ratio=settings.maximum_archive_ratio,
        entry_bytes=settings.maximum_entry_bytes,
        entries=settings.maximum_entries,
    )


def _open(data: dict[str, Any], settings: Settings, workspace: Path) -> Located:
    place = Place(settings.allowed_roots, settings.allow_http, workspace)
    return open_location(str(data["location"]), limits_of(settings), place)


def _ingest(step: Step, located: Located, workspace: Path) -> dict[str, Any]:
    started = time.monotonic()
    source = located.source
    logger.info("Looking at the names in %s", source.title)
    listing = _look(source, workspace)
    listing.preferred = located.preferred
    task = str(step.parameters["task"])
    form, evidence, notices = recognise(listing, task)
    logger.info(
        "%s files, %.1f MB. Read as %s: %s",
        f"{listing.files:,}",
        listing.size / 1e6,
        form.name,
        evidence.reason,
    )
    for notice in notices:
        logger.info("Note: %s", notice)
    reading = form.read(listing, evidence)
    dataset = str(step.parameters["dataset"])
    limit = step.settings.segment_bytes
    with (
        IntakeWriter(step.blobs, step.owner, step.build_id, step.attempt) as intake,
        SegmentWriter(step.blobs, step.owner, dataset, limit) as segments,
    ):
        pass_on = _Storing(intake, segments, reading, listing.files)
        pass_on.walk(source)
        counts = intake.counts
        if counts["files"] == 0:
            raise BadInput(
                "Not one file could be taken",
                value=f"{source.title}: {counts['refused']:,} refused {dict(pass_on.codes)}",
                way_out="Look at the reasons, set them right and import again",
            )
    notices += [f"{text} ({count:,})" for text, count in sorted(pass_on.notices.items())]
    seconds = max(time.monotonic() - started, 1e-6)
    codes = ", ".join(f"{count:,} {code}" for code, count in pass_on.codes.most_common())
    summary = (
        f"{counts['files']:,} files ({pass_on.bytes / 1e6:,.1f} MB) and {counts['labels']:,} labels "
        f"stored, {counts['refused']:,} refused{f' ({codes})' if codes else ''}; "
        f"{counts['files'] / seconds:,.0f} files and {pass_on.bytes / 1e6 / seconds:,.0f} MB a second"
    )
    return {
        "format": form.name,
        **counts,
        "bytes": pass_on.bytes,
        "notices": notices,
        "summary": summary,
    }


def _look(source: Source, workspace: Path) -> Listing:
    """The first walk: names, and copies of what may be a label table."""
    listing = Listing(source.title)
    progress = Progress("names seen")

    def may_hold_labels(entry: Entry) -> bool:
        if is_junk(entry.path):
            return False
        extension = ending(entry.path)
        if extension == ".json":
            return len(listing.documents) < _MAXIMUM_DOCUMENTS
        return extension in _TABLE_ENDINGS and len(listing.tables) < _MAXIMUM_TABLES

    for found in source.walk(may_hold_labels):
        progress.advance()
        if isinstance(found, Refusal):
            listing.refused[found.code] += 1
            continue
        entry, payload = found
        if is_junk(entry.path):
            continue
        listing.add(entry.path, entry.size)
        if payload is not None:
            kept = listing.documents if ending(entry.path) == ".json" else listing.tables
            with tempfile.NamedTemporaryFile(dir=workspace, delete=False) as copy:
                copy.write(payload)
            kept[entry.path] = Path(copy.name)
    return listing


class _Storing:
    """The second walk: contents into segments, rows into the intake."""

    def __init__(
        self, intake: IntakeWriter, segments: SegmentWriter, reading: Reading, total: int
    ) -> None:
        self._intake = intake
        self._segments = segments
        self._reading = reading
        self._progress = Progress("files stored", total)
        self.bytes = 0
        self.codes: Counter[str] = Counter()
        self.notices: Counter[str] = Counter()

    def walk(self, source: Source) -> None:
        """Store everything."""
        self._rows(self._reading.tables())
        for found in source.walk(self._wanted):
            if isinstance(found, Refusal):
                self._refuse(found)
            elif found[1] is not None:
                self._take(found[0].path, found[1])
        self._store(self._segments.close())
        self.notices.update(source.notices)

    def _wanted(self, entry: Entry) -> bool:
        if is_junk(entry.path):
            self.notices[_JUNK_NOTICE] += 1
            return False
        if self._reading.role(entry.path) is Role.OTHER:
            self.notices["Label tables and accompanying texts were not taken for samples"] += 1
            return False
        return True

    def _take(self, path: str, payload: bytes) -> None:
        self._progress.advance()
        if self._reading.role(path) is Role.DOCUMENT:
            self._rows(self._reading.document(path, payload))
            return
        self.bytes += len(payload)
        self._store(self._segments.add(payload, (path, self._reading.split(path))))
        self._rows(self._reading.sample(path))

    def _store(self, stored: list[tuple[Any, Reference]]) -> None:
        for (path, split), reference in stored:
            self._intake.file(path, reference, split)

    def _rows(self, rows: Iterable[Label | Refusal]) -> None:
        for row in rows:
            if isinstance(row, Refusal):
                self._refuse(row)
            else:
                self._intake.label(row.path, row.annotation, row.split, row.source, row.line)

    def _refuse(self, refusal: Refusal) -> None:
        if is_junk(refusal.path):
            self.notices[_JUNK_NOTICE] += 1
            return
        self.codes[refusal.code] += 1
        self._intake.refused(refusal.path, refusal.code, refusal.reason)


if __name__ == "__main__":
    sys.exit(run("ingest", body))
