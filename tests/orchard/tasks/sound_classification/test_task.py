"""Sound classification behind the interface of tasks."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from orchard.errors import BadInput
from orchard.preprocess.sound import standard
from orchard.tasks import task
from orchard.tasks.base import Accepted, Answers, Ask, Limits
from orchard.tasks.costs import Costs
from orchard.tasks.sound_classification import TASK
from orchard.tasks.sound_classification.branching import LADDER, operations, window
from orchard.tasks.sound_classification.scratch import LEAST_EPOCHS, LOG_MEL
from tests.orchard.odd_sounds import encoded, tone

LABELS = ("bad", "good", "loose")
CARD: dict[str, Any] = {
    "task": "sound_classification",
    "labels": list(LABELS),
    "preprocessing": standard(16_000, hop=8_000, fill="zeros"),
    "thresholds": {"not_sure": 0.5, "per_class": dict.fromkeys(LABELS, 0.5)},
}


def answer_of(seconds: float, best: list[int]) -> np.ndarray:
    scores = np.full((len(best), 3), 0.1, np.float32)
    scores[np.arange(len(best)), best] = 0.8
    return TASK.answer(scores, (int(16_000 * seconds),), CARD)


def test_the_task_is_found_by_its_name() -> None:
    assert task("sound_classification") is TASK
    assert (TASK.service_segment, TASK.service_field) == ("sound_cls", "sound")
    assert {".wav", ".flac", ".ogg", ".mp3"} <= TASK.sample_endings


def test_bytes_become_windows_of_one_rate() -> None:
    payload = encoded(tone(2.2, rate=44_100), rate=44_100, form="FLAC")
    decoded = TASK.decode(payload)
    rows = TASK.inputs(CARD["preprocessing"], decoded)
    assert rows.shape == (4, 16_000)
    times = TASK.answer(np.ones((4, 3), np.float32), decoded.shape, CARD)[:, :2]
    assert times == pytest.approx(np.array([[0, 1], [0.5, 1.5], [1, 2], [1.2, 2.2]]))


def test_a_short_recording_answers_as_easydl_does() -> None:
    found = TASK.response(answer_of(0.8, [1]), CARD, {"top_num": 2})
    assert found == {
        "results": [
            {"name": "good", "score": pytest.approx(0.8)},
            {"name": "bad", "score": pytest.approx(0.1)},
        ],
        "not_sure": False,
    }
    json.dumps(found)


def test_a_longer_one_has_a_time_line() -> None:
    found = TASK.response(answer_of(2.0, [1, 1, 2]), CARD, {})
    assert found["results"][0]["name"] == "good"
    assert found["results"][0]["score"] == pytest.approx((0.8 + 0.8 + 0.1) / 3)
    assert [(each["start"], each["end"], each["name"]) for each in found["timeline"]] == [
        (0.0, 1.0, "good"),
        (0.5, 1.5, "good"),
        (1.0, 2.0, "loose"),
    ]
    json.dumps(found)


def test_a_bad_parameter_is_refused() -> None:
    with pytest.raises(BadInput, match="top_num"):
        TASK.response(answer_of(0.8, [1]), CARD, {"top_num": "many"})


def test_answers_come_back_from_their_numbers() -> None:
    answer = answer_of(2.0, [1, 1, 2])
    assert (TASK.unflattened(answer.ravel(), LABELS) == answer).all()


def test_figures_are_those_of_classes() -> None:
    answers = Answers(
        LABELS,
        [answer_of(2.0, [1, 1, 2]), answer_of(0.5, [0]), answer_of(0.5, [2])],
        ["good", "bad", "good"],
        ("a", "b", "c"),
    )
    figures = TASK.metrics(answers, CARD)
    assert figures["accuracy"] == pytest.approx(2 / 3)
    assert [TASK.verdict(a, t, CARD).right for a, t in zip(answers.answers, answers.truths, strict=True)] == [
        True, True, False,
    ]  # fmt: skip
    assert TASK.verdict(answers.answers[2], "good", CARD).said == "loose"
    chosen = TASK.thresholds(answers, "accuracy")
    assert set(chosen["per_class"]) == set(LABELS)


def test_two_responses_differ_by_their_largest_score() -> None:
    request = TASK.parity_request(CARD)
    one = TASK.response(answer_of(2.0, [1, 1, 2]), CARD, request)
    other = answer_of(2.0, [1, 1, 2])
    assert TASK.difference(one, TASK.response(other, CARD, request)) == 0
    other[2, 4] += 0.06
    assert TASK.difference(one, TASK.response(other, CARD, request)) == pytest.approx(
        0.06, abs=1e-6
    )
    short = TASK.response(answer_of(0.8, [1]), CARD, request)
    assert TASK.difference(one, short) == float("inf")


def test_golden_recordings_are_accepted_and_always_the_same() -> None:
    payloads = TASK.golden_payloads()
    assert len({len(payload) for payload in payloads}) == len(payloads)
    for payload in payloads:
        assert isinstance(TASK.judge(payload, "golden.wav", Limits()), Accepted)


@pytest.mark.parametrize("seconds", [0.02, 0.7, 12.0])
def test_a_thumbnail_is_a_small_spectrogram(seconds: float) -> None:
    payload = encoded(tone(seconds, frequency=3000))
    image = Image.open(io.BytesIO(TASK.thumbnail(payload, 120)))
    assert image.format == "JPEG"
    assert image.size[0] <= 120 and image.size[1] <= 120
    brightness = np.asarray(image.convert("L")).astype(float).mean(axis=1)
    # A tone of 3 kHz is a bright line in the upper half.
    assert brightness.argmax() < image.size[1] / 2


def ask(seconds: float, median: int = 600, samples: int = 640, scratch: bool = False) -> Ask:
    names = {name for rung in LADDER for name, _ in rung} | ({LOG_MEL} if scratch else set())
    cards = {
        name: {
            "title": name,
            "feature_count": 864,
            "sha256": "ab" * 32,
            "milliseconds_per_megapixel": 150.0,
            "milliseconds_per_second": 12.0,
        }
        for name in names
    }
    return Ask(
        summary={"sizes": {"median": [median, 1]}, "splits": {}},
        labels=["a", "b"],
        counts={"a": samples // 2, "b": samples - samples // 2},
        samples=samples,
        seconds=seconds,
        minutes=seconds / 60,
        gpus=0,
        costs=Costs(),
        cards=cards,
        objective="accuracy",
        reasons=[],
    )


def test_more_time_gives_more_branches_and_views() -> None:
    plans = [TASK.plan(ask(seconds)) for seconds in (5, 120, 900, 5000)]
    assert [len(plan.branches) for plan in plans] == sorted(len(plan.branches) for plan in plans)
    assert len(plans[0].branches) == 1 and len(plans[-1].branches) == 4
    for branch in plans[-1].branches:
        TASK.inputs(branch["preprocessing"], tone(1.0))
        assert branch["views"][0] == "plain"
        assert set(branch["views"]) <= set(TASK.views)
        rows = TASK.inputs(branch["preprocessing"], tone(1.0))
        for name in branch["views"]:
            assert TASK.view(rows, name).shape == rows.shape


def test_a_network_from_scratch_takes_only_what_the_others_leave() -> None:
    for seconds in (60, 200, 700, 1200):
        alone, with_it = ask(seconds), ask(seconds, scratch=True)
        others, branches = TASK.plan(alone).branches, TASK.plan(with_it).branches
        assert branches[: len(others)] == others
        spent = sum(each["prepare_seconds"] / 2 for each in branches)
        for branch in branches[len(others) :]:
            assert branch["mode"] == "from_scratch"
            assert branch["work"]["scratch_epochs"] >= LEAST_EPOCHS
            assert spent + branch["seconds"] <= seconds
        assert any("from scratch" in reason for reason in with_it.reasons)
        assert (len(branches) > len(others)) == (seconds >= 700)


def test_the_windows_of_a_network_from_scratch_fill_its_spectrogram() -> None:
    for median in (600, 1700, 2900, 30_000):
        *_, branch = TASK.plan(ask(5000, median, scratch=True)).branches
        for name in ("preprocessing", "answer_preprocessing"):
            rows = TASK.inputs(branch[name], tone(median / 1000))
            # Columns of 250 samples, and a sixteenth of them at the network's end.
            assert rows.shape[1] % (16 * 250) == 0
        assert len(TASK.inputs(branch["preprocessing"], tone(median / 1000))) == branch["windows"]
        assert branch["preprocessing"][1]["samples"] == rows.shape[1]


def test_few_recordings_do_not_teach_a_network_from_scratch() -> None:
    assert all(
        branch["mode"] == "frozen"
        for branch in TASK.plan(ask(5000, samples=40, scratch=True)).branches
    )


def test_windows_follow_the_length_of_the_recordings() -> None:
    assert window({"sizes": {"median": [600, 1]}}) == (1.5, 1)
    assert window({"sizes": {"median": [2900, 1]}}) == (3.0, 1)
    assert window({"sizes": {"median": [30_000, 1]}}) == (5.0, 4)
    trained = TASK.inputs(operations("speech-embedding", 5.0, 4), tone(30.0))
    asked = TASK.inputs(operations("speech-embedding", 5.0, 0), tone(30.0))
    assert (len(trained), len(asked)) == (4, 11)


def test_one_class_cannot_be_learnt() -> None:
    with pytest.raises(BadInput, match="two classes"):
        TASK.plan(replace(ask(60), labels=["a"]))


def test_sources_are_told_where_names_are_certain() -> None:
    names = [
        f"{label}_{voice}_{take}.wav"
        for label in "ab"
        for voice in ("ann", "bob", "cy", "di")
        for take in range(3)
    ]
    found = TASK.sources(names, [name[0] for name in names])
    assert found is not None
    assert set(found[0]) == {"ann", "bob", "cy", "di"}
    assert TASK.sources(["1.wav", "2.wav"], ["a", "b"]) is None
