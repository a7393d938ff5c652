"""What every task must keep, whatever its samples are.

A task brings `samples.py` into its folder of tests: `samples()`, `perfect()`, `outputs()`.
"""

from __future__ import annotations

import importlib
import io
import json
import math
import re
from functools import lru_cache
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from orchard.errors import BadInput
from orchard.names import OBJECTIVES
from orchard.tasks import Accepted, Answers, Limits, Refused, task, task_names
from orchard.tasks.base import Ask, Task
from orchard.tasks.costs import Costs
from trainers.backbones.store import cards

KEYS = frozenset(
    {
        "key", "title", "backbone", "mode", "views", "preprocessing", "feature_key", "work",
        "gpus", "prepare_seconds", "seconds", "pixels",
    }
)  # fmt: skip


@lru_cache(maxsize=1)
def known_cards() -> dict[str, dict[str, Any]]:
    return cards()


class Case:
    """A task with its samples and a bundle's card for them."""

    def __init__(self, name: str) -> None:
        self.task: Task = task(name)
        self.made: ModuleType = importlib.import_module(f"tests.orchard.tasks.{name}.samples")
        self.samples: list[tuple[str, bytes, Any]] = self.made.samples()
        self.labels = tuple(
            sorted({label for *_, truth in self.samples for label in self.task.labels_of(truth)})
        )
        self.branches = self.task.plan(self.ask()).branches
        self.card: dict[str, Any] = {
            "task": name,
            "labels": list(self.labels),
            "preprocessing": self.branches[0]["preprocessing"],
        }
        self.card["thresholds"] = self.task.thresholds(self.perfect(), "accuracy")

    def ask(self, minutes: float = 5, gpus: int = 0, samples: int = 200) -> Ask:
        count = samples // len(self.labels)
        splits = {"train": samples, "validation": 0, "test": 40}
        labels = {label: {"train": count, "validation": 0, "test": 20} for label in self.labels}
        return Ask(
            summary={
                "labels": labels,
                "splits": splits,
                "sizes": {side: [640, 480] for side in ("minimum", "median", "maximum")},
                "objects": labels,
                "extra": {},
            },
            labels=self.labels,
            counts=dict.fromkeys(self.labels, count),
            samples=samples,
            seconds=max(12 * minutes, 60 * minutes - 240),
            minutes=minutes,
            gpus=gpus,
            costs=Costs(),
            cards=known_cards(),
            objective="accuracy",
            reasons=[],
        )

    def perfect(self) -> Answers:
        truths = [truth for *_, truth in self.samples]
        return Answers(
            self.labels, [self.made.perfect(truth, self.labels) for truth in truths], truths
        )


@pytest.fixture(scope="module", params=task_names())
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


def test_it_says_what_it_is(case: Case) -> None:
    one = case.task
    assert one.name and one.title and one.sample_word
    assert one.service_segment and one.service_field
    assert one.views[0] == "plain" and len(set(one.views)) == len(one.views)
    assert set(one.objectives) == set(OBJECTIVES)
    assert one.figure_of("accuracy") == one.headline_metrics[0]
    assert set(one.losses) <= set(one.objectives)
    with pytest.raises(BadInput, match="objective"):
        one.figure_of("beauty")


def test_no_two_tasks_answer_under_one_address() -> None:
    segments = [task(name).service_segment for name in task_names()]
    assert len(set(segments)) == len(segments)


def test_samples_are_accepted_and_judged_alike_twice(case: Case) -> None:
    for path, payload, _ in case.samples:
        verdict = case.task.judge(payload, path, Limits())
        assert isinstance(verdict, Accepted), verdict
        assert verdict == case.task.judge(payload, path, Limits())
        if verdict.fingerprint:
            bands = case.task.bands(verdict.fingerprint)
            assert bands and bands == case.task.bands(verdict.fingerprint)
            assert case.task.distance(verdict.fingerprint, verdict.fingerprint) == 0


@pytest.mark.parametrize("name", task_names())
@settings(max_examples=60, deadline=None)
@given(payload=st.binary(max_size=400))
def test_the_judge_never_raises(name: str, payload: bytes) -> None:
    verdict = task(name).judge(payload, "any.bin", Limits())
    assert isinstance(verdict, Accepted | Refused)
    if isinstance(verdict, Refused):
        assert verdict.code and verdict.reason


def test_damaged_samples_are_refused_or_read_and_never_raise(case: Case) -> None:
    random = np.random.default_rng(5)
    for path, payload, _ in case.samples:
        for length in (0, 1, 12, len(payload) // 2):
            assert isinstance(case.task.judge(payload[:length], path, Limits()), Accepted | Refused)
        damaged = bytearray(payload)
        for at in random.integers(0, len(payload), 20):
            damaged[at] ^= 0xFF
        assert isinstance(case.task.judge(bytes(damaged), path, Limits()), Accepted | Refused)


def test_labels_are_read_renamed_and_balanced(case: Case) -> None:
    for *_, truth in case.samples:
        names = case.task.labels_of(truth)
        assert names and all(isinstance(name, str) and name for name in names)
        renamed = case.task.renamed(truth, {name: name.upper() for name in names})
        assert case.task.labels_of(renamed) == tuple(name.upper() for name in names)
        assert case.task.stratum(truth)
        assert case.task.merged([truth, truth]) == truth
        assert json.loads(json.dumps(truth)) == truth
        assert case.task.knows(truth, case.labels)
        assert not case.task.knows(truth, ("something else",))


def test_inputs_have_one_form_and_views_keep_it(case: Case) -> None:
    for branch in case.task.plan(case.ask(minutes=120)).branches:
        shapes = set()
        for _, payload, _ in case.samples:
            decoded = case.task.decode(payload)
            inputs = case.task.inputs(branch["preprocessing"], decoded)
            assert inputs.dtype == np.float32 and len(inputs) >= 1
            assert np.isfinite(inputs).all()
            shapes.add(inputs.shape[1:])
            assert np.array_equal(inputs, case.task.inputs(branch["preprocessing"], decoded))
            assert np.array_equal(case.task.view(inputs, "plain"), inputs)
            for view in branch["views"]:
                seen = case.task.view(inputs, view)
                assert seen.shape == inputs.shape
                assert np.array_equal(seen, case.task.view(inputs, view))
        assert len(shapes) == 1


def test_what_is_no_sample_is_refused_by_the_decoder(case: Case) -> None:
    with pytest.raises(BadInput):
        case.task.decode(b"<html>no sample</html>")


def test_golden_samples_are_the_same_and_can_be_read(case: Case) -> None:
    payloads = case.task.golden_payloads()
    assert len(payloads) >= 3 and payloads == case.task.golden_payloads()
    for payload in payloads:
        assert isinstance(case.task.judge(payload, "golden", Limits()), Accepted)


def test_an_answer_survives_being_stored(case: Case) -> None:
    for seed, (_, payload, truth) in enumerate(case.samples):
        decoded = case.task.decode(payload)
        rows = len(case.task.inputs(case.card["preprocessing"], decoded))
        outputs = case.made.outputs(rows, case.labels, seed)
        answer = case.task.answer(outputs, decoded.shape, case.card)
        stored = np.array(answer.reshape(-1).tolist(), np.float32)
        assert np.array_equal(case.task.unflattened(stored, case.labels), answer)
        assert answer.dtype == np.float32 and np.isfinite(answer).all()
        verdict = case.task.verdict(answer, truth, case.card)
        assert verdict.truth and verdict.said and 0 <= verdict.confidence <= 1


def test_a_perfect_model_is_called_perfect(case: Case) -> None:
    answers = case.perfect()
    figures = case.task.metrics(answers, case.card)
    assert figures["samples"] == len(case.samples)
    for name in case.task.headline_metrics:
        assert name in figures
    for objective in case.task.objectives:
        assert figures[case.task.figure_of(objective)] == pytest.approx(1.0)
        assert 1 <= case.task.support(answers, objective) <= 10 * len(case.samples)
    for answer, truth in zip(answers.answers, answers.truths, strict=True):
        assert case.task.verdict(answer, truth, case.card).right
    json.dumps(figures, allow_nan=False)
    json.dumps(case.card, allow_nan=False)


def random_answers(case: Case, seed: int) -> Answers:
    truths, answers = [], []
    for number, (_, payload, truth) in enumerate(case.samples):
        decoded = case.task.decode(payload)
        rows = len(case.task.inputs(case.card["preprocessing"], decoded))
        outputs = case.made.outputs(rows, case.labels, 100 * seed + number)
        answers.append(case.task.answer(outputs, decoded.shape, case.card))
        truths.append(truth)
    return Answers(case.labels, answers, truths)


def test_a_report_can_be_made_of_any_figures(case: Case) -> None:
    summary = {"labels": case.ask().summary["labels"], "splits": {"train": 200, "test": 4}}
    for answers in (case.perfect(), random_answers(case, 1), random_answers(case, 2)):
        figures = case.task.metrics(answers, case.card)
        json.dumps(figures, allow_nan=False)
        findings = case.task.findings(figures, case.card, summary)
        assert findings and all(one.text and one.kind for one in findings)
        for plot in case.task.plots(figures, case.card):
            ElementTree.fromstring(f"<div>{plot.svg}</div>")
            assert plot.title and plot.explanation
        table = case.task.class_table(figures, case.card, summary["labels"])
        assert table is not None
        assert [row[0] for row in table.rows] == list(case.labels)
        assert all(len(row) == len(table.heads) for row in table.rows)


def test_a_report_speaks_of_the_task_s_own_samples(case: Case) -> None:
    summary = {"labels": case.ask().summary["labels"], "splits": {"train": 200, "test": 4}}
    figures = case.task.metrics(random_answers(case, 1), case.card)
    said = " ".join(
        [one.text for one in case.task.findings(figures, case.card, summary)]
        + [f"{plot.explanation} {plot.svg}" for plot in case.task.plots(figures, case.card)]
    )
    assert case.task.sample_word in said
    others = {task(name).sample_word for name in task_names()} - {case.task.sample_word}
    assert not [word for word in others if re.search(rf"\b{word}s?\b", said)]


def test_a_thumbnail_is_a_small_jpeg(case: Case) -> None:
    for _, payload, truth in case.samples:
        answer = case.made.perfect(truth, case.labels)
        for drawn in ((), (truth, answer, case.card)):
            jpeg = case.task.thumbnail(payload, case.task.thumbnail_side, *drawn)
            with Image.open(io.BytesIO(jpeg)) as picture:
                assert picture.format == "JPEG"
                assert max(picture.size) <= case.task.thumbnail_side


def test_the_service_s_response_is_json_and_equals_itself(case: Case) -> None:
    parameters = case.task.parity_request(case.card)
    for seed in range(3):
        answers = random_answers(case, seed)
        for answer in answers.answers:
            for asked in ({}, parameters):
                response = case.task.response(answer, case.card, asked)
                assert isinstance(response["results"], list)
                again = json.loads(json.dumps(response, allow_nan=False))
                assert case.task.difference(response, again) == 0.0
    perfect = case.perfect().answers
    one, other = (case.task.response(perfect[n], case.card, parameters) for n in (0, 1))
    assert case.task.difference(one, other) > 1e-3


@pytest.mark.parametrize("minutes", [1, 5, 30, 240])
@pytest.mark.parametrize("gpus", [0, 1])
def test_a_plan_is_fixed_work_in_plain_json(case: Case, minutes: float, gpus: int) -> None:
    ask = case.ask(minutes, gpus)
    planned = case.task.plan(ask)
    assert planned.branches and ask.reasons and all(ask.reasons)
    assert planned == case.task.plan(case.ask(minutes, gpus))
    assert len({branch["key"] for branch in planned.branches}) == len(planned.branches)
    assert planned.decode_seconds > 0 and planned.folds >= 0
    for branch in planned.branches:
        assert KEYS - {"gpus"} <= set(branch), KEYS - set(branch)
        assert json.loads(json.dumps(branch)) == branch
        assert branch["views"][0] == "plain" and set(branch["views"]) <= set(case.task.views)
        assert branch["seconds"] > 0 and branch["prepare_seconds"] >= 0
        assert math.isfinite(branch["seconds"])
        assert not branch["feature_key"] or branch["backbone"] in ask.cards


def test_more_minutes_never_plan_for_less(case: Case) -> None:
    def work(minutes: float) -> float:
        return sum(
            branch["prepare_seconds"] + branch["seconds"]
            for branch in case.task.plan(case.ask(minutes)).branches
        )

    times = [work(minutes) for minutes in (1, 3, 8, 30, 120)]
    assert times == sorted(times)
