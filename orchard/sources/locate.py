"""From a location that a person gave to a source, inside the allowed import roots only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from orchard.blobs.browse import Browser
from orchard.errors import BadInput
from orchard.sources.base import Limits, Source
from orchard.sources.folder import FolderSource
from orchard.sources.forward import is_compressed
from orchard.sources.names import ending
from orchard.sources.remote import RemoteFolderSource, fetch
from orchard.sources.seven_zip import SevenZipSource
from orchard.sources.tar_archive import TarSource, is_tar, not_tar
from orchard.sources.web import download
from orchard.sources.zip_archive import ZipSource

_SCHEME = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]*)://")
_TABLE_ENDINGS = frozenset({".csv", ".tsv", ".jsonl", ".ndjson"})


@dataclass(frozen=True)
class Place:
    """Where data may come from.

    Attributes:
        roots: folders below which local data may lie; a root `hdfs:/host/folder` allows
            `hdfs://host/folder/…`.
        allow_http: whether http and https are allowed.
        workspace: folder for what must be fetched or unpacked to the disk.
    """

    roots: tuple[Path, ...]
    allow_http: bool
    workspace: Path


@dataclass(frozen=True)
class Located:
    """A source, and the label table in it that the person pointed at, if any."""

    source: Source
    preferred: str | None = None


def open_location(location: str, limits: Limits, place: Place) -> Located:
    """The source at a path or URI.

    A location that is a table (CSV, TSV, JSON lines) means the folder it lies in, with that table.
    Raises BadInput for what is not allowed, does not exist or cannot be read.
    """
    scheme = _SCHEME.match(location)
    if scheme is None:
        return _open_path(resolved(location, place.roots), limits, place.workspace)
    refuse_login(location)
    name = scheme.group(1).lower()
    if name == "file":
        parts = urlsplit(location)
        if parts.netloc not in ("", "localhost"):
            raise BadInput("A file address must not name another machine", value=location)
        return _open_path(resolved(unquote(parts.path), place.roots), limits, place.workspace)
    if name == "hdfs":
        return Located(_open_hdfs(location, limits, place))
    if name in ("http", "https"):
        if not place.allow_http:
            raise BadInput(
                "Data may not be fetched from the web here",
                value=location.split("?")[0],
                way_out="Put the data below an import folder, or set ORCHARD_ALLOW_HTTP=true",
            )
        fetched = download(location, limits, place.workspace)
        return Located(open_local(fetched, limits, place.workspace))
    raise BadInput(
        "Addresses of this kind are not read",
        value=location.split("?")[0],
        way_out="Use a folder, an archive, file:// or hdfs://",
    )


def refuse_login(location: str) -> None:
    """Raises BadInput where a URI holds a user name or password; shows it without them."""
    scheme, _, rest = location.partition("://")
    authority = re.split(r"[/?#\\]", rest, maxsplit=1)[0]
    if "@" in authority:
        rest = rest[len(authority) :].split("?")[0]
        shown = f"{scheme}://…@{authority.rpartition('@')[2]}{rest}"
        raise BadInput(
            "An address must not hold a user name or a password",
            value=shown,
            way_out="Leave it out; what it was is not stored in the log, but change the password",
        )


def _open_path(path: Path, limits: Limits, workspace: Path) -> Located:
    if path.is_file() and ending(path.name) in _TABLE_ENDINGS:
        return Located(FolderSource(path.parent, limits), path.name)
    return Located(open_local(path, limits, workspace))


def _open_hdfs(location: str, limits: Limits, place: Place) -> Source:
    path = PurePosixPath(location.replace("://", ":/", 1))
    roots = [PurePosixPath(str(root)) for root in place.roots]
    below = any(path.is_relative_to(root) for root in roots if str(root).startswith("hdfs:/"))
    if ".." in path.parts or not below:
        raise BadInput(
            "This address lies outside of the allowed import folders",
            value=location,
            way_out="Add the folder to ORCHARD_IMPORT_ROOTS, as hdfs://host/folder",
        )
    browser = Browser(location)
    item = browser.item()
    if item.kind == "directory":
        return RemoteFolderSource(browser, limits)
    return open_local(fetch(browser, item, limits, place.workspace), limits, place.workspace)


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


def open_local(path: Path, limits: Limits, workspace: Path) -> Source:
    """A source for a folder or an archive file, whose kind is told by its content.

    Args:
        workspace: folder for what must be unpacked to the disk.
    """
    if path.is_dir():
        return FolderSource(path, limits)
    if not path.is_file():
        raise BadInput("This is neither a folder nor a regular file", value=path.name)
    with path.open("rb") as file:
        start = file.read(512)
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return ZipSource(path, limits)
    if start.startswith(b"7z\xbc\xaf\x27\x1c"):
        return SevenZipSource(path, limits, workspace)
    if is_compressed(start):
        error = not_tar(path, limits)
        if error is not None:
            raise error
        return TarSource(path, limits)
    if is_tar(start):
        return TarSource(path, limits)
    raise BadInput(
        "This file is no archive that can be read",
        value=path.name,
        way_out="Give a folder, or a zip, tar, tar.gz or 7z archive",
    )
