"""Ingest from a location to the intake, over real bytes and a real documents server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pymongo import MongoClient

from orchard.blobs import Blobs, SegmentReader, keys
from orchard.catalog import builds, changes, datasets
from orchard.catalog.connection import Documents
from orchard.errors import BadInput
from orchard.program import Step
from orchard.settings import REPOSITORY, Settings
from orchard.steps import ingest
from orchard.steps.ingest import body
from orchard.tasks.image_classification import ImageClassification
from tests.orchard.sources.helpers import write_tar, write_tree, write_zip

DATA = REPOSITORY.parent / "shared" / "data"
BUILD = "0123456789abcdef"
FILES = {
    "set/train/ok/1.jpg": b"picture one",
    "set/train/bad/2.jpg": b"picture two",
    "set/test/ok/3.jpg": b"picture three",
    "set/test/bad/notes.txt": b"no picture",
    "set/README.md": b"about",
    "set/.DS_Store": b"junk",
    "set/train/ok/Thumbs.db": b"junk",
    "__MACOSX/set/train/ok/._1.jpg": b"junk",
}


def step_of(tmp_path: Path, documents: Documents | None = None, **changes: Any) -> Step:
    """A step over data below `tmp_path/imports`."""
    data = {"kind": "folder", "location": "data", **changes.pop("data", {})}
    values: dict[str, Any] = {"segment_bytes": 25, **changes}
    settings = Settings(home=tmp_path / "home", import_roots=(tmp_path / "imports",), **values)
    parameters = {"task": "image_classification", "data": data, "dataset": "keyboard"}
    build = {"_id": BUILD, "owner": "local", "project": "keyboard", "parameters": parameters}
    blobs = Blobs(settings.blobs_root)
    return Step("ingest", build, -1, 1, settings, blobs, documents)  # type: ignore[arg-type]


def intake(step: Step, name: str) -> list[dict[str, Any]]:
    folder = step.settings.home / "blobs" / keys.intake("local", BUILD) / name
    rows: list[dict[str, Any]] = pq.read_table(folder).to_pylist()
    return rows


class _Boxes(ImageClassification):
    label_kind = "boxes"


def test_boxes_of_many_files_with_names_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "task_of", lambda name: _Boxes())
    files = {f"images/{number:03}.jpg": b"%d" % number for number in range(80)}
    files |= {f"labels/{number:03}.txt": b"1 0.5 0.5 0.2 0.2 0.9\n" for number in range(79)}
    files |= {"labels/classes.txt": b"cat\ndog\n", "labels/079.txt": b"1 40 40 20 20\n"}
    step = step_of(tmp_path)
    write_tree(tmp_path / "imports" / "data", files)
    facts = body(step)
    assert facts["format"] == "yolo"
    assert (facts["files"], facts["labels"], facts["refused"]) == (80, 79, 1)
    assert any("sixth number" in notice and "(79)" in notice for notice in facts["notices"])
    rows = {row["path"]: json.loads(row["annotation"]) for row in intake(step, "labels")}
    assert rows["images/000.jpg"]["boxes"][0]["label"] == "dog"
    assert [row["code"] for row in intake(step, "refused")] == ["pixel_numbers"]


def test_a_folder_becomes_an_intake(tmp_path: Path) -> None:
    step = step_of(tmp_path)
    root = write_tree(tmp_path / "imports" / "data", FILES)
    (root / "set" / "train" / "ok" / "link.jpg").symlink_to("1.jpg")
    facts = body(step)
    summary = facts.pop("summary")
    assert "4 files" in summary
    assert "1 link" in summary
    notices = facts.pop("notices")
    assert "Hidden and system files were left out (3)" in notices
    assert facts == {"format": "class_folders", "files": 4, "labels": 4, "refused": 1, "bytes": 45}

    files = {row["path"]: row for row in intake(step, "files")}
    reader = SegmentReader(step.blobs)
    for path, row in files.items():
        assert reader.read(row["segment"], row["offset"], row["length"]) == FILES[path]
    assert {path: row["split"] for path, row in files.items()} == {
        "set/train/ok/1.jpg": "train",
        "set/train/bad/2.jpg": "train",
        "set/test/ok/3.jpg": "test",
        "set/test/bad/notes.txt": "test",
    }
    assert len({row["segment"] for row in files.values()}) > 1
    labels = {row["path"]: json.loads(row["annotation"]) for row in intake(step, "labels")}
    assert labels["set/train/bad/2.jpg"] == "bad"
    assert labels["set/test/ok/3.jpg"] == "ok"
    [refused] = intake(step, "refused")
    assert (refused["path"], refused["code"]) == ("set/train/ok/link.jpg", "link")
    assert list((tmp_path / "home" / "temporary").iterdir()) == []


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_an_archive_becomes_the_same_intake(tmp_path: Path, kind: str) -> None:
    step = step_of(tmp_path, data={"kind": "archive", "location": f"data.{kind}"})
    path = tmp_path / "imports" / f"data.{kind}"
    path.parent.mkdir()
    ordered = dict(sorted(FILES.items()))
    if kind == "zip":
        write_zip(path, ordered)
    else:
        write_tar(path, ordered, "w:gz" if kind == "tar.gz" else "w")
    body(step)
    archive = [intake(step, name) for name in ("files", "labels", "refused")]
    other = step_of(tmp_path)
    write_tree(tmp_path / "imports" / "data", FILES)
    body(other)
    folder = [intake(other, name) for name in ("files", "labels", "refused")]
    for rows, expected in zip(archive, folder, strict=True):
        key = "path"
        strip = ("segment", "offset")  # archives keep their own order
        assert sorted(
            ({k: v for k, v in row.items() if k not in strip} for row in rows), key=lambda r: r[key]
        ) == sorted(
            ({k: v for k, v in row.items() if k not in strip} for row in expected),
            key=lambda r: r[key],
        )


def test_a_table_gives_labels_and_splits_and_the_pictures_their_place(tmp_path: Path) -> None:
    step = step_of(tmp_path, data={"kind": "folder", "location": "data/labels.csv"})
    table = (
        "file,label,split,machine\n1.jpg,ok,train,A\n2.jpg,bad,test,B\n3.jpg,,,\nlost.jpg,ok,,\n"
    )
    files = {"img/1.jpg": b"1", "img/2.jpg": b"2", "img/3.jpg": b"3", "labels.csv": table.encode()}
    write_tree(tmp_path / "imports" / "data", files)
    facts = body(step)
    assert facts["format"] == "table"
    assert [row["path"] for row in intake(step, "files")] == ["img/1.jpg", "img/2.jpg", "img/3.jpg"]
    labels = intake(step, "labels")
    assert [(r["path"], r["split"], r["line"], r["origin"]) for r in labels] == [
        ("img/1.jpg", "train", 2, "A"),
        ("img/2.jpg", "test", 3, "B"),
        ("lost.jpg", None, 5, None),
    ]
    assert any("'machine'" in notice for notice in facts["notices"])
    assert [(row["path"], row["code"]) for row in intake(step, "refused")] == [
        ("img/3.jpg", "no_label")
    ]


def test_easydl_pictures_with_documents(tmp_path: Path) -> None:
    step = step_of(tmp_path, data={"kind": "archive", "location": "data.zip"})
    (tmp_path / "imports").mkdir()
    files = {}
    for number, name in enumerate(["正常", "划痕", "正常"]):
        files[f"{number}.jpg"] = b"picture %d" % number
        files[f"{number}.json"] = json.dumps({"labels": [{"name": name}]}).encode()
    write_zip(tmp_path / "imports" / "data.zip", files)
    facts = body(step)
    assert (facts["format"], facts["files"], facts["labels"]) == ("easydl", 3, 3)
    assert [row["annotation"] for row in intake(step, "labels")] == ['"正常"', '"划痕"', '"正常"']


def test_the_same_data_again_write_no_segment_twice(tmp_path: Path) -> None:
    step = step_of(tmp_path)
    write_tree(tmp_path / "imports" / "data", FILES)
    body(step)
    blobs = tmp_path / "home" / "blobs"
    first = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in blobs.rglob("*") if p.is_file()}
    body(step)
    second = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in blobs.rglob("*") if p.is_file()}
    assert {p: content for p, (content, _) in first.items()} == {
        p: content for p, (content, _) in second.items()
    }
    segments = [path for path in first if path.suffix == ".bin"]
    assert segments
    assert all(first[path] == second[path] for path in segments)


def test_a_dangerous_archive_leaves_no_intake(tmp_path: Path) -> None:
    step = step_of(tmp_path, data={"kind": "archive", "location": "data.zip"})
    (tmp_path / "imports").mkdir()
    write_zip(tmp_path / "imports" / "data.zip", {"ok/1.jpg": b"1", "../../x": b"2"})
    with pytest.raises(BadInput, match="leads upwards"):
        body(step)
    assert not step.blobs.exists(keys.intake("local", BUILD))
    assert list((tmp_path / "home" / "temporary").iterdir()) == []


def test_nothing_that_can_be_taken_is_said(tmp_path: Path) -> None:
    step = step_of(tmp_path, maximum_entry_bytes=3)
    write_tree(tmp_path / "imports" / "data", {"ok/1.jpg": b"12345", "bad/1.jpg": b"12345"})
    with pytest.raises(BadInput, match="recognised"):
        body(step)


@pytest.mark.skipif(not DATA.exists(), reason="the real data sets are not beside the project")
def test_real_photos_in_class_folders(tmp_path: Path) -> None:
    step = step_of(tmp_path, data={"location": "electronic_parts"})
    step = Step(
        **{
            **step.__dict__,
            "settings": step.settings.model_copy(
                update={"import_roots": (DATA / "image_classification",), "segment_bytes": 1 << 26}
            ),
        }
    )
    facts = body(step)
    assert (facts["files"], facts["labels"], facts["refused"]) == (250, 250, 0)
    assert {row["annotation"] for row in intake(step, "labels")} == {
        f'"{name}"' for name in ("background", "capacitor", "diode", "led", "resistor")
    }


def database(uri: str, tmp_path: Path) -> Documents:
    """A database of this test's own."""
    client: MongoClient[dict[str, Any]] = MongoClient(uri, tz_aware=True)
    return client[f"ingest_{abs(hash(str(tmp_path))) % 10**12}"]


def test_the_newest_version_needs_no_data_but_a_version(
    tmp_path: Path, documents_server: str
) -> None:
    documents = database(documents_server, tmp_path)
    step = step_of(tmp_path, documents, data={"kind": "newest"})
    with pytest.raises(BadInput, match="no data yet"):
        body(step)
    datasets.commit_version(
        documents,
        "local",
        project="keyboard",
        dataset="keyboard",
        version="ab" * 8,
        parent=None,
        build_id=BUILD,
        summary={},
    )
    assert body(step)["format"] == "newest"
    assert intake(step, "files") == intake(step, "labels") == intake(step, "refused") == []


def test_an_import_that_cannot_be_read_does_not_hold_up_the_others(
    tmp_path: Path, documents_server: str
) -> None:
    documents = database(documents_server, tmp_path)
    step = step_of(tmp_path, documents, data={"kind": "newest"})
    good = write_tree(tmp_path / "imports" / "good", FILES)
    (tmp_path / "imports" / "cut.zip").write_bytes(b"PK\x03\x04 and no more")
    for number, place in enumerate(("cut.zip", "moved-away", good.name)):
        location = str(tmp_path / "imports" / place)
        changes.add(
            documents, "local", "keyboard", change_id=f"c{number}", location=location, files=1
        )
    facts = body(step)
    assert facts["files"] == 4
    refused = {row["path"]: row for row in intake(step, "refused")}
    assert set(refused) == {"c0/cut.zip", "c1/moved-away"}
    assert {row["code"] for row in refused.values()} == {"unusable_import"}
    assert "damaged" in refused["c0/cut.zip"]["reason"]
    assert "no such data" in refused["c1/moved-away"]["reason"]


def started(tmp_path: Path, uri: str, build_id: str, attempt: int) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY),
        "ORCHARD_HOME": str(tmp_path / "home"),
        "ORCHARD_DOCUMENTS_URI": uri,
        "ORCHARD_DOCUMENTS_DATABASE": database(uri, tmp_path).name,
        "ORCHARD_IMPORT_ROOTS": json.dumps([str(tmp_path / "imports")]),
        "ORCHARD_SEGMENT_BYTES": "100000",
    }
    command = [sys.executable, "-m", "orchard.steps.ingest", "--build", build_id]
    return subprocess.Popen(
        [*command, "--attempt", str(attempt)],
        env=environment,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_killed_ingest_leaves_nothing_visible_and_can_be_repeated(
    tmp_path: Path, documents_server: str
) -> None:
    files = {f"class-{n % 3}/{n}.jpg": b"%06d" % n * 20 for n in range(6000)}
    (tmp_path / "imports").mkdir()
    write_tar(tmp_path / "imports" / "data.tar.gz", files, "w:gz")
    build = builds.create(
        database(documents_server, tmp_path),
        "local",
        dag_id="build_model",
        run_id="killed",
        project="keyboard",
        parameters={
            "task": "image_classification",
            "data": {"kind": "archive", "location": "data.tar.gz"},
            "dataset": "keyboard",
        },
    )
    build_id = str(build["_id"])
    blobs = Blobs(f"file://{tmp_path}/home/blobs")
    segments = f"local/datasets/{build['parameters']['dataset']}/segments"

    first = started(tmp_path, documents_server, build_id, 1)
    deadline = time.monotonic() + 60
    while not blobs.list(segments) and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert first.returncode == -signal.SIGKILL
    assert not blobs.exists(keys.intake("local", build_id))

    second = started(tmp_path, documents_server, build_id, 2)
    log, _ = second.communicate(timeout=120)
    assert second.returncode == 0, log
    facts = blobs.read_json(keys.result("local", build_id, "ingest"))["facts"]
    assert (facts["files"], facts["labels"], facts["refused"]) == (6000, 6000, 0)
    assert log.splitlines()[-1].startswith("6,000 files")
    build_folder = tmp_path / "home" / "blobs" / keys.build("local", build_id)
    assert sorted(path.name for path in build_folder.iterdir()) == ["intake", "results"]
    assert list((tmp_path / "home" / "temporary").iterdir()) == []


MEASURE = """
import resource, sys
from pathlib import Path
sys.path.insert(0, {repository!r})
from tests.orchard.steps.test_ingest import body, step_of
facts = body(step_of(Path(sys.argv[1]), data={{"location": sys.argv[2]}}, segment_bytes=1 << 20))
print(facts["files"], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_stays_flat_from_two_to_twenty_thousand_files(tmp_path: Path) -> None:
    (tmp_path / "imports").mkdir()
    peaks = {}
    for count in (2_000, 20_000):
        files = {f"class-{n % 10}/{n}.jpg": b"%08d" % n * 4 for n in range(count)}
        name = f"{count}.tar"
        write_tar(tmp_path / "imports" / name, files)
        done = subprocess.run(
            [sys.executable, "-c", MEASURE.format(repository=str(REPOSITORY)), str(tmp_path), name],
            capture_output=True,
            text=True,
            check=True,
        )
        taken, peak = map(int, done.stdout.split()[-2:])
        assert taken == count
        peaks[count] = peak
    assert peaks[20_000] - peaks[2_000] < 10_000, f"{peaks} KB"
