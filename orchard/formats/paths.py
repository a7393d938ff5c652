"""Which file of a source a label file means."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from dataclasses import dataclass

from orchard.sources.listing import Listing
from orchard.sources.names import ending, stem

MASK_FOLDERS = frozenset({"segmentationclass", "segmentationobject", "masks"})
"""Folders of pictures that are no samples, but paint over those of the same name."""

_MAXIMUM_FOLDERS = 64
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_DRIVE = re.compile(r"^[A-Za-z]:")


@dataclass(frozen=True)
class Resolver:
    """Finds the file that a path in a label file means.

    Args:
        listing: the source's listing.
        base: folder of the label file; paths are looked up below it first.
    """

    listing: Listing
    base: str

    def find(self, written: str) -> str | None:
        """The file's path in the source, or None.

        Looked up in this order: relative to the label file, relative to the source's top, in each
        folder with pictures (where only one has it), then with folders taken off the front, which
        is what paths of another machine need. Each time the extension may be missing or differ in
        case.
        """
        path = loose_path(written)
        if not path:
            return None
        beside = posixpath.normpath(posixpath.join(self.base, path))
        parts = [part for part in path.split("/") if part != ".."]
        for candidate in (beside, "/".join(parts)):
            if found := self._exact(candidate):
                return found
        for first in range(len(parts)):
            tail = "/".join(parts[first:])
            if found := (first and self._exact(tail)) or self._in_folders(tail):
                return found
        return None

    def _exact(self, path: str) -> str | None:
        if path in self.listing:
            return path
        extension = ending(path)
        other = self.listing.sample_of(stem(path))
        if other is not None and ending(other) == extension:
            return other
        # A name without an extension may well have a dot in it.
        return self.listing.sample_of(path)

    def _in_folders(self, path: str) -> str | None:
        if len(self.listing.folders) > _MAXIMUM_FOLDERS:
            return None
        hits = {
            hit
            for folder in self.listing.folders
            if not is_mask(f"{folder}/") and (hit := self._exact(f"{folder}/{path}"))
        }
        return hits.pop() if len(hits) == 1 else None


def is_mask(path: str) -> bool:
    """Whether a path lies in a folder of masks, by the folder's name."""
    return any(part.lower() in MASK_FOLDERS for part in path.split("/")[:-1])


def loose_path(written: str) -> str:
    r"""A path as label files have it, made comparable: NFC, `/`, no scheme, drive or slash in front.

    May still hold parts `..`; is only ever compared with paths of the source, never opened.
    """
    path = unicodedata.normalize("NFC", written.strip()).replace("\\", "/")
    path = _DRIVE.sub("", _SCHEME.sub("", path))
    return "/".join(part for part in path.split("/") if part not in ("", "."))
