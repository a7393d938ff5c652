"""The step `check` over boxes: rows of a picture together, repaired, refused, counted by class."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from PIL import Image

from orchard.catalog import datasets
from orchard.catalog.connection import documents
from orchard.program import Step
from spark_jobs import check
from tests.spark_jobs.box_task import BoxTask
from tests.spark_jobs.intakes import (
    DATASET,
    OWNER,
    manifest_of,
    picture,
    refused_of,
    step,
    write_intake,
)

pytestmark = pytest.mark.usefixtures("spark_session", "orchard_home")


@pytest.fixture(autouse=True)
def boxes_are_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "task_of", lambda name: BoxTask())


def one_box(label: str, left: float = 4, width: float = 10, **more: Any) -> dict[str, Any]:
    box = {"label": label, "left": left, "top": 5.0, "width": width, "height": 10.0}
    return {"boxes": [box], **more}


def lying(seed: int) -> bytes:
    """A picture of 36 × 34 pixels that EXIF turns by a quarter."""
    exif = Image.Exif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    Image.open(io.BytesIO(picture(seed))).save(buffer, "JPEG", exif=exif)
    return buffer.getvalue()


def checked(run_id: str, samples: Any, labels: Any) -> tuple[Step, dict[str, Any]]:
    of = step("check", run_id)
    write_intake(of, samples, labels)
    check.body(of)
    found = datasets.newest_version(documents(), OWNER, DATASET)
    assert found is not None
    return of, {**found["summary"], "version": found["version"]}


def test_boxes_become_a_version_and_the_next_one_keeps_it() -> None:
    names = [f"{number:02}.png" for number in range(20)]
    samples = [(name, picture(number)) for number, name in enumerate(names)]
    samples += [("empty.png", picture(50)), ("bad.png", picture(51)), ("loose.png", picture(52))]
    samples += [("mixed.png", picture(53)), ("lying.jpg", lying(54))]
    labels: list[tuple[str, Any]] = [(name, one_box("Cat")) for name in names]
    labels += [(name, one_box("cat", 20)) for name in names]
    labels += [(name, one_box("rare", 1, 99)) for name in names[:6]]
    labels += [("empty.png", {"boxes": []}), ("bad.png", one_box("Cat", 90))]
    labels += [("mixed.png", one_box("Cat")), ("mixed.png", one_box("Cat", unit="fraction"))]
    labels += [("lying.jpg", one_box("Cat", size=[36, 34]))]
    of, summary = checked("r1", samples, labels)
    version = summary["version"]
    rows = manifest_of(of, version)
    assert refused_of(of, version) == {
        "bad.png": "no_usable_box",
        "mixed.png": "conflicting_labels",
    }
    first = json.loads(rows["00.png"]["annotation"])["boxes"]
    assert [(box["label"], box["left"], box["width"]) for box in first] == [
        ("Cat", 4, 10),
        ("Cat", 20, 10),
        ("rare", 1, 35),
    ]
    assert any("clipped" in notice for notice in rows["00.png"]["notices"])
    assert rows["00.png"]["label"] == "rare"
    assert rows["19.png"]["label"] == "Cat"
    assert rows["empty.png"]["label"] == "(nothing)"
    assert rows["empty.png"]["split"] in ("train", "test")
    assert rows["loose.png"]["split"] == "unlabelled"
    (turned,) = json.loads(rows["lying.jpg"]["annotation"])["boxes"]
    assert (turned["left"], turned["top"]) == (34 - 15, 4)
    assert set(summary["labels"]) == {"Cat", "rare"}
    assert sum(summary["labels"]["Cat"].values()) == 21
    assert sum(summary["objects"]["Cat"].values()) == 41
    assert sum(summary["objects"]["rare"].values()) == 6
    assert summary["labels"]["rare"]["test"] == 1
    assert summary["notices"]["A box that reached out of the picture was clipped (…)"] == 6
    assert summary["trainable"]

    # The same again says nothing new; a refused label does not take a known picture away.
    again, same = checked("r2", samples, labels)
    assert same["version"] == version
    changed = [("10.png", one_box("Cat")), ("11.png", one_box("Cat", 99))]
    third, summary = checked("r3", samples[10:12], changed)
    rows = manifest_of(third, summary["version"])
    assert len(json.loads(rows["10.png"]["annotation"])["boxes"]) == 1
    assert len(json.loads(rows["11.png"]["annotation"])["boxes"]) == 2
    assert refused_of(third, summary["version"]) == {"11.png": "no_usable_box"}
    assert summary["relabelled"] == 1
