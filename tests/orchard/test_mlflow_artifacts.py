"""Artifacts of MLflow in the store of bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from mlflow.exceptions import MlflowException
from mlflow.store.artifact.artifact_repository_registry import ArtifactRepositoryRegistry

from orchard.blobs import Blobs
from orchard.mlflow_artifacts import BlobsArtifactRepository


@pytest.fixture
def repository(tmp_path: Path) -> BlobsArtifactRepository:
    """The artifacts of a run, none yet."""
    return BlobsArtifactRepository(f"file://{tmp_path}/store/run/artifacts")


def test_mlflow_finds_it_for_hdfs() -> None:
    registry = ArtifactRepositoryRegistry()
    registry.register_entrypoints()
    assert registry.get_registered_artifact_repositories()["hdfs"] is BlobsArtifactRepository


def test_files_and_folders_come_back(repository: BlobsArtifactRepository, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "a.html").write_bytes(b"<p>")
    (source / "deep" / "b").write_bytes(b"12")
    assert repository.list_artifacts() == []
    repository.log_artifacts(str(source))
    repository.log_artifact(str(source / "a.html"), "other/place")
    listed = [(each.path, each.is_dir, each.file_size) for each in repository.list_artifacts()]
    assert listed == [("a.html", False, 3), ("deep", True, None), ("other", True, None)]
    assert [each.path for each in repository.list_artifacts("deep")] == ["deep/b"]
    assert repository.list_artifacts("deep/b") == []
    goal = tmp_path / "goal"
    goal.mkdir()
    repository.download_artifacts("", str(goal))
    assert {path.relative_to(goal).as_posix() for path in goal.rglob("*") if path.is_file()} == {
        *("a.html", "deep/b", "other/place/a.html")
    }
    assert Path(repository.download_artifacts("deep/b")).read_bytes() == b"12"
    repository.delete_artifacts("deep")
    assert [each.path for each in repository.list_artifacts()] == ["a.html", "other"]


def test_what_is_not_complete_is_not_shown(
    repository: BlobsArtifactRepository, tmp_path: Path
) -> None:
    blobs = Blobs(f"file://{tmp_path}/store/run")
    with blobs.writing("artifacts/report.html") as file:
        file.write(b"<p>")
        assert repository.list_artifacts() == []
    assert [each.path for each in repository.list_artifacts()] == ["report.html"]


def test_errors_are_those_of_mlflow(repository: BlobsArtifactRepository, tmp_path: Path) -> None:
    with pytest.raises(MlflowException) as absent:
        repository.download_artifacts("none.txt")
    assert absent.value.error_code == "RESOURCE_DOES_NOT_EXIST"
    with pytest.raises(MlflowException, match="plain relative path") as refused:
        repository.list_artifacts("a/../b")
    assert refused.value.error_code == "INVALID_PARAMETER_VALUE"
    with pytest.raises(FileNotFoundError):
        repository.log_artifact(str(tmp_path / "none"))
    with pytest.raises(MlflowException, match="a folder of their own"):
        BlobsArtifactRepository("hdfs://names:8020")
    away = BlobsArtifactRepository("hdfs://127.0.0.1:1/run/artifacts")
    with pytest.raises(MlflowException) as later:
        away.list_artifacts()
    assert later.value.error_code == "TEMPORARILY_UNAVAILABLE"
