"""Evaluate on real engines: Spark, a documents server, MLflow."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from orchard import program
from orchard.blobs import Blobs, keys
from orchard.catalog import deployments
from orchard.catalog.connection import documents
from orchard.errors import EXIT_BAD_INPUT, EXIT_DONE
from orchard.settings import settings
from orchard.steps import select
from spark_jobs import evaluate
from tests.serving import servers
from tests.small_build import COLOURS, OWNER, TASK, SmallBuild, write_bundle

pytestmark = pytest.mark.usefixtures("spark_session")


@pytest.fixture(scope="module")
def tracking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an MLflow server."""
    folder = tmp_path_factory.mktemp("mlflow")
    port = servers.free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--workers", "1", "--no-serve-artifacts"]
    command += ["--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}"]
    command += ["--default-artifact-root", f"file://{folder / 'artifacts'}"]
    with servers.running(
        command, url, lambda: servers.answers(f"{url}/health"), folder / "mlflow.log"
    ):
        yield url


@pytest.fixture
def build(
    orchard_home: Path, tracking: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> SmallBuild:
    """A build up to its plan, with five test pictures whose label is wrong."""
    monkeypatch.setenv("ORCHARD_TRACKING_URI", tracking)
    settings.cache_clear()
    build = SmallBuild(Blobs(settings().blobs_root), documents())
    build.start("manual__2026")
    for label in COLOURS:
        build.add(label, "train", 12)
        build.add(label, "test", 8)
    build.add("red", "test", 5, shows="amber")
    build.add("red", "train", 1, shows="blue")
    return build


def selected(build: SmallBuild, folder: Path) -> str:
    """Trial and select. Returns the winner's hash."""
    bundle = write_bundle(folder, COLOURS)
    build.plan([{"key": "lite0", "size": 224}])
    build.trial(0, "lite0", bundle.folder)
    build.out_of_fold("lite0", bundle)
    assert program.run("select", select.body, ["--build", build.build_id]) == EXIT_DONE
    return bundle.hash


def run(build: SmallBuild) -> tuple[int, dict[str, Any]]:
    code = program.run("evaluate", evaluate.body, ["--build", build.build_id])
    return code, program.read_result(build.blobs, OWNER, build.build_id, "evaluate")["facts"]


def rows_of(build: SmallBuild) -> list[dict[str, Any]]:
    folder = f"{keys.evaluation(OWNER, build.build_id)}/predictions"
    parts = [key for key in build.blobs.list(folder) if key.endswith(".parquet")]
    found: list[dict[str, Any]] = []
    for part in parts:
        with build.blobs.open(part) as file:
            found += pq.read_table(file).to_pylist()
    return found


def test_winner_and_champion_on_the_same_test_split(build: SmallBuild, tmp_path: Path) -> None:
    broken = b"\xff\xd8\xff this is no picture"
    build.samples.append(("green/broken.jpg", "green", "test", broken))
    build.commit({"advice": ["more of `amber`, please"]})
    winner = selected(build, tmp_path / "winner")
    champion = write_bundle(
        tmp_path / "champion", {k: COLOURS[k] for k in ("blue", "green", "red")}
    )
    build.blobs.upload_folder(champion.folder, keys.bundle(OWNER, champion.hash))
    deployments.switch(
        build.documents,
        OWNER,
        "colours",
        project="colours",
        task=TASK,
        bundles=[{"bundle": champion.hash, "weight": 1.0}],
    )
    code, facts = run(build)
    assert code == EXIT_DONE, facts
    first = rows_of(build)
    assert len(first) == 2 * 38  # 4 × 8 test pictures, 5 with a wrong label, 1 broken
    assert {row["bundle"] for row in first} == {winner, champion.hash}
    own = [row for row in first if row["bundle"] == winner]
    assert [row["sample_id"] for row in own] == sorted(row["sample_id"] for row in own)
    assert all(len(row["answer"]) == 4 for row in own if row["failure"] is None)
    assert [row["path"] for row in own if row["failure"]] == ["green/broken.jpg"]

    assert facts["test_samples"] == 37
    assert facts["accuracy"] == pytest.approx(32 / 37)
    assert facts["mistakes"] == 5
    assert facts["suspicious_labels"] >= 5
    assert facts["champion"]["bundle"] == champion.hash
    assert facts["champion"]["common_samples"] == 29  # all but the 8 of amber
    assert facts["report_url"].startswith(settings().tracking_uri)

    base = keys.evaluation(OWNER, build.build_id)
    report = build.blobs.read_json(f"{base}/report.json")
    assert [row["truth"] for row in report["mistakes"]] == ["red"] * 5
    assert report["champion"]["only_challenger"] == ["amber"]
    assert {row["split"] for row in report["suspicious"]} == {"train", "test"}
    html = build.blobs.read(f"{base}/report.html").decode()
    assert html.count("data:image/jpeg;base64,") >= 10
    assert not build.blobs.exists(f"{base}/.predictions.tmp")
    assert not (settings().home / "work" / f"{build.build_id}-evaluate").exists()

    code, again = run(build)
    assert code == EXIT_DONE
    assert rows_of(build) == first
    assert build.blobs.read_json(f"{base}/report.json") == report
    assert {**again, "seconds": 0} == {**facts, "seconds": 0}


def test_an_empty_test_split_is_bad_input_with_advice(build: SmallBuild, tmp_path: Path) -> None:
    build.samples = [sample for sample in build.samples if sample[2] == "train"]
    build.commit()
    selected(build, tmp_path / "winner")
    code, facts = run(build)
    assert code == EXIT_BAD_INPUT
    assert "no test picture" in facts["error"]
    assert "Add labelled samples" in facts["error"]


def test_one_test_picture_and_no_champion(build: SmallBuild, tmp_path: Path) -> None:
    training = [sample for sample in build.samples if sample[2] == "train"]
    build.samples = [*training, next(sample for sample in build.samples if sample[2] == "test")]
    build.commit()
    selected(build, tmp_path / "winner")
    # What a run that was killed may leave behind.
    base = keys.evaluation(OWNER, build.build_id)
    for leftover in (".predictions.tmp/part-0.parquet", "predictions/part-0.parquet"):
        build.blobs.write(f"{base}/{leftover}", b"half a file")
    code, facts = run(build)
    assert code == EXIT_DONE, facts
    assert facts["test_samples"] == 1
    assert facts["champion"] is None
    assert len(rows_of(build)) == 1


def test_a_split_of_which_nothing_can_be_read_is_bad_input(
    build: SmallBuild, tmp_path: Path
) -> None:
    training = [sample for sample in build.samples if sample[2] == "train"]
    build.samples = [*training, ("red/x.jpg", "red", "test", b"\xff\xd8\xff nothing")]
    build.commit()
    selected(build, tmp_path / "winner")
    code, facts = run(build)
    assert code == EXIT_BAD_INPUT
    assert "No test sample could be read" in facts["error"]
