"""Whether a model may go into service: by a floor, against the champion, or the question to a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchard.tasks import task as task_of

NO_COMMON_GROUND = (
    "the new model and the champion have no class in common, so that neither can be called better"
)

NOTHING = 0.01
NOTHING_LEARNT = (
    "**This model has learnt nothing**: its first figure is next to zero. Reject it; bring more "
    "samples, or look whether the labels fit them."
)


@dataclass(frozen=True)
class Decision:
    """What was decided without a person, and why in one sentence."""

    approved: bool
    reason: str


def decide(parameters: Mapping[str, Any], facts: Mapping[str, Any]) -> Decision | None:
    """The automatic decision, or None where a person has to be asked.

    Args:
        parameters: the build's `task`, `approval`, `objective`, `floor` and `margin`.
        facts: what evaluate found: `metrics` and `champion` (None, or with `metrics`, and
            `challenger_metrics` where the two are compared on a part of the test split only; both
            None where that part is empty).
    """
    task = task_of(str(parameters["task"]))
    measured = task.figure_of(str(parameters["objective"]))
    name = measured.replace("_", " ")
    if parameters["approval"] == "person":
        return None
    if facts["metrics"][measured] is None:
        return Decision(False, f"{name} is unknown: no test {task.sample_word} has what it counts")
    figure = float(facts["metrics"][measured])
    if parameters["approval"] == "floor":
        floor = float(parameters["floor"])
        if figure >= floor:
            return Decision(True, f"{name} {figure:.3f} reaches the floor of {floor:.3f}")
        return Decision(False, f"{name} {figure:.3f} is below the floor of {floor:.3f}")
    if parameters["approval"] == "champion":
        champion = facts.get("champion")
        if not champion:
            return Decision(True, "there is no other model in service to compare with")
        if champion["metrics"] is None:
            return Decision(False, NO_COMMON_GROUND)
        margin = float(parameters["margin"])
        figure = float(champion.get("challenger_metrics", facts["metrics"])[measured])
        best = float(champion["metrics"][measured])
        compared = (
            f"{name} {figure:.3f} against the champion's {best:.3f} on the same test {task.sample_word}s, "
            f"at least {margin:.3f} better is asked for"
        )
        return Decision(figure >= best + margin and figure > best, compared)
    return None


def question(
    parameters: Mapping[str, Any], facts: Mapping[str, Any], report_url: str
) -> tuple[str, str]:
    """Subject and Markdown body of the question to a person."""
    metrics = facts["metrics"]
    compared = facts.get("champion") or {}
    champion = compared.get("metrics") or {}
    rows = ["| on the test split | this model | champion |", "|---|---|---|"]
    for name, value in metrics.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            old = champion.get(name)
            rows.append(f"| {name.replace('_', ' ')} | {_figure(value)} | {_figure(old)} |")
    first = next((v for v in metrics.values() if isinstance(v, int | float)), None)
    body = "\n".join(
        [
            f"**{parameters['project']}** — a new model is ready for the endpoint "
            f"`{parameters['endpoint']}`.",
            "",
            *rows,
            "",
            *([NOTHING_LEARNT, ""] if first is None or first < NOTHING else []),
            *([f"Note: {NO_COMMON_GROUND}.", ""] if compared and not champion else []),
            f"[Read the report]({report_url})" if report_url else "",
            "",
            "*Approve* puts it into service. *Reject*, or no answer in "
            f"{parameters['wait_hours']:g} hours, keeps what is in service now.",
        ]
    )
    return f"Put the new model of {parameters['project']} into service?", body


def _figure(value: object) -> str:
    if value is None:
        return "—"
    return str(value) if isinstance(value, int) else f"{value:.3f}"
