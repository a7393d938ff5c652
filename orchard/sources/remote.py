"""A folder in a remote file system as a source, and a file of it fetched to the disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from orchard.blobs.browse import Browser, Item
from orchard.errors import BadInput, TryAgain
from orchard.program import Progress
from orchard.sources.base import CHUNK, Entry, Found, Limits, Refusal, Source, Wanted, read_at_most
from orchard.sources.danger import refuse_count
from orchard.sources.folder import MAXIMUM_DEPTH, too_large
from orchard.sources.names import printable, safe_path


class RemoteFolderSource(Source):
    """The files below a folder, walked in sorted order; links are refused by name."""

    def __init__(self, browser: Browser, limits: Limits) -> None:
        super().__init__(browser.path.rstrip("/").rsplit("/", 1)[-1])
        self._browser = browser
        self._limits = limits

    def walk(self, wanted: Wanted) -> Iterator[Found]:
        try:
            found = self._below(self._browser.path, "", 1, wanted)
            for count, each in enumerate(found, start=1):
                refuse_count(count, self._limits)
                yield each
        except OSError as error:
            raise TryAgain(
                f"The remote folder could not be read: {error}", value=self._browser.uri
            ) from error

    def _below(self, folder: str, prefix: str, depth: int, wanted: Wanted) -> Iterator[Found]:
        if depth > MAXIMUM_DEPTH:
            yield Refusal(printable(prefix), "too_deep", f"More than {MAXIMUM_DEPTH} folders deep")
            return
        for item in self._browser.list(folder):
            name = f"{prefix}{item.name}"
            if item.kind == "link":
                yield Refusal(printable(name), "link", "This is a link; links are not followed")
            elif item.kind == "directory":
                yield from self._below(item.path, f"{name}/", depth + 1, wanted)
            else:
                yield self._file(item, name, wanted)

    def _file(self, item: Item, name: str, wanted: Wanted) -> Found:
        try:
            path = safe_path(name)
        except ValueError as error:
            return Refusal(printable(name), "unusable_name", f"{error}")
        if item.kind != "file":
            return Refusal(path, "special_file", "This is no regular file")
        if item.size > self._limits.entry_bytes:
            return too_large(path, item.size, self._limits)
        entry = Entry(path, item.size)
        if not wanted(entry):
            return entry, None
        with self._browser.open(item.path) as file:
            payload = read_at_most(file, self._limits.entry_bytes)
        return (entry, payload) if payload is not None else too_large(path, -1, self._limits)


def fetch(browser: Browser, item: Item, limits: Limits, workspace: Path) -> Path:
    """Copy a remote archive to the disk. Raises BadInput where it is larger than allowed."""
    if item.size > limits.archive_bytes:
        raise BadInput(
            "The archive is too large",
            value=f"{item.name}: {item.size:,} bytes; at most {limits.archive_bytes:,}",
            way_out="Import it in parts, or raise the setting maximum_archive_bytes",
        )
    goal = workspace / f"fetched-{safe_path(item.name).replace('/', '_')}"
    progress = Progress("bytes fetched", item.size)
    try:
        with browser.open(item.path) as file, goal.open("wb") as copy:
            while chunk := file.read(CHUNK):
                copy.write(chunk)
                progress.advance(len(chunk))
                if progress.done > limits.archive_bytes:
                    raise BadInput("The archive is larger than it said", value=item.name)
    except OSError as error:
        raise TryAgain(f"The archive could not be fetched: {error}", value=browser.uri) from error
    return goal
