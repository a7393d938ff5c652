"""The step `plan`: reads the version's summary, makes the plan, stores it. No sample is touched."""

from __future__ import annotations

import re
from typing import Any

from orchard import tracking
from orchard.blobs import Blobs, keys
from orchard.catalog import builds, datasets
from orchard.catalog.connection import documents
from orchard.errors import NotFound
from orchard.planning.plan import make
from orchard.settings import Settings, settings
from orchard.tasks.costs import Costs


def make_plan(owner: str, build_id: str) -> dict[str, Any]:
    """Make the plan of a build and store it under `keys.plan`; returns it.

    Also makes the build's run in MLflow, before the trials that need it run side by side.

    Raises:
        NotFound: the build, its version or the backbones are missing.
        BadInput: there is nothing to train on, or the minutes are out of range.
        TryAgain: documents, bytes or MLflow are away.
    """
    blobs = Blobs(settings().blobs_root)
    build = builds.get(documents(), owner, build_id)
    checked = blobs.read_json(keys.result(owner, build_id, "check"))["facts"]
    dataset = str(build["parameters"].get("dataset") or build["project"])
    version = datasets.get_version(documents(), owner, dataset, str(checked["version"]))
    plan = make(
        version["summary"],
        build["parameters"],
        read_cards(blobs),
        dataset=dataset,
        version=str(checked["version"]),
        gpus=settings().gpus,
        costs=Costs(cores=cores(settings()), core_speed=read_core_speed(blobs)),
    )
    tracking.build_run(owner, str(build["project"]), build_id, str(build["run_id"]))
    blobs.write_json(keys.plan(owner, build_id), plan)
    return plan


def read_cards(blobs: Blobs) -> dict[str, dict[str, Any]]:
    """Facts of every backbone in the store, by name. Raises NotFound where there is none."""
    folder = keys.backbone("any").rsplit("/", 1)[0]
    cards = [blobs.read_json(key) for key in blobs.list(folder) if key.endswith(".json")]
    if not cards:
        raise NotFound(
            "The store holds no backbones", value=folder, way_out="`make up` puts them there"
        )
    return {str(card["name"]): card for card in cards}


def read_core_speed(blobs: Blobs) -> float:
    """How fast a core is here; 1.0 where nobody has measured it."""
    key = keys.core_speed()
    return float(blobs.read_json(key)) if blobs.exists(key) else 1.0


def cores(given: Settings) -> int:
    """Cores that Spark and the trials may use at once, from the Spark master's address."""
    found = re.fullmatch(r"local\[(\d+)\]", given.spark_master)
    return max(1, int(found[1])) if found else 2
