"""Cached features of backbones that are not there any more, or of an earlier preprocessing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from orchard.blobs import Blobs, keys
from orchard.catalog import builds
from orchard.errors import NotFound
from orchard.preprocess import feature_ending
from orchard.tidying.removal import Removal, Tidied


def of_owner(tidied: Tidied, owner: str) -> Iterator[Removal]:
    """Feature folders that no plan of today would name; a plan of a run that is at work keeps its."""
    endings = _endings(tidied.blobs)
    if not endings:  # an installation without backbones cannot say what is old
        return
    at_work = _at_work(tidied, owner)
    for each in tidied.blobs.entries(keys.features_of(owner)):
        name = each.key.rsplit("/", 1)[1]
        backbone = next((known for known in endings if name.startswith(f"{known}-")), None)
        current = backbone is not None and name.endswith(endings[backbone])
        if current or name in at_work or name.startswith("."):
            continue
        found = tidied.blobs.weigh(each.key)
        if found.modified < tidied.before:
            yield Removal("kinds of features", each.key, found.bytes, _deleting(tidied, each.key))


def _deleting(tidied: Tidied, key: str) -> Callable[[], None]:
    return lambda: tidied.blobs.delete(key)


def _endings(blobs: Blobs) -> dict[str, str]:
    """Backbone → how the name of its features ends today; longer names of backbones first."""
    cards = [
        key.rsplit("/", 1)[1].removesuffix(".json")
        for key in blobs.list(keys.backbones())
        if key.endswith(".json")
    ]
    return {
        name: feature_ending(blobs.read_json(keys.backbone_card(name))["sha256"])
        for name in sorted(cards, key=len, reverse=True)
    }


def _at_work(tidied: Tidied, owner: str) -> set[str]:
    """Features in the plans of projects that runs work on."""
    named: set[str] = set()
    for of, project in tidied.others:
        if of != owner:
            continue
        for build in builds.of_project(tidied.documents, owner, project)[: tidied.builds]:
            try:
                plan = tidied.blobs.read_json(keys.plan(owner, str(build["_id"])))
            except NotFound:
                continue
            named |= {str(branch["feature_key"]) for branch in plan["branches"]}
    return named
