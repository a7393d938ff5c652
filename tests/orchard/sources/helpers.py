"""Small sources for tests."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from orchard.sources import Entry, Limits, Refusal, Source
from orchard.sources.listing import Listing

MEBIBYTE = 1024 * 1024
LIMITS = Limits(
    archive_bytes=256 * MEBIBYTE,
    archive_ratio=100.0,
    entry_bytes=8 * MEBIBYTE,
    entries=100_000,
)


def contents(source: Source) -> dict[str, bytes]:
    """Path → bytes of everything that is taken."""
    found = {}
    for each in source.walk(lambda entry: True):
        if not isinstance(each, Refusal):
            entry, payload = each
            assert payload is not None
            assert len(payload) == entry.size
            found[entry.path] = payload
    return found


def refusals(source: Source) -> dict[str, str]:
    """Path → code of everything that is refused."""

    def nothing(entry: Entry) -> bool:
        return False

    return {each.path: each.code for each in source.walk(nothing) if isinstance(each, Refusal)}


def write_tree(root: Path, files: Mapping[str, bytes]) -> Path:
    """Write files below a folder."""
    for name, payload in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(payload)
    return root


def write_zip(path: Path, files: Mapping[str, bytes]) -> Path:
    """Write a zip archive with names as they are given."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, payload in files.items():
            info = zipfile.ZipInfo(name)
            info.filename = name
            archive.writestr(info, payload, zipfile.ZIP_DEFLATED)
    return path


def write_tar(path: Path, files: Mapping[str, bytes], mode: str = "w") -> Path:
    """Write a tar archive with names as they are given; `mode` as in `tarfile.open`."""
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, payload in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(payload)
            archive.addfile(info, io.BytesIO(payload))
    return path


def listing_of(root: Path) -> Listing:
    """A listing of a folder as ingest makes it, with all tables and documents at hand."""
    listing = Listing(root.name)
    for path in sorted(root.rglob("*")):
        if path.is_file():
            name = path.relative_to(root).as_posix()
            listing.add(name, path.stat().st_size)
            if path.suffix in (".csv", ".tsv", ".txt", ".jsonl"):
                listing.tables[name] = path
            if path.suffix in (".json", ".xml", ".yaml", ".yml", ".names"):
                listing.documents[name] = path
    return listing
