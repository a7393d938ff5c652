"""What a classifier's figures mean, in words for people who know their samples and not statistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchard.tasks.base import Finding
from orchard.tasks.weaknesses import mixed_up, weak_classes
from orchard.tasks.wording import counted, names, percent, sentence

FEW_TEST_SAMPLES = 10
WEAK_RECALL = 0.8
STRONG_F1 = 0.9
HONEST_ERROR = 0.05
MOST_MIXED = 3
LEAST_MIXED = 2


def findings(
    metrics: Mapping[str, Any], card: Mapping[str, Any], summary: Mapping[str, Any], word: str
) -> list[Finding]:
    """Sentences of the report, the most important first.

    Args:
        summary: of the data set version. word: what a person calls a sample ("picture").
    """
    return [
        _overall(metrics, word),
        *_strong(metrics),
        *_weak(metrics, word),
        *_mixed_up(metrics, word),
        *_confidence(metrics),
        *_not_sure(metrics, card),
        *_thin(metrics, word),
        *_outside(metrics, word),
        *[Finding("advice", sentence(text)) for text in summary.get("advice", [])],
    ]


def _overall(metrics: Mapping[str, Any], word: str) -> Finding:
    count = metrics["samples"]
    right = round(metrics["accuracy"] * count)
    low, high = metrics["accuracy_interval"]
    kind = "good" if metrics["accuracy"] >= STRONG_F1 else "problem"
    return Finding(
        kind,
        f"Of {counted(count, f'test {word}')} that the model had never seen, {right} "
        f"{'is' if right == 1 else 'are'} answered right "
        f"({percent(metrics['accuracy'])}). With other {word}s of the same kind expect "
        f"{percent(low)} to {percent(high)}.",
    )


def _strong(metrics: Mapping[str, Any]) -> list[Finding]:
    rows = metrics["per_class"]
    strong = [
        label
        for label, row in rows.items()
        if row["support"] and row["f1"] >= STRONG_F1 and row["recall"] >= STRONG_F1
    ]
    if not strong:
        return []
    if len(strong) == len(rows):
        return [Finding("good", f"All {len(rows)} classes are recognised well.")]
    strong.sort(key=lambda label: (-rows[label]["f1"], label))
    return [Finding("good", f"Recognised well: {names(strong)}.")]


def _weak(metrics: Mapping[str, Any], word: str) -> list[Finding]:
    return weak_classes(
        metrics["per_class"],
        WEAK_RECALL,
        MOST_MIXED,
        lambda label, row: (
            f"“{label}” is found in only {row['hits']} of its "
            f"{counted(row['support'], f'test {word}')}."
        ),
    )


def _mixed_up(metrics: Mapping[str, Any], word: str) -> list[Finding]:
    return [
        Finding(
            "advice",
            f"The model mixes up “{pair.truth}” with “{pair.answer}”: {pair.wrong} of "
            f"{pair.support} {word}s of “{pair.truth}” were answered “{pair.answer}”. Look at them "
            f"below: where the label is right, add {word}s of both classes that show what tells "
            "them apart.",
        )
        for pair in mixed_up(metrics["confusion"], MOST_MIXED, LEAST_MIXED)
    ]


def _confidence(metrics: Mapping[str, Any]) -> list[Finding]:
    error = metrics["expected_calibration_error"]
    if metrics["samples"] < 3 * FEW_TEST_SAMPLES:
        return []
    if error <= HONEST_ERROR:
        return [
            Finding(
                "good",
                "Its confidence is honest: where it says 90 %, it is right about 9 times of 10.",
            )
        ]
    bins = [row for row in metrics["reliability"] if row["count"]]
    claimed = sum(row["confidence"] * row["count"] for row in bins) / metrics["samples"]
    side = "too sure of itself" if claimed > metrics["accuracy"] else "too modest"
    return [
        Finding(
            "problem",
            f"It is {side}: on average it claims {percent(claimed)} and is right in "
            f"{percent(metrics['accuracy'])} of cases.",
        )
    ]


def _not_sure(metrics: Mapping[str, Any], card: Mapping[str, Any]) -> list[Finding]:
    limit = float(card["thresholds"]["not_sure"])
    curve = metrics["answered"]
    index = min(range(len(curve["thresholds"])), key=lambda i: abs(curve["thresholds"][i] - limit))
    share, right = curve["share"][index], curve["accuracy"][index]
    if right is None or share >= 1:
        return []
    return [
        Finding(
            "advice",
            f"Below a confidence of {percent(limit)} the service adds “not sure”: about "
            f"{percent(1 - share)} of the answers. Of the others {percent(right)} are right. Let a "
            "person look at those that are not sure, and add them to the data.",
        )
    ]


def _thin(metrics: Mapping[str, Any], word: str) -> list[Finding]:
    rows = metrics["per_class"]
    thin = [label for label, row in rows.items() if 0 < row["support"] < FEW_TEST_SAMPLES]
    found = []
    if metrics["missing_classes"]:
        found.append(
            Finding(
                "problem",
                f"There is no test {word} of {names(metrics['missing_classes'])}: how well it is "
                f"recognised is unknown. Add {word}s of it.",
            )
        )
    if thin:
        found.append(
            Finding(
                "advice",
                f"Fewer than {FEW_TEST_SAMPLES} test {word}s: {names(thin)}. Take the figures of "
                f"such a class as a rough guess; more {word}s make them firm.",
            )
        )
    return found


def _outside(metrics: Mapping[str, Any], word: str) -> list[Finding]:
    if not metrics["outside"]:
        return []
    return [
        Finding(
            "problem",
            "Not counted, because their label is one that the model never learnt: "
            f"{counted(metrics['outside'], f'test {word}')}. Add training {word}s of that class.",
        )
    ]
