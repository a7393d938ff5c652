"""Tidying: what goes, what stays, and that neither a repetition nor a running build is harmed."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchard.blobs import keys
from orchard.catalog import changes, datasets, deployments, leases
from orchard.catalog.connection import documents
from orchard.preprocess import PREPROCESSING_VERSION
from tests.orchard.tidying.conftest import Ground

GRAPH = "feedfacefeedface"


def file(path: Path, content: bytes = b"12345678") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def four_versions(ground: Ground) -> dict[str, str]:
    """One that nobody names, one in service, one of the newest build, the newest. Their segments."""
    segments = {name: ground.segment(name.encode()) for name in ("old", "live", "parent", "new")}
    before = None
    for number, name in enumerate(("old", "live", "parent", "new")):
        build_id = ground.build(f"run {number}")
        ground.version(f"{name:_<16}", build_id, [segments[name]], before)
        before = f"{name:_<16}"
    newest = documents().builds.find_one({"_id": build_id})
    assert newest is not None
    documents().builds.update_one({"_id": build_id}, {"$set": {"parent": f"{'parent':_<16}"}})
    card = {"data": {"dataset": "colours", "version": f"{'live':_<16}"}}
    ground.blobs.write_json(f"{keys.bundle('local', 'b' * 16)}/bundle.json", card)
    deployments.switch(
        documents(), "local", "colours", project="colours", task="image_classification",
        bundles=[{"bundle": "b" * 16, "weight": 1}],
    )  # fmt: skip
    return segments


def leftovers(ground: Ground, run_id: str = "run 0") -> set[str]:
    """All that killed attempts may leave of a build. Returns it, relative to home."""
    build_id = ground.build(run_id)
    blobs, build = ground.home / "blobs", keys.build("local", build_id)
    return {
        str(file(each).relative_to(ground.home))
        for each in (
            blobs / build / "check" / "samples" / "part-0.parquet",
            blobs / build / "check" / "_temporary" / "x.tmp",
            blobs / build / "trials" / "lite0" / "checkpoint.npz",
            blobs / build / "intake" / "files" / f".{'a' * 32}.tmp",
            blobs / "local" / "datasets" / "colours" / "segments" / f".{'b' * 32}.tmp",
            blobs / "local" / "features" / "some" / ".part-1.ab.tmp" / "rows.parquet",
            blobs / "local" / "bundles" / ".bundle.ab.tmp" / "model.onnx",
            ground.home / "temporary" / f"ingest-{build_id}" / "archive",
            ground.home / "work" / f"{build_id}-evaluate" / "rows",
        )
    }


def test_what_nobody_names_goes_and_all_else_stays(ground: Ground) -> None:
    segments = four_versions(ground)
    orphan = ground.segment(b"nobody's")
    before = ground.tree()
    gone = leftovers(ground)
    found = ground.tidy()
    old = keys.version("local", "colours", f"{'old':_<16}")
    expected = {
        f"blobs/{segments['old']}",
        f"blobs/{orphan}",
        f"blobs/{old}/manifest/part-0.parquet",
    }
    assert set(before) - set(ground.tree()) == expected
    assert gone.isdisjoint(ground.tree())
    kept = {each["version"] for each in datasets.versions(documents(), "local", "colours")}
    assert kept == {f"{name:_<16}" for name in ("live", "parent", "new")}
    assert found["kinds"] == {
        "checkpoints of trials": 1,
        "data set versions": 1,
        "files that never became complete": 4,
        "segments": 2,
        "temporary folders of attempts that died": 2,
        "work folders of checks": 1,
    }
    sizes = sum(len(before[name]) for name in expected) + 8 * len(gone)
    assert found["bytes"] == sizes
    assert ground.tidy()["found"] == 0, "a second time finds nothing"


def test_listing_only_removes_nothing_and_says_the_same(ground: Ground) -> None:
    four_versions(ground)
    leftovers(ground)
    before = ground.tree()
    listed = ground.tidy(dry_run=True)
    assert ground.tree() == before
    assert listed["removed"] == 0
    done = ground.tidy()
    # A segment of a version that goes is nobody's only when the version is gone.
    assert (done["kinds"], done["bytes"]) == (listed["kinds"], listed["bytes"])
    assert done["removed"] == done["found"]


def test_what_is_young_stays(ground: Ground) -> None:
    four_versions(ground)
    leftovers(ground)
    before = ground.tree()
    assert ground.tidy(days=1)["found"] == 0
    assert ground.tree() == before


@pytest.mark.parametrize("holds_lease", [True, False], ids=["holds the lease", "was cleared"])
def test_a_build_in_mid_run_keeps_all_its_data(ground: Ground, holds_lease: bool) -> None:
    """Ingest has stored segments that no manifest names yet, check and a trial are half done."""
    four_versions(ground)
    running = ground.build("at work")
    segment = ground.segment(b"just stored")
    ground.table(f"{keys.intake('local', running)}/files/part-0.parquet", [segment])
    leftovers(ground, "at work")
    if not holds_lease:
        ground.build("later, and ended")
    ground.build("another", project="shapes")
    orphan = ground.segment(b"nobody's", project="shapes")
    before = ground.tree()
    found = ground.tidy({"at work": "running"})
    left = {f"blobs/{orphan}"} | {name for name in before if "/local/bundles/." in f"/{name}"}
    left |= {name for name in before if "/features/some/." in name}
    assert set(before) - set(ground.tree()) == left, "only the other project's and the owner's"
    assert found["summary"].endswith("1 were left alone")
    holder = leases.holder(documents(), "local", "colours")
    assert holder is not None
    assert (holder["run_id"] == "at work") is holds_lease


def test_a_lease_that_was_taken_meanwhile_is_respected(ground: Ground) -> None:
    four_versions(ground)
    ground.tidy(dry_run=True)
    documents().builds.update_one({"dag_id": "tidy"}, {"$set": {"parameters.dry_run": False}})
    ground.build("came meanwhile")
    before = ground.tree()
    assert ground.remove()["found"] == 0
    assert ground.tree() == before


def test_another_owner_s_data_stay(ground: Ground) -> None:
    for owner in ("local", "second"):
        ground.build(f"run of {owner}", owner)
        ground.segment(b"nobody's", owner)
    before = ground.tree()
    ground.tidy(owner="local")
    gone = set(before) - set(ground.tree())
    assert len(gone) == 1
    assert all(name.startswith("blobs/local/") for name in gone)
    ground.tidy()
    assert not [name for name in ground.tree() if name.endswith(".bin")]


def test_an_interruption_between_document_and_bytes_is_mended(ground: Ground) -> None:
    segments = four_versions(ground)
    datasets.forget_version(documents(), "local", "colours", f"{'old':_<16}")
    assert ground.tidy()["kinds"] == {"data set versions": 1, "segments": 1}
    assert not ground.blobs.exists(segments["old"])


def test_a_model_in_service_that_does_not_say_its_data_keeps_all(ground: Ground) -> None:
    four_versions(ground)
    ground.blobs.delete(keys.bundle("local", "b" * 16))
    assert ground.tidy()["found"] == 0


def test_features_that_no_plan_would_name_go(ground: Ground) -> None:
    ground.build("ended")
    ground.blobs.write_json(keys.backbone_card("lite0"), {"sha256": GRAPH})
    ending = f"p{PREPROCESSING_VERSION}-{GRAPH[:8]}"
    names = {
        "today's": f"lite0-224-crop-{ending}",
        "another graph": f"lite0-224-crop-p{PREPROCESSING_VERSION}-00000000",
        "another preprocessing": f"lite0-224-crop-p{PREPROCESSING_VERSION + 1}-{GRAPH[:8]}",
        "another backbone": f"lite9-224-crop-{ending}",
        "of a run at work": f"lite0-96-crop-p{PREPROCESSING_VERSION}-11111111",
    }
    for name in names.values():
        ground.blobs.write(f"{keys.features('local', name)}/part-0/rows.parquet", b"rows")
    running = ground.build("at work", project="shapes")
    plan = {"branches": [{"feature_key": names["of a run at work"]}]}
    ground.blobs.write_json(keys.plan("local", running), plan)
    assert ground.tidy({"at work": "running"})["kinds"] == {"kinds of features": 3}
    left = {key.rsplit("/", 1)[1] for key in ground.blobs.list(keys.features_of("local"))}
    assert left == {names["today's"], names["of a run at work"]}


def test_copies_of_imports_stay_while_a_change_waits_for_them(ground: Ground) -> None:
    ground.build("ended")
    folder = ground.home / "imports" / "colours"
    waits, settled = folder / ("a" * 16) / "photos", folder / ("c" * 16) / "photos"
    own = file(folder / "red" / "1.jpg")
    for each in (waits, settled):
        file(each / "1.jpg")
    broken_off = file(folder / f".{'d' * 16}.{'e' * 8}" / "photos" / "1.jpg")
    for name, each in (("one", waits), ("two", settled)):
        changes.add(
            documents(), "local", "colours", change_id=name, location=str(each), files=1
        )  # fmt: skip
    changes.settle(documents(), "local", ["local/colours/two"], "0" * 16)
    found = ground.tidy()
    assert found["kinds"] == {"copies of imports": 1, "imports that broke off": 1}
    assert own.exists()
    assert (waits / "1.jpg").exists()
    assert not settled.parent.exists()
    assert not broken_off.exists()
