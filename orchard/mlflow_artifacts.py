"""MLflow's artifacts in the store of bytes: MLflow loads this for artifact addresses of `hdfs://`.

MLflow finds it by the entry point `mlflow.artifact_repository` in `orchard.dist-info`, in whatever
process has the project's root on its path. MLflow's own for HDFS needs a Hadoop installation.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from mlflow.entities import FileInfo
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import (
    INVALID_PARAMETER_VALUE,
    RESOURCE_DOES_NOT_EXIST,
    TEMPORARILY_UNAVAILABLE,
)
from mlflow.store.artifact.artifact_repo import ArtifactRepository

from orchard.blobs import Blobs
from orchard.errors import BadInput, NotFound, TryAgain

_CHUNK = 1024 * 1024


class BlobsArtifactRepository(ArtifactRepository):
    """Artifacts below an address that `Blobs` takes, by their relative paths.

    Raises:
        MlflowException: of any call, with MLflow's code for what is absent, not allowed or away.
    """

    def __init__(
        self, artifact_uri: str, tracking_uri: str | None = None, registry_uri: str | None = None
    ) -> None:
        super().__init__(artifact_uri, tracking_uri, registry_uri)
        root, _, self._top = artifact_uri.rstrip("/").rpartition("/")
        with _as_mlflow_says():
            if root.endswith(":/"):
                raise BadInput("Artifacts need a folder of their own", value=artifact_uri)
            self._blobs = Blobs(root)

    def log_artifact(self, local_file: str, artifact_path: str | None = None) -> None:
        """Store a local file in a folder of the artifacts."""
        path = Path(local_file)
        self._store(path, self._key(artifact_path, path.name))

    def log_artifacts(self, local_dir: str, artifact_path: str | None = None) -> None:
        """Store all files below a local folder in a folder of the artifacts."""
        folder = Path(local_dir)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self._store(path, self._key(artifact_path, path.relative_to(folder).as_posix()))

    def list_artifacts(self, path: str | None = None) -> list[FileInfo]:
        """What lies directly in a folder, sorted; nothing for a file or what is absent."""
        folder = self._key(path)
        with _as_mlflow_says():
            found = [each for each in self._blobs.entries(folder) if not each.key.endswith(".tmp")]
            # a file, asked for as a folder, has itself in it
            if len(found) == 1 and not self._blobs.weigh(folder).is_folder:
                return []
        return [
            FileInfo(
                each.key.removeprefix(f"{self._top}/"),
                each.is_folder,
                None if each.is_folder else each.bytes,
            )
            for each in found
        ]

    def delete_artifacts(self, artifact_path: str | None = None) -> None:
        """Remove a file, a folder or everything."""
        with _as_mlflow_says():
            self._blobs.delete(self._key(artifact_path))

    def _download_file(self, remote_file_path: str, local_path: str) -> None:
        with (
            _as_mlflow_says(),
            self._blobs.open(self._key(remote_file_path)) as source,
            Path(local_path).open("wb") as copy,
        ):
            shutil.copyfileobj(source, copy, _CHUNK)

    def _store(self, path: Path, key: str) -> None:
        with path.open("rb") as file, _as_mlflow_says():
            self._blobs.send(key, file)

    def _key(self, *parts: str | None) -> str:
        inner = "/".join(part.strip("/") for part in parts if part and part.strip("/"))
        return f"{self._top}/{inner}" if inner else self._top


@contextlib.contextmanager
def _as_mlflow_says() -> Iterator[None]:
    try:
        yield
    except NotFound as error:
        raise MlflowException(str(error), RESOURCE_DOES_NOT_EXIST) from error
    except BadInput as error:
        raise MlflowException(str(error), INVALID_PARAMETER_VALUE) from error
    except (TryAgain, OSError) as error:
        raise MlflowException(str(error), TEMPORARILY_UNAVAILABLE) from error
