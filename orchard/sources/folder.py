"""A folder as a source: walked in sorted order, never out of itself."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from orchard.errors import TryAgain
from orchard.sources.base import Entry, Found, Limits, Refusal, Source, Wanted, read_at_most
from orchard.sources.danger import refuse_count
from orchard.sources.names import UnusableName, printable, safe_path

MAXIMUM_DEPTH = 64


class FolderSource(Source):
    """The regular files below a folder.

    Links, device files, sockets and pipes are refused by name and never opened.

    Args:
        root: an existing folder whose links are resolved already.
    """

    def __init__(self, root: Path, limits: Limits) -> None:
        super().__init__(root.name)
        self._root = root
        self._limits = limits

    def walk(self, wanted: Wanted) -> Iterator[Found]:
        self.notices.clear()
        for count, found in enumerate(self._below(str(self._root), "", 1, wanted), start=1):
            refuse_count(count, self._limits)
            yield found

    def _below(self, folder: str, prefix: str, depth: int, wanted: Wanted) -> Iterator[Found]:
        if depth > MAXIMUM_DEPTH:
            yield Refusal(printable(prefix), "too_deep", f"More than {MAXIMUM_DEPTH} folders deep")
            return
        try:
            with os.scandir(folder) as scan:
                children = sorted(scan, key=lambda child: child.name)
        except PermissionError:
            yield Refusal(printable(prefix), "not_readable", "This folder may not be read")
            return
        except OSError as error:
            raise TryAgain(f"A folder could not be read: {error}", value=folder) from error
        for child in children:
            name = f"{prefix}{child.name}"
            if child.is_symlink():
                yield Refusal(printable(name), "link", "This is a link; links are not followed")
            elif child.is_dir(follow_symlinks=False):
                yield from self._below(child.path, f"{name}/", depth + 1, wanted)
            else:
                yield self._file(child, name, wanted)

    def _file(self, child: os.DirEntry[str], name: str, wanted: Wanted) -> Found:
        try:
            if "\\" in name:
                raise UnusableName("The name holds a backslash")
            path = safe_path(name)
        except ValueError as error:
            return Refusal(printable(name), "unusable_name", f"{error}")
        try:
            status = child.stat(follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                return Refusal(path, "special_file", "This is no regular file")
            if status.st_size > self._limits.entry_bytes:
                return too_large(path, status.st_size, self._limits)
            entry = Entry(path, status.st_size)
            if not wanted(entry):
                return entry, None
            payload = self._read(child.path)
        except OSError as error:
            return Refusal(path, "not_readable", f"The file could not be read: {error.strerror}")
        return (entry, payload) if payload is not None else too_large(path, -1, self._limits)

    def _read(self, path: str) -> bytes | None:
        # A file may be swapped for a link or a pipe between the listing and the opening.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(0, "it is no regular file any more")
            return read_at_most(file, self._limits.entry_bytes)


def too_large(path: str, size: int, limits: Limits) -> Refusal:
    """The refusal of one entry above the limit; `size` -1 where it is not known."""
    said = f"{size:,} bytes" if size >= 0 else "Larger than it said"
    return Refusal(path, "too_large", f"{said}; at most {limits.entry_bytes:,} are taken")
