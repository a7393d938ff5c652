"""Copies of what was imported, once the data set holds it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from orchard.catalog import changes
from orchard.tidying.leftovers import local_folder
from orchard.tidying.removal import Removal, Tidied

_COPY = re.compile(r"[0-9a-f]{16}")
_BROKEN_OFF = re.compile(r"\.[0-9a-f]{16}\.[0-9a-f]{8}")


def staged(tidied: Tidied) -> Iterator[Removal]:
    """Copies below the home that no change that waits names, of projects that no run works on.

    They lie by project, without an owner: a name that several owners use is left alone while a run
    works on it for any of them. Folders that a person put there have other names and stay.
    """
    busy = {project for _, project in tidied.others}
    for project in sorted({project for _, project in tidied.projects} - busy):
        folder = tidied.settings.home / "imports" / project
        if not folder.is_dir():
            continue
        waiting = [Path(each["location"]) for each in changes.pending_of_all(tidied.documents)]
        for path in sorted(folder.iterdir()):
            named = any(location.is_relative_to(path) for location in waiting)
            if _COPY.fullmatch(path.name) and not named:
                yield from _copy(tidied, path)
            elif _BROKEN_OFF.fullmatch(path.name):
                yield from local_folder(tidied, "imports that broke off", path)


def _copy(tidied: Tidied, path: Path) -> Iterator[Removal]:
    """A copy keeps the times of its files, so only the folder itself says when it was made."""
    return local_folder(tidied, "copies of imports", path, own_time=True)
