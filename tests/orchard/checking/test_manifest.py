"""Hash and counts of a manifest; splits; advice."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchard.checking import splits
from orchard.checking.advice import advise
from orchard.checking.manifest import MANIFEST_SCHEMA, census
from orchard.tasks import task
from orchard.tasks.image_classification import ImageClassification

TASK = task("image_classification")


def row(name: str, **changes: Any) -> dict[str, Any]:
    digest = hashlib.sha256(name.encode()).hexdigest()
    return {
        "sample_id": digest,
        "path": f"{name}.png",
        "segment": "s",
        "offset": 0,
        "length": 10,
        "annotation": '"a"',
        "label": "a",
        "split": "train",
        "fold": 1,
        "group": digest,
        "width": 8,
        "height": 6,
        "fingerprint": bytes(32),
        "version_added": 1,
        "notices": [],
        **changes,
    }


def table(rows: list[dict[str, Any]]) -> pa.Table:
    ordered = sorted(rows, key=lambda each: each["sample_id"])
    return pa.Table.from_pylist(ordered, schema=MANIFEST_SCHEMA)


@given(st.integers(1, 9), st.integers(1, 9))
def test_the_hash_does_not_depend_on_how_rows_are_cut(one: int, other: int) -> None:
    rows = table([row(str(number)) for number in range(9)])
    first = census(rows.to_batches(max_chunksize=one), TASK)
    assert first.version == census(rows.to_batches(max_chunksize=other), TASK).version
    assert len(first.version) == 16


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({"label": "b", "annotation": '"b"'}, True),
        ({"split": "test", "fold": -1}, True),
        ({"fold": 2}, True),
        ({"group": "0"}, True),
        ({"segment": "t", "offset": 7}, False),
        ({"version_added": 2}, False),
    ],
)
def test_the_hash_covers_what_a_model_depends_on(changes: dict[str, Any], differs: bool) -> None:
    before = census(table([row("a"), row("b")]).to_batches(), TASK).version
    after = census(table([row("a"), row("b", **changes)]).to_batches(), TASK).version
    assert (before != after) is differs


def test_rows_out_of_order_or_twice_are_refused() -> None:
    for rows in ([row("a"), row("a")], sorted([row("a"), row("b")], key=lambda r: r["path"])[::-1]):
        batch = pa.Table.from_pylist(
            sorted(rows, key=lambda r: r["sample_id"], reverse=True), schema=MANIFEST_SCHEMA
        )
        with pytest.raises(ValueError, match="sorted"):
            census(batch.to_batches(), TASK)


def test_counts() -> None:
    rows = [
        row("a", width=10, notices=["Scaled from 12,000 to 4,000 pixels"]),
        row("b", split="test", fold=-1, width=20),
        row("c", label="b", annotation='"b"', width=30, notices=["Scaled from 9 to 4 pixels"]),
        row("d", label="", annotation=None, split="unlabelled", fold=-1, width=40),
    ]
    found = census(table(rows).to_batches(), TASK)
    assert found.labels == {
        "a": {"train": 1, "validation": 0, "test": 1},
        "b": {"train": 1, "validation": 0, "test": 0},
    }
    assert found.splits == {"test": 1, "train": 2, "unlabelled": 1}
    assert found.sizes == {"minimum": [10, 6], "median": [20, 6], "maximum": [40, 6]}
    assert found.notices == {"Scaled from … to … pixels": 2}
    assert found.bytes == 40


class _Several(ImageClassification):
    """Labels that are lists of class names."""

    def labels_of(self, annotation: Any) -> tuple[str, ...]:
        return tuple(annotation)


def test_samples_that_hold_a_class_and_objects_are_counted_apart() -> None:
    rows = [
        row("a", annotation='["x","x","y"]', label="y"),
        row("b", annotation='["x"]', label="x", split="test", fold=-1),
        row("c", annotation="[]", label="(nothing)"),
    ]
    found = census(table(rows).to_batches(), _Several())
    assert found.labels["x"] == {"train": 1, "validation": 0, "test": 1}
    assert found.objects["x"] == {"train": 2, "validation": 0, "test": 1}
    assert set(found.labels) == {"x", "y"}
    assert found.splits == {"train": 2, "test": 1}


def test_how_large_objects_are_is_counted_over_what_is_learnt_from() -> None:
    def boxes(*sides: float) -> str:
        made = [{"label": "x", "left": 0, "top": 0, "width": s, "height": s} for s in sides]
        return json.dumps({"boxes": made})

    size = {"width": 200, "height": 50}
    rows = [
        row("a", annotation=boxes(10, 40), **size),
        row("b", annotation=boxes(20), **size),
        row("c", annotation=boxes(1, 1, 1, 1), split="test", fold=-1, **size),
    ]
    assert census(table(rows).to_batches(), task("object_detection")).object_share == 0.2
    assert census(table([row("a")]).to_batches(), TASK).object_share is None


def test_a_task_may_do_with_one_class() -> None:
    labels = {"a": counts(40, 10)}
    assert not advise(labels, task("image_classification")).trainable
    assert advise(labels, task("object_detection")).trainable
    assert (
        "At least 1 class with pictures is needed"
        in advise({}, task("object_detection")).reasons[0]
    )


@given(st.text(min_size=1))
def test_a_group_keeps_its_share_and_fold(first_member: str) -> None:
    assert splits.share_digits(first_member) == splits.share_digits(first_member)
    assert 0 <= splits.fold_of(first_member) < splits.FOLDS


def test_shares_are_uniform() -> None:
    groups = [hashlib.sha256(str(n).encode()).hexdigest() for n in range(4000)]
    in_test = sum(splits.share_digits(group) < splits.TEST_BOUND for group in groups)
    assert 700 < in_test < 900
    folds = [splits.fold_of(group) for group in groups]
    assert all(700 < folds.count(fold) < 900 for fold in range(splits.FOLDS))


@pytest.mark.parametrize(
    ("groups", "wanted"), [(0, 0), (1, 0), (2, 0), (4, 1), (5, 1), (7, 1), (8, 2), (1000, 200)]
)
def test_a_new_class_has_its_share_at_once(groups: int, wanted: int) -> None:
    assert splits.test_groups_of_new_class(groups) == wanted


def counts(train: int, test: int = 0) -> dict[str, int]:
    return {"train": train, "validation": 0, "test": test}


def test_what_is_missing_is_named() -> None:
    found = advise({"dent": counts(100, 25), "scratch": counts(6, 2)}, task("image_classification"))
    assert found.trainable
    assert found.advice[0] == "12 more of `scratch`, please"
    assert any("125" in line and "8" in line for line in found.advice)


def test_one_class_is_not_enough() -> None:
    found = advise({"normal": counts(100, 25)}, task("image_classification"))
    assert not found.trainable
    assert "only `normal`" in found.reasons[0]


def test_a_class_too_small_to_train_is_named() -> None:
    few = 4
    found = advise({"a": counts(40, 10), "b": counts(few, 1)}, task("image_classification"))
    assert [reason for reason in found.reasons if f"`b` has {few}" in reason]


def test_a_small_class_does_not_stop_a_task_that_trains_it_beside_others() -> None:
    labels = {"cup": counts(2, 1), "jar": counts(40, 10), "lid": counts(0, 3)}
    found = advise(labels, task("object_detection"))
    assert found.trainable
    cup, lid = (next(line for line in found.advice if name in line) for name in ("cup", "lid"))
    assert "`cup` has only 2 pictures to train on" in cup and "3 more are needed" in cup
    assert "left out" in lid and "5 more are needed" in lid
    assert not any("jar" in line for line in (cup, lid))


def test_nothing_is_trained_where_every_class_is_too_small() -> None:
    found = advise({"cup": counts(2, 1), "jar": counts(4, 1)}, task("object_detection"))
    assert len(found.reasons) == 2 and "`jar` has 4 pictures" in found.reasons[1]


def test_nothing_to_measure_on_is_a_reason() -> None:
    assert not advise({"a": counts(40), "b": counts(40)}, task("image_classification")).trainable
