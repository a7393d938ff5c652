"""What killed attempts left: files that never became complete, work folders, checkpoints."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISDIR

from orchard.blobs import Blobs, keys
from orchard.catalog import builds
from orchard.tidying.removal import Removal, Tidied

CHECKPOINT = "checkpoint.npz"
_CHECK = "check"


def of_project(tidied: Tidied, owner: str, project: str) -> Iterator[Removal]:
    """Leftovers of a project's ended builds and of its data set."""
    for build in builds.of_project(tidied.documents, owner, project):
        build_id = str(build["_id"])
        folder = keys.build(owner, build_id)
        yield from _blob(tidied, "work folders of checks", f"{folder}/{_CHECK}")
        for trial in tidied.blobs.entries(f"{folder}/trials"):
            yield from _blob(tidied, "checkpoints of trials", f"{trial.key}/{CHECKPOINT}")
        yield from _incomplete(tidied, folder, except_below=f"{folder}/{_CHECK}")
        for path in (
            tidied.settings.home / "temporary" / f"ingest-{build_id}",
            tidied.settings.home / "work" / f"{build_id}-evaluate",
        ):
            yield from local_folder(tidied, "temporary folders of attempts that died", path)
    yield from _incomplete(tidied, keys.dataset(owner, project))


def of_owner(tidied: Tidied, owner: str) -> Iterator[Removal]:
    """Incomplete features and bundles; they belong to no project, so only their age says more."""
    yield from _incomplete(tidied, keys.features_of(owner))
    yield from _incomplete(tidied, keys.bundles(owner))


def local_folder(
    tidied: Tidied, kind: str, path: Path, *, own_time: bool = False
) -> Iterator[Removal]:
    """A folder on this machine's disk, where it exists and has lain long enough.

    Args:
        own_time: the time of the folder itself says since when, not that of its newest file.
    """
    if not path.is_dir():
        return
    below = [each.lstat() for each in path.rglob("*")]
    times = [path.lstat().st_mtime, *(each.st_mtime for each in below if not own_time)]
    if datetime.fromtimestamp(max(times), UTC) >= tidied.before:
        return
    size = sum(each.st_size for each in below if not S_ISDIR(each.st_mode))
    yield Removal(kind, str(path), size, lambda: shutil.rmtree(path, ignore_errors=True))


def _blob(tidied: Tidied, kind: str, key: str) -> Iterator[Removal]:
    if not tidied.blobs.exists(key):
        return
    found = tidied.blobs.weigh(key)
    if found.modified < tidied.before:
        yield Removal(kind, key, found.bytes, lambda: tidied.blobs.delete(key))


def _incomplete(tidied: Tidied, folder: str, except_below: str = "") -> Iterator[Removal]:
    """Files and folders that were being written when their writer died: `.….tmp`."""
    for key in _temporary(tidied.blobs, folder, except_below):
        yield from _blob(tidied, "files that never became complete", key)


def _temporary(blobs: Blobs, folder: str, except_below: str) -> Iterator[str]:
    for each in blobs.entries(folder):
        leaf = each.key.rsplit("/", 1)[1]
        if leaf.startswith(".") and leaf.endswith(".tmp"):
            yield each.key
        elif each.is_folder and each.key != except_below:
            yield from _temporary(blobs, each.key, except_below)
