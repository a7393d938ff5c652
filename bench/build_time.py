"""Seconds and test accuracy of a build from pictures, for several search budgets.

What is timed is the work of a build on the training pictures, with nothing cached: decoding and
features of every branch of the plan on all cores, and the searches one after the other on one
thread (a build runs them side by side). Spark's and Airflow's own time is not in it: see
`bench.main_job` for a whole run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bench.accuracy import answers, plan_of, problem_of, search_branch
from bench.pictures import BATCH, PictureSet, inputs
from orchard.steps.select import choose, contender
from orchard.tasks import task
from trainers.backbones import backbones, get_backbone
from trainers.backbones.feature_graph import feature_graph
from trainers.engine import set_threads


@dataclass(frozen=True)
class Build:
    """What a budget gave.

    Attributes:
        minutes: the budget that the plan was made for.
        feature_seconds, search_seconds: measured.
        test_accuracy: of the branch that validation chose.
    """

    minutes: float
    feature_seconds: float
    search_seconds: float
    test_accuracy: float
    branch: str

    @property
    def seconds(self) -> float:
        """All that was timed."""
        return self.feature_seconds + self.search_seconds


def branch_features(
    pictures: PictureSet, rows: NDArray[np.int64], branch: Mapping[str, Any], threads: int
) -> NDArray[np.float16]:
    """(V, n, D) features of some pictures in the branch's views."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        feature_graph(get_backbone(branch["backbone"])), options, providers=["CPUExecutionProvider"]
    )

    def compute(part: NDArray[np.int64]) -> list[NDArray[np.float16]]:
        plain = np.stack([inputs(pictures, int(r), branch["size"], branch["fit"]) for r in part])
        views = {"plain": plain, "mirror": plain[..., ::-1]}
        return [
            session.run(None, {"input": np.ascontiguousarray(views[view])})[0].astype(np.float16)
            for view in branch["views"]
        ]

    parts = [rows[start : start + BATCH] for start in range(0, len(rows), BATCH)]
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(compute, parts))
    return np.stack([np.concatenate(view) for view in zip(*found, strict=True)])


def build(
    pictures: PictureSet,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    minutes: float,
    threads: int,
    seed: int = 0,
) -> Build:
    """Train on one part, ask the other once."""
    plan = plan_of(pictures, minutes)
    problem = problem_of(pictures.truth[train], len(pictures.labels), seed)
    everything = np.arange(len(train))
    spent = {"features": 0.0, "search": 0.0}
    tried, tests = [], {}
    set_threads(1)
    for branch in plan["branches"]:
        began = time.monotonic()
        vectors = branch_features(pictures, train, branch, threads)
        spent["features"] += time.monotonic() - began
        began = time.monotonic()
        with threadpool_limits(1):
            found = search_branch(
                branch, vectors, everything, problem, branch["work"], plan["seed"]
            )
        spent["search"] += time.monotonic() - began
        asked = branch_features(pictures, test, {**branch, "views": ["plain"]}, threads)[0]
        said = answers(found.head, asked).argmax(1)
        tests[branch["key"]] = float((said == pictures.truth[test]).mean())
        facts = {
            "branch": branch["key"],
            "bundle": branch["key"],
            "parameters": backbones()[branch["backbone"]].parameters,
            "validation": found.measure.figures,
            "support": len(train),
        }
        tried.append(contender(task("image_classification"), branch, facts, "accuracy"))
    winner, _ = choose(tried)
    return Build(minutes, spent["features"], spent["search"], tests[winner.branch], winner.branch)
