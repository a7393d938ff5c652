"""Real sets of boxes, and the odd label files that people really upload."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from orchard.errors import BadInput
from orchard.tasks.object_detection import labels
from tests.orchard.formats.boxes_helper import Read, read, settled

DATA = Path(__file__).parents[4] / "shared" / "data"
MESSY = DATA / "messy"
needs_sets = pytest.mark.skipif(
    not (DATA / "object_detection").is_dir(), reason="the shared sets are not here"
)
needs_messy = pytest.mark.skipif(not MESSY.is_dir(), reason="the shared odd files are not here")


@needs_sets
@pytest.mark.parametrize(
    ("name", "form", "samples", "boxes", "classes"),
    [
        ("bccd", "pascal_voc", 364, 4886, 3),
        ("microcontrollers", "pascal_voc", 149, 177, 4),
        ("wind_turbines", "box_table", 472, 476, 1),
        ("egg_quality", "yolo", 150, None, 5),
        ("fruits_nuts", "coco", 18, 165, 3),
    ],
)
def test_real_sets(name: str, form: str, samples: int, boxes: int | None, classes: int) -> None:
    root = DATA / "object_detection" / name
    found = read(root)
    assert found.format == form
    assert len(found.pictures) == samples
    assert not found.refused
    answers = settled(root, found)
    assert len(answers) == samples
    assert not [path for path, answer in answers.items() if answer.annotation is None]
    counts = Counter(
        label for answer in answers.values() for label in labels.labels_of(answer.annotation)
    )
    assert len(counts) == classes
    if boxes is not None:
        assert counts.total() == boxes


@needs_sets
def test_splits_of_real_sets() -> None:
    for name in ("microcontrollers", "wind_turbines"):
        found = read(DATA / "object_detection" / name)
        assert {found.splits[path] for path in found.pictures} == {"train", "test"}, name


@pytest.fixture
def voc(tmp_path: Path) -> Read:
    for path in sorted((MESSY / "derived" / "voc").iterdir()):
        shutil.copy(path, tmp_path / path.name)
    return read(tmp_path)


def alone(tmp_path: Path, name: str) -> tuple[Read, dict[str, object]]:
    """One of the XML files beside its picture, and its settled annotation with notices."""
    for each in ("raccoon-1.jpg", f"{name}.xml"):
        shutil.copy(MESSY / "derived" / "voc" / each, tmp_path / each)
    found = read(tmp_path)
    answers = settled(tmp_path, found)
    return found, {path: (answer.annotation, answer.notices) for path, answer in answers.items()}


@needs_messy
@pytest.mark.parametrize(
    ("name", "place", "said"),
    [
        ("inverted", (81, 88, 441, 320), "reversed"),
        ("outside", (81, 88, 569, 329), "clipped"),
        ("negative", (0, 0, 522, 408), "clipped"),
        ("float", (81.53, 88, 440.47, 319.75), ""),
        ("swapped_size", (81, 88, 441, 320), "swaps"),
    ],
)
def test_odd_voc_is_repaired(
    tmp_path: Path, name: str, place: tuple[float, ...], said: str
) -> None:
    _, answers = alone(tmp_path, name)
    annotation, notices = answers["raccoon-1.jpg"]  # type: ignore[misc]
    (box,) = annotation["boxes"]
    assert tuple(box[side] for side in ("left", "top", "width", "height")) == place
    assert any(said in notice for notice in notices) if said else not notices


@needs_messy
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("fully_outside", "wholly outside"),
        ("nan", "not all numbers"),
        ("empty_name", "without a class name"),
    ],
)
def test_odd_voc_whose_only_box_is_dropped_is_refused(tmp_path: Path, name: str, why: str) -> None:
    found, answers = alone(tmp_path, name)
    assert answers["raccoon-1.jpg"][0] is None  # type: ignore[index]
    reason = settled(tmp_path, found)["raccoon-1.jpg"].reason
    assert why in reason


@needs_messy
def test_all_odd_voc_together(voc: Read) -> None:
    assert voc.format == "pascal_voc"
    assert voc.refused == {"broken_xml.xml": "bad_xml", "xxe.xml": "xml_with_dtd"}
    assert Path("/etc/hostname").read_text().strip() not in str(voc)
    # Nine files for one picture, one of which claims another size: they contradict each other.
    assert voc.annotations == {"raccoon-1.jpg": None}


@needs_messy
def test_upper_case_extensions(tmp_path: Path) -> None:
    root = MESSY / "annotations" / "voc_uppercase_ext"
    found = read(root)
    assert found.boxes("IMG_2383.JPG") == [("ace", 97, 136, 178, 232)]
    assert settled(root, found)["IMG_2383.JPG"].annotation is not None


@needs_messy
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("coco_results_not_dataset", "results"),
        ("coco_captions_only", "captions"),
        ("coco_panoptic", "panoptic"),
    ],
)
def test_json_of_the_coco_family_without_boxes(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "b.jpg").write_bytes(b"x")
    shutil.copy(MESSY / "annotations" / f"{name}.json", tmp_path / f"{name}.json")
    with pytest.raises(BadInput, match=said) as caught:
        read(tmp_path)
    assert f"{name}.json" in str(caught.value)


@needs_messy
def test_createml(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"train_00{number}.jpg").write_bytes(b"x")
    shutil.copy(MESSY / "annotations" / "createml.json", tmp_path / "_annotations.createml.json")
    found = read(tmp_path)
    assert found.format == "createml"
    assert found.boxes("train_001.jpg") == [("label_0", 0.5, 0.5, 3.0, 1.0)]


@needs_messy
def test_odd_yolo(tmp_path: Path) -> None:
    (tmp_path / "data.yaml").write_text("names: [thing]\n")
    source = MESSY / "derived" / "yolo"
    for path in sorted(source.iterdir()):
        shutil.copy(path, tmp_path / path.name)
        shutil.copy(MESSY / "images" / "jpg_gray.jpg", tmp_path / f"{path.stem}.jpg")
    found = read(tmp_path)
    assert found.format == "yolo"
    assert found.refused == {
        "class_out_of_range.jpg": "unknown_class",
        "pixel_units.jpg": "pixel_numbers",
        "comma_separated.jpg": "bad_row",
    }
    assert "line 1 of class_out_of_range.txt" in found.reasons["class_out_of_range.jpg"]
    assert "line 1 of comma_separated.txt" in found.reasons["comma_separated.jpg"]
    assert "commas" in found.reasons["comma_separated.jpg"]
    assert any("sixth" in notice for notice in found.notices)
    answers = settled(tmp_path, found)
    middle = {"label": "thing", "left": 38.4, "top": 38.4, "width": 51.2, "height": 51.2}
    for name in ("six_columns", "class_float", "bom_crlf", "duplicate_rows"):
        answer = answers[f"{name}.jpg"].annotation
        assert answer is not None, name
        assert answer["boxes"] == [middle], name
    assert "twice" in str(answers["duplicate_rows.jpg"].notices)
    clipped = answers["negative.jpg"]
    assert clipped.annotation is not None
    assert clipped.annotation["boxes"][0]["left"] == 0
    assert "clipped" in clipped.notices[0]
    assert answers["zero_area.jpg"].code == "no_usable_box"
    assert "without area" in answers["zero_area.jpg"].reason
