"""From a location that a person gave to a source, inside the allowed import roots only."""

from __future__ import annotations

from pathlib import Path

from orchard.errors import BadInput
from orchard.sources.base import Limits, Source
from orchard.sources.folder import FolderSource
from orchard.sources.zip_archive import ZipSource


def resolved(location: str, roots: tuple[Path, ...]) -> Path:
    """The real path of a local location, all links resolved.

    A relative location is looked up below each root in turn. Raises BadInput where it does not
    exist or lies outside of all roots; both say the same, so that nothing outside can be probed.
    """
    real_roots = [root.resolve() for root in roots]
    given = Path(location)
    candidates = [given] if given.is_absolute() else [root / given for root in real_roots]
    for candidate in candidates:
        try:
            real = candidate.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            continue
        if any(real.is_relative_to(root) for root in real_roots):
            return real
    raise BadInput(
        "There are no such data below the allowed import folders",
        value=location,
        way_out=f"Put the data below {' or '.join(map(str, roots))}, or set ORCHARD_IMPORT_ROOTS",
    )


def open_local(path: Path, limits: Limits) -> Source:
    """A source for a folder or an archive file, which is told by its content."""
    if path.is_dir():
        return FolderSource(path, limits)
    with path.open("rb") as file:
        start = file.read(512)
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return ZipSource(path, limits)
    raise BadInput(
        "This file is no archive that can be read",
        value=path.name,
        way_out="Give a folder, or a zip, tar, tar.gz or 7z archive",
    )
