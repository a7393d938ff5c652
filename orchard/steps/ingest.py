"""Ingest: unpack, recognise the labels, store every file in segments, leave the intake.

Started as `python -m orchard.steps.ingest --build ID`. Two walks over the source: the first looks
at names and tables to recognise the format, the second stores contents. Memory does not grow with
the number of samples but for a few bytes a name (see `orchard.sources.compact`).
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from orchard.blobs import Reference, SegmentWriter
from orchard.catalog import builds, changes, datasets
from orchard.errors import BadInput
from orchard.formats import Label, Reading, Role, recognise
from orchard.formats.papers import names_classes
from orchard.formats.split_lists import is_list
from orchard.names import NEWEST
from orchard.program import Progress, Step, run
from orchard.settings import Settings
from orchard.sources import Entry, Limits, Listing, Refusal, Source
from orchard.sources.intake import IntakeWriter
from orchard.sources.locate import Located, Place, open_location
from orchard.sources.names import ending, is_junk
from orchard.tasks import task as task_of
from orchard.tasks.base import Task

logger = logging.getLogger(__name__)

_TABLE_ENDINGS = frozenset({".csv", ".tsv", ".jsonl", ".ndjson", ".txt"})
_DOCUMENT_ENDINGS = frozenset({".json", ".xml", ".yaml", ".yml", ".names"})
_MAXIMUM_TABLES = 64
_MAXIMUM_DOCUMENTS = 16
_JUNK_NOTICE = "Hidden and system files were left out"


def body(step: Step) -> dict[str, Any]:
    """Run the step. Returns {format, files, labels, refused, bytes, notices, summary}."""
    wanted = _wanted_of(step)
    workspace = _workspace(step)
    dataset = str(step.parameters["dataset"])
    task = task_of(str(step.parameters["task"]))
    started = time.monotonic()
    taken = _Taken()
    try:
        with (
            IntakeWriter(step.blobs, step.owner, step.build_id, step.attempt) as intake,
            SegmentWriter(step.blobs, step.owner, dataset, step.settings.segment_bytes) as segments,
        ):
            storing = _Storing(intake, segments, taken)
            for prefix, location in wanted:
                intake.prefix = prefix
                with contextlib.ExitStack() as opened:
                    try:
                        place = opened.enter_context(_open(location, step.settings, workspace))
                        found = _recognised(place, task, taken)
                    except BadInput as error:
                        if not prefix:
                            raise
                        storing.leave_out(location, error)
                        continue
                    storing.store(*found)
            counts = intake.counts
            if wanted and counts["files"] == 0:
                raise BadInput(
                    "Not one file could be taken",
                    value=f"{wanted[0][1]}: {counts['refused']:,} refused {dict(taken.codes)}",
                    way_out="Look at the reasons, set them right and import again",
                )
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
    return taken.facts(counts, time.monotonic() - started)


def _wanted_of(step: Step) -> list[tuple[str, str]]:
    """What to read, as (prefix of the paths, location); nothing for a version as it is.

    What was brought since the newest version is noted in the build's document, so that a repeated
    step reads the same.

    Raises:
        BadInput: the newest version is asked for and there are no data at all.
    """
    data = step.parameters["data"]
    if data["kind"] != NEWEST:
        return [("", str(data["location"]))]
    waiting = step.build.get("changes")
    if waiting is None:
        pending = changes.pending(step.documents, step.owner, step.project)
        waiting = [{"_id": str(each["_id"]), "location": each["location"]} for each in pending]
        builds.set_fields(step.documents, step.owner, step.build_id, changes=waiting)
    dataset = str(step.parameters["dataset"])
    if not waiting and datasets.newest_version(step.documents, step.owner, dataset) is None:
        raise BadInput(
            "This project has no data yet",
            value=dataset,
            way_out="Start a run with a folder or an archive first",
        )
    logger.info("%d imports wait for the next version of %s", len(waiting), dataset)
    return [(each["_id"].rsplit("/", 1)[1] + "/", each["location"]) for each in waiting]


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


@contextlib.contextmanager
def _open(location: str, settings: Settings, workspace: Path) -> Iterator[tuple[Located, Path]]:
    """The source of a location, with a folder of its own for what must lie on the disk."""
    with tempfile.TemporaryDirectory(dir=workspace) as folder:
        place = Place(settings.allowed_roots, settings.allow_http, Path(folder))
        located = open_location(location, limits_of(settings), place)
        with located.source:
            yield located, Path(folder)


class _Taken:
    """What was found in all sources together."""

    def __init__(self) -> None:
        self.formats: set[str] = set()
        self.notices: list[str] = []
        self.codes: Counter[str] = Counter()
        self.bytes = 0

    def facts(self, counts: dict[str, int], seconds: float) -> dict[str, Any]:
        """The step's facts."""
        if not self.formats:
            summary = "Nothing new to read: the newest version is used as it is"
            return {"format": NEWEST, **counts, "bytes": 0, "notices": [], "summary": summary}
        seconds = max(seconds, 1e-6)
        codes = ", ".join(f"{count:,} {code}" for code, count in self.codes.most_common())
        summary = (
            f"{counts['files']:,} files ({self.bytes / 1e6:,.1f} MB) and {counts['labels']:,} "
            f"labels stored, {counts['refused']:,} refused{f' ({codes})' if codes else ''}; "
            f"{counts['files'] / seconds:,.0f} files and {self.bytes / 1e6 / seconds:,.0f} MB a second"
        )
        return {
            "format": " and ".join(sorted(self.formats)),
            **counts,
            "bytes": self.bytes,
            "notices": self.notices,
            "summary": summary,
        }


def _recognised(
    opened: tuple[Located, Path], task: Task, taken: _Taken
) -> tuple[Source, Reading, int]:
    """A source, how it is read, and the number of its files."""
    located, workspace = opened
    source = located.source
    logger.info("Looking at the names in %s", source.title)
    listing = _look(source, workspace, task)
    listing.preferred = located.preferred
    form, evidence, notices = recognise(listing, task.label_kind)
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
    taken.formats.add(form.name)
    taken.notices += notices
    return source, reading, listing.files


def _look(source: Source, workspace: Path, task: Task) -> Listing:
    """The first walk: names, and copies of what may hold labels or say how to read them."""
    listing = Listing(source.title, task.sample_word, task.sample_endings)
    kept: Counter[str] = Counter()
    progress = Progress("names seen")

    def may_hold_labels(entry: Entry) -> bool:
        if is_junk(entry.path):
            return False
        extension = ending(entry.path)
        # A text file may be the labels of one picture; those that say how to read them all must
        # not be crowded out by them.
        kind = "lists" if is_list(entry.path) or names_classes(entry.path) else extension
        most = _MAXIMUM_DOCUMENTS if extension in _DOCUMENT_ENDINGS else _MAXIMUM_TABLES
        known = extension in _TABLE_ENDINGS or extension in _DOCUMENT_ENDINGS
        if not known or kept[kind] >= most:
            return False
        kept[kind] += 1
        return True

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
            is_document = ending(entry.path) in _DOCUMENT_ENDINGS
            copies = listing.documents if is_document else listing.tables
            with tempfile.NamedTemporaryFile(dir=workspace, delete=False) as copy:
                copy.write(payload)
            copies[entry.path] = Path(copy.name)
    return listing


class _Storing:
    """The second walk: contents into segments, rows into the intake."""

    _reading: Reading
    _progress: Progress

    def __init__(self, intake: IntakeWriter, segments: SegmentWriter, taken: _Taken) -> None:
        self._intake = intake
        self._segments = segments
        self._taken = taken
        self._notices: Counter[str] = Counter()

    def store(self, source: Source, reading: Reading, total: int) -> None:
        """Store everything of a source of `total` files."""
        self._reading = reading
        self._progress = Progress("files stored", total)
        self._notices.clear()
        self._rows(self._reading.tables())
        for found in source.walk(self._wanted):
            if isinstance(found, Refusal):
                self._refuse(found)
            elif found[1] is not None:
                self._take(found[0].path, found[1])
        self._store(self._segments.close())
        self._notices.update(source.notices)
        self._notices.update(reading.notices)
        self._taken.notices += [
            f"{text} ({count:,})" for text, count in sorted(self._notices.items())
        ]

    def leave_out(self, location: str, error: BadInput) -> None:
        """Refuse one of several imports as a whole; the others go on."""
        logger.warning("This import is left out, the others go on. %s", error)
        self._refuse(Refusal(location.rsplit("/", 1)[-1], "unusable_import", str(error)))

    def _wanted(self, entry: Entry) -> bool:
        if is_junk(entry.path):
            self._notices[_JUNK_NOTICE] += 1
            return False
        if self._reading.role(entry.path) is Role.OTHER:
            self._notices["Label tables and accompanying texts were not taken for samples"] += 1
            return False
        return True

    def _take(self, path: str, payload: bytes) -> None:
        self._progress.advance()
        if self._reading.role(path) is Role.DOCUMENT:
            self._rows(self._reading.document(path, payload))
            return
        self._taken.bytes += len(payload)
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
                self._intake.label(
                    row.path, row.annotation, row.split, row.source, row.line, row.origin
                )

    def _refuse(self, refusal: Refusal) -> None:
        if is_junk(refusal.path):
            self._notices[_JUNK_NOTICE] += 1
            return
        self._taken.codes[refusal.code] += 1
        self._intake.refused(refusal.path, refusal.code, refusal.reason)


if __name__ == "__main__":
    sys.exit(run("ingest", body))
