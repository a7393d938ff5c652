"""The formats for boxes, each over small generated files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchard.errors import BadInput
from orchard.formats import FORMATS, Label, recognise
from orchard.formats.pascal_voc import UnusableXml, parsed_xml
from orchard.formats.run_lengths import box_around
from tests.orchard.formats.boxes_helper import read
from tests.orchard.sources.helpers import listing_of, write_tree

A = {"a.jpg": b"x", "b.jpg": b"x", "c.jpg": b"x"}
CAT = ("cat", 10.0, 20.0, 30.0, 40.0)


def voc(*objects: tuple[Any, ...], size: str = "", filename: str = "") -> bytes:
    parts = "".join(
        f"<object><name>{name}</name><bndbox><xmin>{x1}</xmin><ymin>{y1}</ymin><xmax>{x2}</xmax>"
        f"<ymax>{y2}</ymax></bndbox></object>"
        for name, x1, y1, x2, y2 in objects
    )
    return f"<annotation><filename>{filename}</filename>{size}{parts}</annotation>".encode()


def as_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def coco(boxes: list[dict[str, Any]], **changes: Any) -> bytes:
    return as_json(
        {
            "images": [
                {"id": n, "file_name": f"{name}.jpg", "width": 100, "height": 80}
                for n, name in enumerate("ab")
            ],
            "categories": [{"id": 7, "name": "cat"}],
            "annotations": boxes,
            **changes,
        }
    )


COCO_CAT = {"image_id": 0, "category_id": 7, "bbox": [10, 20, 30, 40]}
LABELME_CAT = {"label": "cat", "points": [[10, 20], [40, 60]], "shape_type": "rectangle"}
CREATEML_CAT = {"label": "cat", "coordinates": {"x": 25, "y": 40, "width": 30, "height": 40}}
EASYDL_CAT = {"name": "cat", "x1": 10, "y1": 20, "x2": 40, "y2": 60}


@pytest.mark.parametrize(
    ("form", "files"),
    [
        ("pascal_voc", {"a.xml": voc(("cat", 10, 20, 40, 60)), "b.xml": voc()}),
        ("coco", {"instances.json": coco([COCO_CAT])}),
        ("box_table", {"boxes.csv": b"filename,xmin,ymin,xmax,ymax,class\na.jpg,10,20,40,60,cat\nb.jpg,,,,,\n"}),
        ("labelme", {"a.json": as_json({"imagePath": "a.jpg", "shapes": [LABELME_CAT]}),
                     "b.json": as_json({"imagePath": "b.jpg", "shapes": []})}),
        ("createml", {"all.json": as_json([{"image": "a.jpg", "annotations": [CREATEML_CAT]},
                                           {"image": "b.jpg", "annotations": []}])}),
        ("easydl_boxes", {"a.json": as_json({"labels": [EASYDL_CAT]}), "b.json": as_json({"labels": []})}),
    ],
)  # fmt: skip
def test_boxes_negatives_and_unlabelled(tmp_path: Path, form: str, files: dict[str, bytes]) -> None:
    found = read(write_tree(tmp_path, {**A, **files}))
    assert found.format == form
    assert found.boxes("a.jpg") == [CAT]
    assert found.boxes("b.jpg") == []
    assert set(found.annotations) == {"a.jpg", "b.jpg"}
    assert sorted(found.pictures) == sorted(A)
    assert not found.refused


def test_every_format_says_what_it_serves() -> None:
    assert {kind for form in FORMATS for kind in form.kinds} == {"class", "boxes"}
    assert len({form.name for form in FORMATS}) == len(FORMATS)


def test_boxes_are_not_read_as_classes(tmp_path: Path) -> None:
    listing = listing_of(write_tree(tmp_path, {**A, "a.xml": voc(("cat", 1, 1, 2, 2))}))
    with pytest.raises(BadInput):
        recognise(listing, "class")


# Pascal VOC


def test_voc_in_folders_with_lists_of_splits(tmp_path: Path) -> None:
    files = {
        "VOC/JPEGImages/a.jpg": b"x",
        "VOC/JPEGImages/b.jpg": b"x",
        "VOC/SegmentationClass/a.png": b"x",
        "VOC/Annotations/a.xml": voc(("cat", 10, 20, 40, 60), filename="elsewhere.jpg"),
        "VOC/Annotations/b.xml": voc(("dog", 1, 2, 3, 4)),
        "VOC/ImageSets/Main/train.txt": b"a\n",
        "VOC/ImageSets/Main/val.txt": b"b\n",
        "VOC/ImageSets/Main/trainval.txt": b"a\nb\n",
    }
    found = read(write_tree(tmp_path, files))
    assert found.pictures == ["VOC/JPEGImages/a.jpg", "VOC/JPEGImages/b.jpg"]
    assert found.splits["VOC/JPEGImages/a.jpg"] == "train"
    assert found.splits["VOC/JPEGImages/b.jpg"] == "validation"
    assert found.boxes("VOC/JPEGImages/a.jpg") == [CAT]


def test_voc_claims_its_size(tmp_path: Path) -> None:
    size = "<size><width>100</width><height>80</height></size>"
    found = read(write_tree(tmp_path, {**A, "a.xml": voc(size=size)}))
    assert found.annotations["a.jpg"] == {"boxes": [], "size": [100, 80]}


@pytest.mark.parametrize(
    "payload",
    [
        b'<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/hostname">]><annotation>&e;</annotation>',
        b'<!DOCTYPE a SYSTEM "http://localhost/x.dtd"><annotation/>',
        b'<!DOCTYPE a [<!ENTITY x "y"><!ENTITY z "&x;&x;">]><annotation>&z;</annotation>',
    ],
)
def test_xml_with_a_dtd_is_not_read(payload: bytes) -> None:
    with pytest.raises(UnusableXml) as caught:
        parsed_xml(payload)
    assert caught.value.code == "xml_with_dtd"


def test_xml_in_chinese_encodings() -> None:
    for name in ("gb2312", "GBK", "utf-8"):
        text = f"<?xml version='1.0' encoding='{name}'?><annotation>划痕</annotation>"
        assert parsed_xml(text.encode(name)).text == "划痕"


@pytest.mark.parametrize("payload", [b"", b"<annotation>", b"text", b"<a/><b/>", b"\xff\xfe<"])
def test_broken_xml_is_refused(payload: bytes) -> None:
    with pytest.raises(UnusableXml) as caught:
        parsed_xml(payload)
    assert caught.value.code == "bad_xml"


# COCO


def test_coco_shapes_become_boxes_and_crowds_are_marked(tmp_path: Path) -> None:
    polygon = {"image_id": 0, "category_id": 7, "segmentation": [[10, 20, 40, 20, 40, 60]]}
    mask = {"size": [80, 100], "counts": [10 * 80 + 20, 40, 29 * 80 - 40, 40, 60 * 80 + 20]}
    crowd = {"image_id": 1, "category_id": 7, "segmentation": mask, "iscrowd": 1}
    found = read(write_tree(tmp_path, {**A, "x.json": coco([polygon, crowd])}))
    assert found.boxes("a.jpg") == [CAT]
    assert found.boxes("b.jpg") == [CAT]
    assert found.annotations["b.jpg"]["boxes"][0]["crowd"] is True
    assert "crowd" not in found.annotations["a.jpg"]["boxes"][0]
    assert {notice.split()[0] for notice in found.notices} >= {"Polygons", "Masks", "Boxes"}


def test_coco_files_are_splits_and_a_bad_one_is_named(tmp_path: Path) -> None:
    files = {
        **A,
        "instances_train2017.json": coco([COCO_CAT], images=[{"id": 0, "file_name": "a.jpg"}]),
        "instances_val2017.json": coco([], images=[{"id": 0, "file_name": "b.jpg"}]),
        "captions.json": coco([{"image_id": 0, "caption": "a cat"}]),
    }
    found = read(write_tree(tmp_path, files))
    assert (found.splits["a.jpg"], found.splits["b.jpg"]) == ("train", "validation")
    assert found.refused == {"captions.json": "no_boxes"}
    assert "captions" in found.reasons["captions.json"]


def test_coco_with_unknown_classes_and_pictures(tmp_path: Path) -> None:
    boxes = [{**COCO_CAT, "category_id": 9}, {**COCO_CAT, "image_id": 5}]
    found = read(write_tree(tmp_path, {**A, "x.json": coco(boxes)}))
    assert found.refused == {"a.jpg": "unknown_class", "x.json": "label_without_file"}


def test_compressed_masks() -> None:
    # One column of three pixels from row 2 on in a mask of 10 rows: 12 outside, 3 inside, 25 not.
    assert box_around({"size": [10, 4], "counts": [12, 3, 25]}) == (1, 2, 2, 5)
    assert box_around({"size": [10, 4], "counts": "<3i0"}) == (1, 2, 2, 5)
    assert box_around({"size": [10, 4], "counts": "<3o"}) is None
    assert box_around({"size": [10, 4], "counts": [40]}) is None


# YOLO


YOLO_CAT = b"0 0.25 0.5 0.3 0.4\n"


def test_yolo_in_folders(tmp_path: Path) -> None:
    files = {
        "train/images/a.jpg": b"x",
        "train/labels/a.txt": YOLO_CAT,
        "valid/images/b.jpg": b"x",
        "valid/labels/b.txt": b"",
        "valid/images/c.jpg": b"x",
        "data.yaml": b"train: /home/me/old/train/images\nnc: 1\nnames: {0: cat}\n",
        "README.dataset.txt": b"0 1 2 3 4",
    }
    found = read(write_tree(tmp_path, files))
    assert found.format == "yolo"
    assert found.annotations["train/images/a.jpg"]["unit"] == "fraction"
    assert found.boxes("train/images/a.jpg") == [("cat", 0.1, 0.3, 0.3, 0.4)]
    assert found.boxes("valid/images/b.jpg") == []
    assert "valid/images/c.jpg" not in found.annotations
    assert found.splits["train/images/a.jpg"] == "train"
    assert found.splits["valid/images/c.jpg"] == "validation"


@pytest.mark.parametrize(
    ("names", "label"),
    [
        ({}, "0"),
        ({"classes.txt": b"cat\ndog\n"}, "cat"),
        ({"obj.names": b"cat\ndog\n"}, "cat"),
        ({"data.yaml": b"names: [cat, dog]"}, "cat"),
        ({"data.yaml": b"names:\n  0: cat\n", "classes.txt": b"other\n"}, "cat"),
        ({"data.yaml": b"{broken"}, "0"),
    ],
)
def test_yolo_names(tmp_path: Path, names: dict[str, bytes], label: str) -> None:
    found = read(write_tree(tmp_path, {**A, "a.txt": YOLO_CAT, **names}))
    assert found.boxes("a.jpg")[0][0] == label
    assert any("numbers are taken for names" in text for text in found.notices) is (label == "0")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"0 120 80 60 40", "pixel_numbers"),
        (b"0,0.5,0.5,0.4,0.4", "bad_row"),
        (b"0 0.5 0.5 0.4", "bad_row"),
        (b"0.5 0.5 0.5 0.4 0.4", "unknown_class"),
        (b"-1 0.5 0.5 0.4 0.4", "unknown_class"),
        (b"cat 0.5 0.5 0.4 0.4", "unknown_class"),
        (b"9 0.5 0.5 0.4 0.4", "unknown_class"),
    ],
)
def test_lines_that_are_not_yolo_are_named(tmp_path: Path, line: bytes, code: str) -> None:
    files = {**A, "a.txt": YOLO_CAT, "b.txt": YOLO_CAT + line, "data.yaml": b"names: [cat]"}
    found = read(write_tree(tmp_path, files))
    assert found.refused == {"b.jpg": code}
    assert "line 2 of b.txt" in found.reasons["b.jpg"]
    assert set(found.annotations) == {"a.jpg"}


def test_yolo_polygons(tmp_path: Path) -> None:
    found = read(write_tree(tmp_path, {**A, "a.txt": b"0 0.1 0.2 0.4 0.2 0.4 0.6\n"}))
    (box,) = found.boxes("a.jpg")
    assert box[1:] == pytest.approx((0.1, 0.2, 0.3, 0.4))
    assert any("Polygons" in notice for notice in found.notices)


# tables


@pytest.mark.parametrize(
    ("table", "fraction"),
    [
        ("filename,width,height,class,xmin,ymin,xmax,ymax\na.jpg,100,80,cat,10,20,40,60", False),
        ("image;label;x_min;y_min;x_max;y_max\na.jpg;cat;10;20;40;60", False),
        ("ImageID\tLabelName\tXMin\tXMax\tYMin\tYMax\na\tcat\t0.1\t0.4\t0.2\t0.6", True),
        ("path,left,top,width,height,label\na.jpg,10,20,30,40,cat", False),
        ("file,label,x,y,w,h\na.jpg,cat,0.1,0.2,0.3,0.4", True),
        ("image_path,class,bbox_x,bbox_y,bbox_width,bbox_height\na.jpg,cat,10,20,30,40", False),
        ("file,label,cx,cy,w,h\na.jpg,cat,25,40,30,40", False),
        ("a.jpg,10,20,40,60,cat\nb.jpg,,,,,", False),
    ],
)
def test_spellings_of_columns(tmp_path: Path, table: str, fraction: bool) -> None:
    found = read(write_tree(tmp_path, {**A, "x.csv": table.encode()}))
    assert found.format == "box_table"
    (box,) = found.boxes("a.jpg")
    scale = 100 if fraction else 1
    assert (box[0], *(value * scale for value in box[1:])) == pytest.approx(CAT)
    assert (found.annotations["a.jpg"].get("unit") == "fraction") is fraction
    assert any(("fractions" if fraction else "pixels") in notice for notice in found.notices)


def test_one_number_above_one_makes_a_table_of_pixels(tmp_path: Path) -> None:
    table = b"path,label,left,top,width,height\na.jpg,cat,0,0,1,1\nb.jpg,cat,0,0,1,9\n"
    found = read(write_tree(tmp_path, {**A, "x.csv": table}))
    assert "unit" not in found.annotations["a.jpg"]


def test_rows_of_one_picture_and_bad_rows(tmp_path: Path) -> None:
    table = (
        b"path,label,xmin,ymin,xmax,ymax,split\n"
        b"a.jpg,cat,10,20,40,60,train\n"
        b"a.jpg,dog,1,2,3,4,train\n"
        b"a.jpg,dog,1,2,3,4,train\n"
        b",dog,1,2,3,4,train\n"
        b"b.jpg,,nan,nan,nan,nan,test\n"
    )
    found = read(write_tree(tmp_path, {**A, "x.csv": table}))
    assert found.boxes("a.jpg") == [CAT, ("dog", 1, 2, 2, 2)]
    assert found.boxes("b.jpg") == []
    assert found.refused == {"x.csv": "bad_row"}
    assert "line 5" in found.reasons["x.csv"]
    assert (found.splits["a.jpg"], found.splits["b.jpg"]) == ("train", "test")


def test_a_column_of_sources_beside_boxes(tmp_path: Path) -> None:
    table = b"path,camera,label,xmin,ymin,xmax,ymax\na.jpg,3,cat,10,20,40,60\nb.jpg,n/a,,,,,\n"
    listing = listing_of(write_tree(tmp_path, {**A, "x.csv": table}))
    form, evidence, notices = recognise(listing, "boxes")
    rows = form.read(listing, evidence).tables()
    assert [row.origin for row in rows if isinstance(row, Label)] == ["3", None]
    assert any("'camera' of x.csv" in notice for notice in notices)


def test_a_table_of_boxes_that_was_pointed_at(tmp_path: Path) -> None:
    table = b"path,label,xmin,ymin,xmax,ymax\na.jpg,cat,10,20,40,60\n"
    files = {**A, "x.csv": table, "b.xml": voc(("dog", 1, 2, 3, 4))}
    assert read(write_tree(tmp_path, files), preferred="x.csv").format == "box_table"


# LabelMe


def test_labelme_shapes(tmp_path: Path) -> None:
    shapes = [
        {"label": "cat", "points": [[10, 20], [40, 30], [20, 60]], "shape_type": "polygon"},
        {"label": "dog", "points": [[50, 50], [53, 54]], "shape_type": "circle"},
        {"label": "dot", "points": [[5, 5]], "shape_type": "point"},
    ]
    document = {"imagePath": "..\\old\\a.jpg", "imageData": "eA==", "imageWidth": 100,
                "imageHeight": 80, "shapes": shapes}  # fmt: skip
    only = {**document, "shapes": shapes[2:]}
    files = {**A, "a.json": as_json(document), "b.json": as_json(only), "c.json": b"{"}
    found = read(write_tree(tmp_path, files))
    assert found.boxes("a.jpg") == [CAT, ("dog", 45, 45, 10, 10)]
    assert found.annotations["a.jpg"]["size"] == [100, 80]
    assert found.refused == {"b.jpg": "no_usable_box", "c.json": "bad_json"}
    assert len(found.notices) == 2


def test_numbers_that_are_none_stay_apart(tmp_path: Path) -> None:
    files = {**A, "a.xml": voc(("cat", "nan", 1, "inf", "x"), ("", 1, 2, 3, 4))}
    found = read(write_tree(tmp_path, files))
    assert found.boxes("a.jpg") == [
        ("cat", None, 1.0, None, None),
        ("", 1.0, 2.0, 2.0, 2.0),
    ]
