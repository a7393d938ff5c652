"""MLflow's model registry over its REST API: versions found by their bundle, never made twice."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orchard import mlflow_api
from orchard.blobs import Blobs
from orchard.errors import NotFound

logger = logging.getLogger(__name__)

CHAMPION = "champion"
_FOLDER = "bundle"
_PAGE = 100


def model_name(owner: str, project: str) -> str:
    """Name of a project's registered model."""
    return f"{owner}.{project}"


class Registry:
    """The registry of the MLflow server at an address. Every method may raise TryAgain."""

    def __init__(self, tracking_uri: str) -> None:
        self._url = tracking_uri.rstrip("/")

    def register(self, name: str, bundle: Path, run_id: str, tags: Mapping[str, str]) -> str:
        """The number of the model version of a bundle, made on the first call.

        Args:
            name: of the registered model, made where it is new.
            bundle: the bundle's folder; it is copied to the run's artifacts, past the server.
            run_id: the run that trained it.
            tags: `bundle` is how the version is found again; `build_id`, `version`, ….
        """
        known = self.version_of(name, tags["bundle"])
        if known is not None:
            return known
        self._create_model(name)
        run = self._call("GET", "runs/get", {"run_id": run_id})["run"]
        artifacts = str(run["info"]["artifact_uri"]).rstrip("/")
        parent, _, leaf = artifacts.rpartition("/")
        Blobs(parent).upload_folder(bundle, f"{leaf}/{_FOLDER}")
        made = self._call(
            "POST",
            "model-versions/create",
            {
                "name": name,
                "source": f"{artifacts}/{_FOLDER}",
                "run_id": run_id,
                "tags": [{"key": key, "value": value} for key, value in sorted(tags.items())],
            },
        )
        return str(made["model_version"]["version"])

    def version_of(self, name: str, bundle: str) -> str | None:
        """The number of the version that holds a bundle; None where there is none."""
        for version in self._versions(name):
            tags = {each["key"]: each.get("value") for each in version.get("tags", [])}
            if tags.get("bundle") == bundle:
                return str(version["version"])
        return None

    def point_champion(self, name: str, bundle: str) -> str:
        """Let the alias `champion` name the version of a bundle. Returns its number.

        Raises NotFound where the bundle is not registered.
        """
        version = self.version_of(name, bundle)
        if version is None:
            raise NotFound("This bundle is not registered in MLflow", value=f"{name} {bundle}")
        self._call(
            "POST",
            "registered-models/alias",
            {"name": name, "alias": CHAMPION, "version": version},
        )
        return version

    def _create_model(self, name: str) -> None:
        try:
            self._call("POST", "registered-models/create", {"name": name})
        except mlflow_api.Refused as error:
            if error.code != mlflow_api.EXISTS:
                raise

    def _versions(self, name: str) -> Iterator[dict[str, Any]]:
        quoted = name.replace("'", "''")
        query: dict[str, Any] = {"filter": f"name='{quoted}'", "max_results": _PAGE}
        while True:
            page = self._call("GET", "model-versions/search", query)
            yield from page.get("model_versions", [])
            if not page.get("next_page_token"):
                return
            query["page_token"] = page["next_page_token"]

    def _call(self, method: str, name: str, value: Mapping[str, Any]) -> dict[str, Any]:
        return mlflow_api.call(self._url, method, name, value)
