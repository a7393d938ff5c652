"""Tidy: remove what nobody owns any more, or only list it.

    python -m orchard.steps.tidy --build ID

The task before it took the leases of the projects that no run works on and noted them; a lease that
is another's by now is respected. A repetition finds less to do, and an interruption leaves nothing
that a reader could see.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from orchard import program
from orchard.catalog import leases
from orchard.program import Step
from orchard.tidying import Tidied, search

logger = logging.getLogger(__name__)

_LINES_A_KIND = 20


def body(step: Step) -> dict[str, Any]:
    """Remove. Returns {removed, bytes, kinds, dry_run, summary}."""
    tidied = _tidied(step)
    only_list = bool(step.parameters["dry_run"])
    verb = "Would remove" if only_list else "Removed"
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for found in search(tidied):
        if not only_list:
            found.remove()
        counts[found.kind] += 1
        sizes[found.kind] += found.bytes
        if counts[found.kind] <= _LINES_A_KIND:
            logger.info("%s %s, %.1f MB (%s)", verb, found.name, found.bytes / 1e6, found.kind)
        elif counts[found.kind] == _LINES_A_KIND + 1:
            logger.info("… and more %s", found.kind)
    for kind, count in sorted(counts.items()):
        logger.info("%s: %s, %.1f MB", kind.capitalize(), f"{count:,}", sizes[kind] / 1e6)
    total, size = sum(counts.values()), sum(sizes.values())
    return {
        "removed": 0 if only_list else total,
        "found": total,
        "bytes": size,
        "kinds": dict(sorted(counts.items())),
        "dry_run": only_list,
        "summary": f"{verb} {total:,} things, {size / 1e6:,.1f} MB, of {len(tidied.projects)} "
        f"projects; {len(tidied.others)} were left alone",
    }


def _tidied(step: Step) -> Tidied:
    """The projects whose lease this run holds, and all others."""
    mine: list[tuple[str, str]] = []
    others = [(str(owner), str(project)) for owner, project in step.parameters["others"]]
    for owner, project in step.parameters["projects"]:
        lease = leases.holder(step.documents, owner, project)
        held = lease is not None and lease["run_id"] == step.build["run_id"]
        (mine if held else others).append((str(owner), str(project)))
    for owner, project in others:
        logger.info("%s/%s is left alone", owner, project)
    days = int(step.parameters["days"])
    logger.info(
        "%d projects; what was changed within %d days stays, and what the %d newest builds name",
        len(mine),
        days,
        step.parameters["builds"],
    )
    return Tidied(
        settings=step.settings,
        blobs=step.blobs,
        documents=step.documents,
        before=datetime.now(UTC) - timedelta(days=days),
        builds=int(step.parameters["builds"]),
        projects=tuple(mine),
        others=tuple(others),
    )


if __name__ == "__main__":
    sys.exit(program.run("remove", body))
