"""The report as JSON and as a page that needs nothing else."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchard import approving
from orchard import bundle as bundles
from orchard.blobs import Blobs, SegmentWriter
from orchard.catalog.connection import Documents
from orchard.evaluation.comparison import Side, compare
from orchard.evaluation.predictions import Failures
from orchard.program import Step
from orchard.report import content, page
from orchard.report.doubts import Doubts
from orchard.settings import Settings
from orchard.tasks import Answers, task
from tests.small_build import COLOURS, OWNER, TASK, VERSION, picture, write_bundle

CHOSEN = task(TASK)
LABELS = tuple(sorted(COLOURS))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> bundles.Bundle:
    return write_bundle(tmp_path_factory.mktemp("bundle"), COLOURS)


def side(labels: tuple[str, ...] = LABELS, wrong: int = 3) -> Side:
    """40 answers of a model with these classes, some of them wrong."""
    truth = np.arange(40) % 4
    shown = truth.copy()
    shown[:wrong] = (shown[:wrong] + 1) % 4
    made = np.full((40, 4), 0.02, np.float32)
    made[np.arange(40), shown] = 0.94
    truths = [LABELS[index] for index in truth]
    return Side(Answers(labels, list(made[:, None]), truths), {"labels": list(labels)})


def figures(of: Side) -> dict[str, Any]:
    return CHOSEN.metrics(of.answers, of.card)


def row(number: int, **other: Any) -> dict[str, Any]:
    return {
        "sample_id": f"{number:064x}",
        "path": f"blue/{number}.jpg",
        "segment": "local/datasets/colours/segments/none.bin",
        "offset": 0,
        "length": 1,
        "truth": "blue",
        "label": "red",
        "confidence": 0.97,
        **other,
    }


def make(bundle: bundles.Bundle, tmp_path: Path, **other: Any) -> dict[str, Any]:
    build = {
        "_id": "ab" * 8,
        "owner": OWNER,
        "project": "colours <b>",
        "parameters": {"objective": "accuracy", "endpoint": "colours", "minutes": 5},
    }
    blobs = Blobs(f"file://{tmp_path}")
    no_documents: Documents = None  # type: ignore[assignment]
    step = Step("evaluate", build, -1, 1, Settings(), blobs, no_documents)
    given: dict[str, Any] = {
        "step": step,
        "plan": {"dataset": "colours", "version": VERSION, "task": TASK, "reasons": ["it fits"]},
        "version": {
            "summary": {
                "number": 3,
                "splits": {"train": 200, "test": 40},
                "labels": {label: {"train": 50, "test": 10} for label in LABELS},
                "refused": {"not_a_picture": 2},
                "near_duplicates_across_labels": [
                    {"group": "f" * 64, "labels": ["blue", "red"], "paths": ["b/1.jpg", "r/9.jpg"]}
                ],
            }
        },
        "bundle": bundle,
        "metrics": figures(side()),
        "comparison": None,
        "mistakes": [row(1), row(2)],
        "mistakes_in_all": 3,
        "doubts": Doubts(1, 240, (row(3, own_score=0.01, split="train"),)),
        "failures": Failures(1, ({"path": "a.jpg", "reason": "broken"},)),
        "selected": {
            "branch": "lite0",
            "title": "Lite0 · 224 px · squash",
            "reason": "Lite0 is best",
            "leaderboard": [
                {
                    "branch": "lite0",
                    "title": "Lite0 · 224 px · squash",
                    "score": 0.925,
                    "standard_error": 0.02,
                    "log_loss": 0.2512,
                    "parameters": 3_400_000,
                    "candidates": 64,
                    "winner": True,
                }
            ],
        },
        **other,
    }
    return content.build(**given)


class Page(HTMLParser):
    """What a browser would load, and the text it would show."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        assert tag not in ("script", "link", "iframe")

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_json_holds_everything_and_is_json(bundle: bundles.Bundle, tmp_path: Path) -> None:
    report = make(bundle, tmp_path)
    assert json.loads(content.text(report)) == report
    assert report["figures"]["accuracy"] == 37 / 40
    assert report["figures"]["test_samples"] == 40
    assert report["mistakes_in_all"] == 3
    assert report["headline"] == "Accuracy 0.925 on 40 test pictures"
    assert content.champion_facts(report) is None
    said = "\n".join(finding["text"] for finding in report["findings"])
    assert "Labels that look wrong to the model: 1 of 240" in said
    assert "could not be read: 1 picture of" in said
    assert "under two labels once" in said


def test_the_page_needs_nothing_else_and_escapes(bundle: bundles.Bundle, tmp_path: Path) -> None:
    report = make(bundle, tmp_path)
    html = page.render(report, {f"{1:064x}": "data:image/jpeg;base64,AAAA"})
    seen = Page(html)
    assert all(address.startswith("data:") for address in seen.addresses)
    assert not re.search(r"url\(|@import", html)
    assert "colours <b>" in seen.text
    for wanted in (
        bundle.hash,
        VERSION,
        "Lite0 · 224 px · squash",
        "train 200, test 40",
        "97 % sure",
    ):
        assert wanted in seen.text, wanted
    assert "r/9.jpg" in seen.text
    assert "no preview" in seen.text  # the second mistake has no picture
    assert html.count("<svg") >= 5


def test_without_mistakes_or_doubts_the_page_says_so(
    bundle: bundles.Bundle, tmp_path: Path
) -> None:
    metrics = figures(side(wrong=0))
    report = make(
        bundle,
        tmp_path,
        metrics=metrics,
        mistakes=[],
        mistakes_in_all=0,
        doubts=Doubts(0, 240),
        failures=Failures(0, ()),
    )
    seen = Page(page.render(report, {}))
    assert "every test picture is answered right" in seen.text
    assert "None of 240 labels" in seen.text


def test_the_champion_stands_beside(bundle: bundles.Bundle, tmp_path: Path) -> None:
    comparison = {"bundle": "f" * 16, **compare(CHOSEN, side(wrong=1), side(wrong=9))}
    report = make(bundle, tmp_path, comparison=comparison)
    facts = content.champion_facts(report)
    assert facts is not None
    assert facts["metrics"]["accuracy"] == 31 / 40
    assert facts["challenger_metrics"]["accuracy"] == 39 / 40
    assert (facts["gained"], facts["lost"]) == (8, 0)
    assert "more than chance" in " ".join(finding["text"] for finding in report["findings"])
    seen = Page(page.render(report, {}))
    assert "f" * 16 in seen.text
    assert "Against the model in service" in seen.text


def test_only_common_ground_is_compared_and_said(bundle: bundles.Bundle, tmp_path: Path) -> None:
    own, champion = side(), side((*LABELS[:3], "old"))
    comparison = {"bundle": "f" * 16, **compare(CHOSEN, own, champion)}
    report = make(bundle, tmp_path, comparison=comparison)
    assert "on the 30 whose class both know" in report["headline"]
    said = " ".join(finding["text"] for finding in report["findings"])
    assert "Only the new model knows “red”" in said
    assert "Only the champion knows “old”" in said
    assert "30 of 40" in Page(page.render(report, {})).text


def test_the_decision_rests_on_common_ground(bundle: bundles.Bundle, tmp_path: Path) -> None:
    own = side(wrong=1)  # its one mistake, in class 0, is common ground
    champion = side((*LABELS[:3], "old"), wrong=1)
    comparison = {"bundle": "f" * 16, **compare(CHOSEN, own, champion)}
    report = make(bundle, tmp_path, metrics=figures(own), comparison=comparison)
    facts = {"metrics": report["figures"], "champion": content.champion_facts(report)}
    assert facts["metrics"]["accuracy"] > facts["champion"]["metrics"]["accuracy"]
    parameters = {"task": TASK, "objective": "accuracy", "approval": "champion", "margin": 0.0}
    decision = approving.decide(parameters, facts)
    assert decision is not None
    assert not decision.approved  # on the pictures both can know they are equally good


def test_without_common_ground_nothing_replaces_the_champion(
    bundle: bundles.Bundle, tmp_path: Path
) -> None:
    own, other = side(), side(("p", "q", "r", "s"))
    report = make(bundle, tmp_path, comparison={"bundle": "f" * 16, **compare(CHOSEN, own, other)})
    facts = {"metrics": report["figures"], "champion": content.champion_facts(report)}
    parameters = {"task": TASK, "objective": "accuracy", "approval": "champion", "margin": 0.0}
    decision = approving.decide(parameters, facts)
    assert decision is not None
    assert not decision.approved
    assert "no class in common" in decision.reason
    asked = {**parameters, "project": "colours", "endpoint": "colours", "wait_hours": 1}
    assert "no class in common" in approving.question(asked, facts, "")[1]
    assert "no class in common" in Page(page.render(report, {})).text


def test_thumbnails_of_what_can_be_read(bundle: bundles.Bundle, tmp_path: Path) -> None:
    blobs = Blobs(f"file://{tmp_path}")
    rows = []
    with SegmentWriter(blobs, OWNER, "colours", 1 << 20) as writer:
        writer.add(picture(COLOURS["red"], 1, (400, 300)), 1)
        writer.add(b"broken", 2)
        for tag, place in writer.close():
            rows.append(
                row(int(str(tag)), segment=place.segment, offset=place.offset, length=place.length)
            )
    found = page.thumbnails(blobs, CHOSEN, bundle, rows)
    assert list(found) == [f"{1:064x}"]
    assert found[f"{1:064x}"].startswith("data:image/jpeg;base64,")
