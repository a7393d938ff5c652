"""From predictions to figures and report: what the evaluate step does after Spark."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchard import tracking
from orchard.blobs import keys
from orchard.evaluation import predictions
from orchard.evaluation.comparison import Side, compare
from orchard.inference import fetch
from orchard.program import Step
from orchard.report import content, doubts, page
from orchard.tasks import task as task_of

logger = logging.getLogger(__name__)

MOST_MISTAKES = 40


def evaluate(
    step: Step,
    plan: Mapping[str, Any],
    version: Mapping[str, Any],
    folder: Path,
    winner: str,
    champion: str | None,
) -> dict[str, Any]:
    """Measure the winner (and the champion) by the predictions, write the report, return facts.

    Args:
        folder: where copies of the bundles lie.
    """
    chosen = task_of(str(plan["task"]))
    base = keys.evaluation(step.owner, step.build_id)
    parts = f"{base}/predictions"
    bundle = fetch(step.blobs, step.owner, winner, folder)
    answers = predictions.load_answers(step.blobs, parts, winner, chosen, bundle.labels)
    metrics = chosen.metrics(answers, bundle.card)
    comparison = None
    if champion is not None:
        other = fetch(step.blobs, step.owner, champion, folder)
        before = predictions.load_answers(step.blobs, parts, champion, chosen, other.labels)
        both = Side(answers, bundle.card), Side(before, other.card)
        comparison = {"bundle": champion, **compare(chosen, *both)}
    mistakes = predictions.mistakes(step.blobs, parts, winner, MOST_MISTAKES)
    failures = predictions.failures(step.blobs, parts, winner)
    for example in failures.examples:
        logger.info("%s could not be read: %s", example["path"], example["reason"])
    found = doubts.collect(step, plan, chosen, answers, winner)
    report = content.build(
        step=step,
        plan=plan,
        version=version,
        bundle=bundle,
        metrics=metrics,
        comparison=comparison,
        mistakes=mistakes,
        mistakes_in_all=predictions.wrong_count(step.blobs, parts, winner),
        doubts=found,
        failures=failures,
        selected=step.result_of("select"),
    )
    pictures = page.thumbnails(step.blobs, chosen, bundle, [*mistakes, *found.rows])
    html = page.render(report, pictures)
    step.blobs.write_json(f"{base}/report.json", report)
    step.blobs.write(f"{base}/report.html", html.encode())
    logger.info("%s", report["headline"])
    for finding in report["findings"]:
        logger.info("%s: %s", finding["kind"], finding["text"])
    addresses = _track(step, report, html)
    return {
        "metrics": report["figures"],
        **report["figures"],
        "champion": content.champion_facts(report),
        "bundle": winner,
        "report": f"{base}/report.html",
        "mistakes": int(report["mistakes_in_all"]),
        "suspicious_labels": int(report["suspicious_in_all"]),
        **addresses,
        "summary": report["headline"],
    }


def _track(step: Step, report: Mapping[str, Any], html: str) -> dict[str, str]:
    """The report and the figures into the build's run in MLflow. Returns its addresses."""
    run_id = tracking.parent_run(step)
    tracking.log_artifact_bytes(run_id, "evaluation/report.html", html.encode())
    tracking.log_artifact_bytes(run_id, "evaluation/report.json", content.text(report).encode())
    tracking.log_metrics(run_id, {f"test_{k}": v for k, v in report["figures"].items()})
    return {
        "mlflow_run_id": run_id,
        "tracking_url": tracking.run_url(run_id),
        "report_url": tracking.artifact_url(run_id, "evaluation/report.html"),
    }
