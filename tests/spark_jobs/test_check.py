"""The step `check` with real Spark: verdicts, labels, duplicates, splits, versions."""

from __future__ import annotations

import hashlib
import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from orchard.blobs import keys
from orchard.catalog import datasets
from orchard.catalog.connection import Document, documents
from orchard.errors import BadInput
from orchard.program import Step
from spark_jobs import check, grouped, judged
from tests.spark_jobs.intakes import (
    DATASET,
    OWNER,
    Sample,
    manifest_of,
    picture,
    refused_of,
    step,
    write_intake,
)

pytestmark = pytest.mark.usefixtures("spark_session", "orchard_home")


def samples_of(label: str, count: int, first_seed: int) -> list[Sample]:
    return [(f"{label}/{n:03d}.png", picture(first_seed + n)) for n in range(count)]


def two_classes(count: int = 15) -> list[Sample]:
    return samples_of("dent", count, 0) + samples_of("scratch", count, 1000)


def committed(of: Step) -> Document:
    found = datasets.newest_version(documents(), OWNER, DATASET)
    assert found is not None
    return found


def checked(run_id: str, samples: list[Sample], **intake: Any) -> tuple[Step, dict[str, Any]]:
    """Run the step over an intake of its own; gives the step and the version's summary."""
    of = step("check", run_id)
    write_intake(of, samples, **intake)
    check.body(of)
    return of, committed(of)["summary"]


def test_one_bad_file_stops_nothing_and_everything_is_counted() -> None:
    originals = two_classes()
    bad = [
        ("dent/empty.png", b""),
        ("dent/page.jpg", b"<!doctype html><html><body>404</body></html>"),
        ("scratch/cut.png", originals[0][1][:60]),
    ]
    copies = [("dent/copy.png", originals[0][1])]
    unlabelled = [("loose.png", picture(5000))]
    of, summary = checked("r1", originals + bad + copies + unlabelled)
    version = committed(of)["version"]
    rows = manifest_of(of, version)
    assert set(rows) == {path for path, _ in originals} - {"dent/000.png"} | {
        "dent/000.png",
        "loose.png",
    }
    assert set(refused_of(of, version)) == {path for path, _ in bad}
    assert summary["samples"] == 31
    assert summary["duplicates"] == 1
    assert sum(summary["refused"].values()) == 3
    assert {each["path"] for each in summary["refused_examples"]} == {path for path, _ in bad}
    assert summary["labels"]["dent"] == {"train": 12, "validation": 0, "test": 3}
    assert summary["splits"] == {"test": 6, "train": 24, "unlabelled": 1}
    assert rows["loose.png"]["split"] == "unlabelled"
    assert summary["advice"] == ["5 more of `dent`, please", "5 more of `scratch`, please"]
    assert summary["sizes"]["median"] == [36, 34]
    folds = [row["fold"] for row in rows.values() if row["split"] == "train"]
    assert sorted(set(folds)) == [0, 1, 2, 3, 4]
    assert all(row["fold"] == -1 for row in rows.values() if row["split"] != "train")
    assert of.blobs.read_json(f"{keys.version(OWNER, DATASET, version)}/summary.json") == summary
    assert not of.blobs.exists(f"{keys.build(OWNER, of.build_id)}/check")


def test_a_repeat_and_another_cut_give_the_same_version(monkeypatch: pytest.MonkeyPatch) -> None:
    of, _ = checked("r1", two_classes())
    first = committed(of)
    check.body(of)
    assert committed(of) == first
    monkeypatch.setattr(judged, "task_count", lambda rows, cores, most: 1)
    monkeypatch.setattr(check, "_ROWS_A_FILE", 7)
    documents().versions.delete_many({})
    documents().datasets.delete_many({})
    of.blobs.delete(keys.version(OWNER, DATASET, first["version"]))
    check.body(of)
    again = committed(of)
    assert again["version"] == first["version"]
    assert again["summary"] == first["summary"]
    _, summary = checked("r2", two_classes())
    assert committed(of)["version"] == first["version"]
    assert summary["number"] == 1


def test_labels_that_contradict_are_left_out_and_those_that_agree_are_one() -> None:
    samples = two_classes()
    twice = [("dent/twin.png", picture(77)), ("scratch/twin.png", picture(77))]
    labels = [(path, path.split("/")[0]) for path, _ in samples + twice]
    labels += [("dent/001.png", "dent"), ("dent/002.png", "scratch"), ("gone.png", "dent")]
    of, summary = checked("r1", samples + twice, labels=labels)
    refused = refused_of(of, committed(of)["version"])
    assert refused == {
        "dent/twin.png": "conflicting_labels",
        "scratch/twin.png": "conflicting_labels",
        "dent/002.png": "conflicting_labels",
        "gone.png": "label_without_file",
    }
    assert len(summary["conflicts"]) == 3
    assert "dent and scratch" in summary["conflicts"][0]["reason"]
    assert summary["samples"] == 29


def test_spellings_become_one_class_and_paths_match_by_their_end() -> None:
    samples = [(f"photos/{path}", payload) for path, payload in two_classes(8)]
    samples += [("other/dent/003.png", picture(9000))]
    labels = [
        (path.removeprefix("photos/"), " Dent" if path.endswith("1.png") else "dent")
        for path, _ in samples
        if path.startswith("photos/dent")
    ]
    labels += [("C/data/" + path, "scratch") for path, _ in samples if "scratch" in path]
    of, summary = checked("r1", samples, labels=labels)
    rows = manifest_of(of, committed(of)["version"])
    assert rows["photos/dent/001.png"]["label"] == "dent"
    assert rows["photos/scratch/001.png"]["annotation"] == '"scratch"'
    assert summary["renamed_labels"] == [{"from": " Dent", "to": "dent", "count": 1}]
    assert refused_of(of, committed(of)["version"]) == {"dent/003.png": "ambiguous_path"}
    assert rows["photos/dent/003.png"]["split"] == "unlabelled"


@pytest.mark.parametrize("local_edges", [grouped.MOST_LOCAL_EDGES, 0])
def test_look_alikes_share_a_split(local_edges: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "MOST_LOCAL_EDGES", local_edges)
    samples = two_classes(20)
    samples += [(f"dent/bright{n:02d}.png", picture(n, shade=6)) for n in range(20)]
    samples += [(f"dent/light{n:02d}.png", picture(n, shade=9)) for n in range(20)]
    samples += [("scratch/across.png", picture(3, shade=12))]
    of, summary = checked("r1", samples)
    rows = manifest_of(of, committed(of)["version"])
    for n in range(20):
        kin = [f"dent/{n:03d}.png", f"dent/bright{n:02d}.png", f"dent/light{n:02d}.png"]
        assert len({rows[path]["group"] for path in kin}) == 1
        assert len({(rows[path]["split"], rows[path]["fold"]) for path in kin}) == 1
        assert rows[kin[0]]["group"] == min(
            row["sample_id"] for row in rows.values() if row["group"] == rows[kin[0]]["group"]
        )
    assert summary["near_duplicate_groups"] == 20
    across = summary["near_duplicates_across_labels"]
    assert [each["labels"] for each in across] == [["dent", "scratch"]]
    assert "scratch/across.png" in across[0]["paths"]


def test_hints_of_the_source_win() -> None:
    samples = two_classes(12)
    names = [path for path, _ in samples]
    splits = {path: ("test" if n % 3 == 0 else "train") for n, path in enumerate(names)}
    splits[names[1]] = "validation"
    of, _ = checked("r1", samples, splits=splits)
    rows = manifest_of(of, committed(of)["version"])
    assert {path: rows[path]["split"] for path in names} == splits


def test_training_hints_alone_leave_room_for_a_test_split() -> None:
    samples = two_classes(12)
    splits = {path: "train" for path, _ in samples}
    _, summary = checked("r1", samples, splits=splits)
    assert summary["splits"] == {"test": 4, "train": 20}


def test_the_next_version_keeps_every_place_and_adds_new_ones() -> None:
    of, _ = checked("r1", two_classes())
    first = committed(of)
    before = manifest_of(of, first["version"])
    train = next(p for p, r in before.items() if r["split"] == "train" and r["label"] == "dent")
    test = next(p for p, r in before.items() if r["split"] == "test" and r["label"] == "dent")
    kin = [
        ("dent/near_train.png", picture(int(train[5:8]), shade=7)),
        ("dent/near_test.png", picture(int(test[5:8]), shade=7)),
    ]
    third = samples_of("stain", 10, 2000)
    of2, summary = checked("r2", [*kin, *third])
    second = committed(of2)
    after = manifest_of(of2, second["version"])
    assert second["parent"] == first["version"]
    assert summary["number"] == 2
    assert summary["added"] == 12
    for path, row in before.items():
        assert after[path] == row
    assert after["dent/near_train.png"]["split"] == "train"
    assert after["dent/near_train.png"]["fold"] == before[train]["fold"]
    assert after["dent/near_train.png"]["group"] == before[train]["group"]
    assert after["dent/near_test.png"]["split"] == "test"
    assert summary["labels"]["stain"] == {"train": 8, "validation": 0, "test": 2}
    assert {row["version_added"] for row in after.values()} == {1, 2}


def test_a_sample_between_training_and_test_is_left_out_of_both() -> None:
    samples = [*two_classes(12), ("dent/bright.png", picture(0, shade=6))]
    splits = {path: ("test" if n % 3 == 2 else "train") for n, (path, _) in enumerate(samples)}
    splits["dent/bright.png"] = "test"
    of, _ = checked("r1", samples, splits=splits)
    assert committed(of)["summary"]["near_duplicates_across_splits"] == 1
    before = manifest_of(of, committed(of)["version"])
    assert before["dent/000.png"]["split"] == "train"
    of2, summary = checked("r2", [("dent/between.png", picture(0, shade=9))])
    after = manifest_of(of2, committed(of2)["version"])
    assert after["dent/between.png"]["split"] == "left_out"
    assert summary["splits"]["left_out"] == 1
    assert any("left out of both" in line for line in summary["advice"])
    assert summary["left_out"] == ["dent/between.png"]
    assert {path: after[path] for path in before} == before


def test_a_newer_label_counts() -> None:
    samples = two_classes()
    of, _ = checked("r1", samples)
    before = manifest_of(of, committed(of)["version"])
    moved = [("scratch/moved.png", samples[0][1])]
    of2, summary = checked("r2", moved)
    after = manifest_of(of2, committed(of2)["version"])
    assert summary["relabelled"] == 1
    assert after["dent/000.png"]["label"] == "scratch"
    assert after["dent/000.png"]["split"] == before["dent/000.png"]["split"]


def test_a_large_picture_is_stored_smaller() -> None:
    random = np.random.Generator(np.random.PCG64(1))
    buffer = io.BytesIO()
    Image.fromarray(random.integers(0, 256, (1500, 1300, 3), dtype=np.uint8)).save(buffer, "PNG")
    assert len(buffer.getvalue()) > 4 * 1024 * 1024
    of, summary = checked("r1", [*two_classes(), ("dent/large.png", buffer.getvalue())])
    row = manifest_of(of, committed(of)["version"])["dent/large.png"]
    assert row["length"] <= 4 * 1024 * 1024
    stored = of.blobs.open(row["segment"]).read()[row["offset"] :][: row["length"]]
    assert hashlib.sha256(stored).hexdigest() == row["sample_id"]
    assert row["notices"] and summary["notices"]


def test_too_little_is_stored_and_refused_with_what_is_missing() -> None:
    of = step("check", "r1")
    write_intake(of, samples_of("dent", 6, 0))
    with pytest.raises(BadInput, match="At least 2 classes"):
        check.body(of)
    assert committed(of)["summary"]["samples"] == 6


def test_nothing_but_bad_files_is_told() -> None:
    of = step("check", "r1")
    write_intake(of, [("dent/a.png", b""), ("dent/b.png", b"x")])
    with pytest.raises(BadInput, match="not enough to train on"):
        check.body(of)
    assert committed(of)["summary"]["samples"] == 0


def test_newest_data_need_no_spark() -> None:
    of = step("check", "r2")
    of.blobs.write_json(
        keys.result(OWNER, of.build_id, "ingest"), {"exit_code": 0, "facts": {"format": "newest"}}
    )
    with pytest.raises(BadInput, match="no data yet"):
        check.body(of)
    first, _ = checked("r1", two_classes())
    assert check.body(of)["version"] == committed(first)["version"]
