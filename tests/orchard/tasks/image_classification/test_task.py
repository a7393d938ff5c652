"""Labels, answers, thumbnails and golden pictures of image classification."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import pytest
from PIL import Image

from orchard.errors import BadInput
from orchard.tasks import Accepted, Limits, task

TASK = task("image_classification")
CARD = {"labels": ["a", "b", "c"], "thresholds": {"not_sure": 0.6}}


def test_labels() -> None:
    assert TASK.labels_of("scratch") == ("scratch",)
    assert TASK.labels_of("") == TASK.labels_of(None) == ()
    assert TASK.renamed("Scratch", {"Scratch": "scratch"}) == "scratch"
    assert TASK.renamed("dent", {"Scratch": "scratch"}) == "dent"


@pytest.mark.parametrize(("asked", "count"), [({}, 3), ({"top_num": 2}, 2), ({"top_num": "1"}, 1)])
def test_answers_come_best_first(asked: dict[str, object], count: int) -> None:
    answer = TASK.response(np.array([[0.2, 0.7, 0.1]], np.float32), CARD, asked)
    assert [row["name"] for row in answer["results"]] == ["b", "a", "c"][:count]
    assert answer["not_sure"] is False


def test_a_low_score_is_not_sure_but_answered() -> None:
    answer = TASK.response(np.array([[0.4, 0.35, 0.25]], np.float32), CARD, {})
    assert answer["not_sure"] is True
    assert len(answer["results"]) == 3


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "six", [], {}])
def test_a_wrong_top_num_is_refused(value: object) -> None:
    with pytest.raises(BadInput, match="top_num"):
        TASK.response(np.array([[0.4, 0.35, 0.25]], np.float32), CARD, {"top_num": value})


def test_thumbnails_fit_and_are_never_enlarged() -> None:
    for size, expected in (((400, 100), (80, 20)), ((30, 20), (30, 20))):
        buffer = io.BytesIO()
        Image.new("RGB", size, (200, 30, 30)).save(buffer, "PNG")
        small = Image.open(io.BytesIO(TASK.thumbnail(buffer.getvalue(), 80)))
        assert small.format == "JPEG"
        assert small.size == expected


def test_golden_pictures_are_accepted_and_always_the_same_pixels() -> None:
    payloads = TASK.golden_payloads()
    assert len(payloads) >= 3
    for payload in payloads:
        assert isinstance(TASK.judge(payload, "golden.png", Limits()), Accepted)
    pixels = b"".join(TASK.decode(payload).tobytes() for payload in payloads)
    assert hashlib.sha256(pixels).hexdigest() == GOLDEN_PIXELS


GOLDEN_PIXELS = "59484a904b61a6b5f1fd2acaf84574b7a73cddefd8775fb467a105653c794dad"
