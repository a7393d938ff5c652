"""Taking a model away: its bundle as a folder or a zip archive."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from orchard.blobs import Blobs, keys
from orchard.catalog import deployments
from orchard.catalog.connection import documents
from orchard.errors import BadInput
from orchard.settings import settings


def export(endpoint: str, goal: Path) -> Path:
    """Write what is live at an endpoint to a new folder, or to a file ending in `.zip`.

    Raises BadInput where the goal exists already.
    """
    deployment = deployments.get(documents(), settings().owner, endpoint)
    if goal.exists():
        raise BadInput("This exists already", value=str(goal), way_out="Give another name")
    bundle = max(deployment["bundles"], key=lambda entry: float(entry["weight"]))["bundle"]
    key = keys.bundle(deployment["owner"], bundle)
    blobs = Blobs(settings().blobs_root)
    if goal.suffix != ".zip":
        blobs.download_folder(key, goal.absolute())
        return goal
    goal.absolute().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / bundle
        blobs.download_folder(key, folder)
        made = shutil.make_archive(str(Path(temporary) / "made"), "zip", folder)
        shutil.move(made, goal)
    return goal
