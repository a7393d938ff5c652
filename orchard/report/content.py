"""Everything a report says, as one JSON value; the page is drawn from it alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from orchard.bundle import Bundle
from orchard.evaluation.predictions import Failures
from orchard.program import Step
from orchard.report.doubts import Doubts
from orchard.tasks import Finding
from orchard.tasks import task as task_of

FORMAT = 1
_COMPARED = ("bundle", "common_samples", "all_samples", "only_challenger", "only_champion")

Json = dict[str, Any]


def build(
    *,
    step: Step,
    plan: Mapping[str, Any],
    version: Mapping[str, Any],
    bundle: Bundle,
    metrics: Mapping[str, Any],
    comparison: Mapping[str, Any] | None,
    mistakes: Sequence[Json],
    mistakes_in_all: int,
    doubts: Doubts,
    failures: Failures,
    selected: Mapping[str, Any],
) -> Json:
    """The report as JSON.

    Args:
        version: the document of the data set version. comparison: from `comparison.compare`, with
            the champion's hash as `bundle`. mistakes: wrong answers, the worst first, and
            how many there are in all.
        selected: facts of the select step.
    """
    task = task_of(bundle.task)
    summary = version["summary"]
    figures: dict[str, Any] = {name: metrics[name] for name in task.headline_metrics}
    figures["test_samples"] = metrics["samples"]
    compared = None if comparison is None else _compared(comparison, task.headline_metrics)
    findings = [
        *task.findings(metrics, bundle.card, summary),
        *_of_champion(compared, task.sample_word),
        *_of_data(doubts, failures, summary, task.sample_word),
    ]
    return {
        "format": FORMAT,
        "project": step.project,
        "task": bundle.task,
        "task_title": task.title,
        "sample_word": task.sample_word,
        "build_id": step.build_id,
        "objective": step.parameters["objective"],
        "endpoint": step.parameters["endpoint"],
        "headline": _headline(figures, compared, task.sample_word),
        "figures": figures,
        "figure_words": {
            name: task.figure_words.get(name, name.replace("_", " ")) for name in figures
        },
        "findings": [asdict(finding) for finding in findings],
        "metrics": dict(metrics),
        "champion": compared,
        "mistakes_in_all": mistakes_in_all,
        "mistakes": [_shown(row) for row in mistakes],
        "suspicious_in_all": doubts.count,
        "labels_examined": doubts.examined,
        "suspicious": list(doubts.rows),
        "near_duplicates_across_labels": list(summary.get("near_duplicates_across_labels", [])),
        "not_readable": {"count": failures.count, "examples": list(failures.examples)},
        "data": {
            "dataset": plan["dataset"],
            "version": plan["version"],
            "number": summary.get("number"),
            "splits": summary["splits"],
            "labels": summary["labels"],
            "refused": summary.get("refused", {}),
        },
        "model": {
            "bundle": bundle.hash,
            "labels": list(bundle.labels),
            "thresholds": bundle.card["thresholds"],
            "temperature": bundle.card["temperature"],
            "preprocessing": bundle.preprocessing,
            "backbone": bundle.card["backbone"],
            "winner": bundle.card["winner"],
            "code_version": bundle.card["code_version"],
        },
        "search": {
            "branch": selected["branch"],
            "title": selected.get("title", selected["branch"]),
            "reason": selected["reason"],
            "leaderboard": selected["leaderboard"],
            "reproducible": selected.get("reproducible", True),
            "plan_reasons": list(plan.get("reasons", [])),
            "minutes": step.parameters.get("minutes"),
        },
    }


def _shown(row: Json) -> Json:
    """A bad case without what only its drawing needs."""
    return {name: value for name, value in row.items() if name not in ("annotation", "answer")}


def text(report: Mapping[str, Any]) -> str:
    """The report as JSON text."""
    return json.dumps(report, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False)


def champion_facts(report: Mapping[str, Any]) -> Json | None:
    """What the approval needs of the champion: `metrics` on common ground, and the challenger's there.

    Both are None where champion and challenger have no class in common; the whole is None where
    there is no champion to compare with.
    """
    compared = report["champion"]
    if compared is None:
        return None
    return {
        "bundle": compared["bundle"],
        "metrics": compared["champion"],
        "challenger_metrics": compared["challenger"],
        **(compared["champion"] or {}),
        **{name: compared[name] for name in ("common_samples", "gained", "lost", "p_value")},
    }


def _compared(comparison: Mapping[str, Any], names: Sequence[str]) -> Json:
    short: Json = {name: comparison[name] for name in (*_COMPARED, "gained", "lost", "p_value")}
    for who in ("challenger", "champion"):
        every = comparison[who]
        short[who] = None if every is None else {name: every[name] for name in names}
    return short


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def _figure(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"


def _headline(figures: Mapping[str, Any], compared: Json | None, word: str) -> str:
    first, value = next(iter(figures.items()))
    said = f"{first.replace('_', ' ')} {_figure(value)} on {_counted(figures['test_samples'], f'test {word}')}"
    if compared is not None and compared["champion"] is not None:
        said += f", the champion {_figure(compared['champion'][first])}"
        if compared["common_samples"] != compared["all_samples"]:
            said += f" on the {compared['common_samples']} whose class both know"
    return said[:1].upper() + said[1:]


def _of_champion(compared: Json | None, word: str) -> list[Finding]:
    if compared is None:
        return []
    found = []
    for key, who in (("only_challenger", "the new model"), ("only_champion", "the champion")):
        if compared[key]:
            names = ", ".join(f"“{name}”" for name in compared[key][:5])
            found.append(
                Finding(
                    "problem",
                    f"Only {who} knows {names}. Both are compared on the "
                    f"{compared['common_samples']} of {compared['all_samples']} test {word}s whose "
                    "class both know.",
                )
            )
    if compared["champion"] is None:
        return [
            *found,
            Finding(
                "problem", "The new model and the champion have no class in common to compare."
            ),
        ]
    gained, lost = compared["gained"], compared["lost"]
    if gained == lost == 0:
        text = "The new model and the champion in service are right and wrong on the same"
        return [*found, Finding("good", f"{text} test {word}s.")]
    sure = compared["p_value"] < 0.05
    found.append(
        Finding(
            "good" if gained >= lost else "problem",
            f"Against the champion in service: right only now {_counted(gained, word)}, right only "
            f"before {_counted(lost, word)}. "
            + (
                "That is more than chance explains."
                if sure
                else "So small a difference may be chance."
            ),
        )
    )
    return found


def _of_data(
    doubts: Doubts, failures: Failures, summary: Mapping[str, Any], word: str
) -> list[Finding]:
    found = []
    if doubts.count:
        found.append(
            Finding(
                "advice",
                f"Labels that look wrong to the model: {doubts.count} of {doubts.examined}. Look at "
                "them below and correct those that are; this often helps more than new "
                f"{word}s.",
            )
        )
    across = summary.get("near_duplicates_across_labels", [])
    if across:
        found.append(
            Finding(
                "advice",
                f"Nearly the same {word} lies under two labels "
                f"{'once' if len(across) == 1 else f'{len(across)} times'}. See below which.",
            )
        )
    if failures.count:
        found.append(
            Finding(
                "problem",
                f"Not counted, because they could not be read: {_counted(failures.count, word)} "
                "of the test split.",
            )
        )
    return found
