"""One thing to remove, and the projects in which to look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from orchard.blobs import Blobs
from orchard.catalog.connection import Documents
from orchard.settings import Settings


@dataclass(frozen=True)
class Removal:
    """Something that may go.

    Attributes:
        kind: what it is, in words, in the plural.
        name: its key or path.
        remove: removes it; a repetition changes nothing.
    """

    kind: str
    name: str
    bytes: int
    remove: Callable[[], None]


@dataclass(frozen=True)
class Tidied:
    """What is tidied, and how carefully.

    Attributes:
        before: what was changed later stays.
        builds: newest builds of a project whose versions and segments stay.
        projects: (owner, project) whose lease the run holds: no build of them runs.
        others: (owner, project) that runs work on; nothing that is theirs is touched.
    """

    settings: Settings
    blobs: Blobs
    documents: Documents
    before: datetime
    builds: int
    projects: tuple[tuple[str, str], ...]
    others: tuple[tuple[str, str], ...]
