"""The program `python -m trainers trial --build ID --index N`: one branch of a plan.

It knows no task: the branch is trained by `trainers.<task>.trial`, whose `run` gives back a
`TrialResult`. Everything it leaves is written whole or not at all, and a repeated trial of the same
plan on the same features writes the same bundle.
"""

from __future__ import annotations

import gc
import importlib
import json
import logging
import resource
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet as parquet
from threadpoolctl import threadpool_limits

from orchard import bundle as bundles
from orchard import program, tracking
from orchard.blobs import Blobs, keys
from orchard.errors import BadInput
from orchard.program import Step
from orchard.tasks import task as task_of
from trainers.engine import seed_everything, set_threads
from trainers.features import Features, no_features, read_features
from trainers.result import TrialResult
from trainers.samples import Samples, read_samples

logger = logging.getLogger(__name__)

SAFETY_FACTOR = 20.0
LEAST_SAFETY_SECONDS = 600.0
TRACKED_CANDIDATES = 5
LOGGED_CANDIDATES = 5
CHECKPOINT = "checkpoint/state.npz"


def body(step: Step) -> dict[str, Any]:
    """Train the branch `step.index` of the plan; the facts of the trial."""
    started = time.monotonic()
    plan = step.blobs.read_json(keys.plan(step.owner, step.build_id))
    branch = _branch(plan, step.index)
    # An engine that is away is better found out before the work than after it.
    parent = tracking.parent_run(step)
    threads = step.settings.training_threads
    set_threads(threads)
    seed_everything(int(plan["seed"]))
    trainer = importlib.import_module(f"trainers.{plan['task']}.trial")
    with tempfile.TemporaryDirectory(prefix="trial-") as temporary, threadpool_limits(threads):
        folder = Path(temporary)
        samples, features = _data(step, plan, branch, trainer.feature_width(branch), folder)
        result: TrialResult = trainer.run(
            branch,
            plan,
            samples,
            features,
            step.blobs,
            checkpoint_key=f"{keys.trial(step.owner, step.build_id, branch['key'])}/{CHECKPOINT}",
            threads=threads,
            folder=folder,
            safety_seconds=max(LEAST_SAFETY_SECONDS, SAFETY_FACTOR * float(branch["seconds"])),
        )
        bundle = _write_bundle(step, plan, branch, result, folder)
        del features
        gc.collect()
        facts = _facts(plan, branch, result, bundle, time.monotonic() - started)
        _leave(step, branch, result, bundle, folder)
    _log_leaderboard(result)
    run_id = tracking.log_trial(
        step, parent, branch, facts, [vars(curve) for curve in result.curves[:TRACKED_CANDIDATES]]
    )
    return {**facts, "mlflow_run_id": run_id, "tracking_url": tracking.run_url(run_id)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of `python -m trainers trial`; its exit code."""
    return program.run("trial", body, arguments)


def _branch(plan: Mapping[str, Any], index: int) -> dict[str, Any]:
    branches = plan["branches"]
    if not 0 <= index < len(branches):
        raise BadInput(
            "The plan has no such branch",
            value=index,
            way_out=f"Choose an index from 0 to {len(branches) - 1}",
        )
    return dict(branches[index])


def _data(
    step: Step, plan: Mapping[str, Any], branch: Mapping[str, Any], width: int, folder: Path
) -> tuple[Samples, Features]:
    started = time.monotonic()
    samples = read_samples(
        step.blobs, step.owner, str(plan["dataset"]), str(plan["version"]), int(plan["folds"])
    )
    if not branch["feature_key"]:
        logger.info(
            "%s: %d samples, learnt from themselves", branch["title"], len(samples.sample_ids)
        )
        return samples, no_features(len(samples.sample_ids), branch["views"])
    features = read_features(
        step.blobs,
        step.owner,
        str(branch["feature_key"]),
        samples.sample_ids,
        branch["views"],
        width,
        folder,
    )
    logger.info(
        "%s: %d samples with %d features each, read in %.1f s",
        branch["title"],
        features.count,
        features.width,
        time.monotonic() - started,
    )
    return samples.take(features.rows), features


def _write_bundle(
    step: Step,
    plan: Mapping[str, Any],
    branch: Mapping[str, Any],
    result: TrialResult,
    folder: Path,
) -> bundles.Bundle:
    card = {
        "task": plan["task"],
        "labels": list(plan["labels"]),
        "preprocessing": result.preprocessing,
        "backbone": branch["backbone"],
        "thresholds": result.thresholds,
        "temperature": result.temperature,
        "data": {"dataset": plan["dataset"], "version": plan["version"]},
        "validation": result.validation,
        "objective": plan["objective"],
        "figure": plan["figure"],
        "code_version": step.settings.code_version,
        "winner": {**result.winner, "branch": branch["key"], "seed": plan["seed"]},
    }
    golden = bundles.make_golden(result.golden_payloads, result.preprocess, result.predict)
    files = {
        bundles.MODEL: result.model,
        bundles.PARAMETERS: result.parameters,
        result.network.name: result.network,
    }
    return bundles.write(folder / "bundle", card, files, golden)


def _facts(
    plan: Mapping[str, Any],
    branch: Mapping[str, Any],
    result: TrialResult,
    bundle: bundles.Bundle,
    seconds: float,
) -> dict[str, Any]:
    best = result.curves[0]
    stopped = sum(curve.stopped_early for curve in result.curves)
    size = sum(path.stat().st_size for path in bundle.folder.iterdir())
    reproducible = not result.stopped_by_clock
    figure = str(plan["figure"])
    support = task_of(str(plan["task"])).support(result.answers, str(plan["objective"]))
    return {
        "branch": branch["key"],
        "title": branch["title"],
        "bundle": bundle.hash,
        "parameters": result.parameter_count,
        "megabytes": round(size / 1e6, 2),
        "validation": result.validation,
        "support": support,
        "candidates": len(result.curves),
        "stopped_early": stopped,
        "stop_reason": best.reason,
        "winner": result.winner,
        "reproducible": reproducible,
        "proof": result.proof,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "seconds": round(seconds, 2),
        "summary": (
            f"{branch['title']}: {figure.replace('_', ' ')} {result.validation[figure]:.3f} on validation, "
            f"{len(result.curves)} candidates, {stopped} stopped early, bundle {bundle.hash}"
            + ("" if reproducible else "; not reproducible, the clock stopped it")
        ),
    }


def _leave(
    step: Step,
    branch: Mapping[str, Any],
    result: TrialResult,
    bundle: bundles.Bundle,
    folder: Path,
) -> None:
    """Write the trial's folder into the store; the bundle comes last."""
    base = keys.trial(step.owner, step.build_id, str(branch["key"]))
    blobs: Blobs = step.blobs
    blobs.write_json(f"{base}/leaderboard.json", [curve.to_json() for curve in result.curves])
    blobs.write_json(
        f"{base}/curves.json", {str(curve.candidate): curve.points for curve in result.curves}
    )
    answers = result.answers
    table = pyarrow.table(
        {
            "sample_id": pyarrow.array(answers.sample_ids, pyarrow.string()),
            "annotation": pyarrow.array(
                [json.dumps(truth, ensure_ascii=False) for truth in answers.truths],
                pyarrow.string(),
            ),
            "answer": pyarrow.array(
                [answer.astype(np.float32).reshape(-1) for answer in answers.answers],
                pyarrow.list_(pyarrow.float32()),
            ),
        },
        metadata={"labels": json.dumps(list(answers.labels), ensure_ascii=False)},
    )
    with blobs.writing(f"{base}/out_of_fold.parquet") as file:
        parquet.write_table(table, file, compression="zstd")
    blobs.delete(f"{base}/bundle")
    blobs.upload_folder(bundle.folder, f"{base}/bundle")
    blobs.delete(f"{base}/{CHECKPOINT}")


def _log_leaderboard(result: TrialResult) -> None:
    for curve in result.curves[:LOGGED_CANDIDATES]:
        logger.info(
            "%d. candidate %d: score %.4f at epoch %d%s — %s",
            curve.rank,
            curve.candidate,
            curve.score,
            curve.best_epoch,
            ", in the winner" if curve.member else "",
            curve.reason,
        )
