"""All that may be removed, in an order in which an interruption leaves nothing half-seen."""

from __future__ import annotations

from collections.abc import Iterator

from orchard.tidying import features, imports, leftovers, versions
from orchard.tidying.removal import Removal, Tidied


def search(tidied: Tidied) -> Iterator[Removal]:
    """What may go: of each project that no run works on, then of each owner, then of the imports.

    Whoever asks for the next may have removed the one before, or not.
    """
    for owner, project in tidied.projects:
        yield from leftovers.of_project(tidied, owner, project)
        yield from versions.of_project(tidied, owner, project)
    for owner in sorted({owner for owner, _ in tidied.projects}):
        yield from leftovers.of_owner(tidied, owner)
        yield from features.of_owner(tidied, owner)
    yield from imports.staged(tidied)
