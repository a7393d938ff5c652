"""Accuracy of the search against the best fixed recipe, on the same splits.

    python -m bench.accuracy clothing extrusion_profile --minutes 30 --splits 5

For each of the random 80/20 splits (stratified, seeds 0, 1, …) the branches that a plan of that many
minutes names are searched on the training part alone, the branch with the best validation is taken
as the step `select` does, and its head answers the test part. The peer is scikit-learn's logistic
regression on standardised pooled features of all six blocks of Lite0 at 320 pixels, squashed.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bench.pictures import PictureSet, features, picture_set
from orchard.planning import make
from orchard.steps.select import Contender, choose, contender
from orchard.tasks import task
from trainers.backbones import backbones, feature_layout
from trainers.backbones.store import backbone_facts
from trainers.classification.branch import Found, search
from trainers.classification.heads import Problem
from trainers.engine import set_threads
from trainers.features import Features
from trainers.head_weights import HeadWeights

logger = logging.getLogger(__name__)

FOLDS = 5
TEST_SHARE = 0.2
PEER = ("efficientnet-lite0", 320, "squash")


def plan_of(pictures: PictureSet, minutes: float) -> dict[str, Any]:
    """The plan that the set would get, frozen branches only."""
    counts = np.bincount(pictures.truth)
    with_test = [round(int(count) * TEST_SHARE) for count in counts]
    sizes = [Image.open(path).size for path in pictures.files[:: max(1, len(counts))]]
    summary = {
        "labels": {
            label: {"train": int(count) - test, "validation": 0, "test": test}
            for label, count, test in zip(pictures.labels, counts, with_test, strict=True)
        },
        "splits": {"train": sum(int(count) for count in counts) - sum(with_test), "validation": 0},
        "sizes": {"median": [int(value) for value in np.median(sizes, axis=0)]},
    }
    cards = {name: backbone_facts(entry, b"") for name, entry in backbones().items()}
    plan = make(
        summary,
        {"task": "image_classification", "minutes": minutes, "objective": "accuracy"},
        cards,
        dataset=pictures.name,
        version="bench",
    )
    plan["branches"] = [each for each in plan["branches"] if each["mode"] == "frozen"]
    return plan


def problem_of(truth: NDArray[np.int64], classes: int, seed: int) -> Problem:
    """Five folds at random, as the hash of a sample deals them."""
    folds = np.random.default_rng(seed).permutation(len(truth)) % FOLDS
    return Problem(truth, folds.astype(np.int64), FOLDS, classes)


def answers(head: HeadWeights, values: NDArray[np.float16]) -> NDArray[np.float32]:
    """(N, K) logits of a head on (N, D) features."""
    result = values.astype(np.float32)
    for number, (weight, bias) in enumerate(head.folded()):
        result = (np.maximum(result, 0) if number else result) @ weight + bias
    return result


def search_branch(
    branch: Mapping[str, Any],
    vectors: NDArray[np.float16],
    rows: NDArray[np.int64],
    problem: Problem,
    work: Mapping[str, Any],
    seed: int,
) -> Found:
    """The search of a branch on some rows of the features."""
    views = tuple(branch["views"])
    part = Features(vectors[: len(views), rows], views, np.arange(len(rows)), {})
    with tempfile.TemporaryDirectory() as folder:
        return search(
            part,
            feature_layout(branch["backbone"]),
            problem,
            work,
            objective="accuracy",
            seed=seed,
            folder=Path(folder),
        )


def contender_of(branch: Mapping[str, Any], found: Found) -> Contender:
    """A searched branch as the step `select` sees it."""
    facts = {
        "branch": branch["key"],
        "bundle": branch["key"],
        "parameters": backbones()[branch["backbone"]].parameters,
        "validation": found.measure.figures,
        "support": len(found.rows),
    }
    return contender(task("image_classification"), branch, facts, "accuracy")


def splits(pictures: PictureSet, count: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """(training rows, test rows) of each split."""
    made = StratifiedShuffleSplit(count, test_size=TEST_SHARE, random_state=0)
    return list(made.split(pictures.truth, pictures.truth))


def peer_accuracy(
    vectors: NDArray[np.float16],
    truth: NDArray[np.int64],
    train: NDArray[np.int64],
    test: NDArray[np.int64],
) -> float:
    """Test accuracy of the fixed recipe."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    model.fit(vectors[0, train].astype(np.float32), truth[train])
    return float(model.score(vectors[0, test].astype(np.float32), truth[test]))


def measure(name: str, minutes: float, count: int, cache: Path) -> dict[str, Any]:
    """Accuracy of search and peer on each split of a set."""
    pictures = picture_set(name)
    plan = plan_of(pictures, minutes)
    vectors = {
        branch["key"]: features(pictures, branch["backbone"], branch["size"], branch["fit"], cache)
        for branch in plan["branches"]
    }
    peer = features(pictures, *PEER, cache)
    rows = []
    for number, (train, test) in enumerate(splits(pictures, count)):
        started = time.monotonic()
        problem = problem_of(pictures.truth[train], len(pictures.labels), number)
        tried, tests = [], {}
        for branch in plan["branches"]:
            found = search_branch(
                branch, vectors[branch["key"]], train, problem, branch["work"], plan["seed"]
            )
            said = answers(found.head, vectors[branch["key"]][0, test])
            tests[branch["key"]] = float((said.argmax(1) == pictures.truth[test]).mean())
            tried.append(contender_of(branch, found))
        winner, _ = choose(tried)
        row = {
            "split": number,
            "search": tests[winner.branch],
            "peer": peer_accuracy(peer, pictures.truth, train, test),
            "branch": winner.branch,
            "branches": tests,
            "validation": {one.branch: round(one.score, 4) for one in tried},
            "log_loss": {one.branch: round(one.log_loss, 4) for one in tried},
            "seconds": round(time.monotonic() - started, 1),
        }
        logger.info("%s %s", name, json.dumps(row))
        rows.append(row)
    ours, theirs = (float(np.mean([row[who] for row in rows])) for who in ("search", "peer"))
    return {
        "set": name,
        "minutes": minutes,
        "search": ours,
        "peer": theirs,
        "difference": ours - theirs,
        "splits": rows,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the sets that are named and print a line each, then all as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "features")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", force=True)
    logging.getLogger("trainers").setLevel(logging.WARNING)
    set_threads(1)
    with threadpool_limits(1):
        results = [measure(name, given.minutes, given.splits, given.cache) for name in given.sets]
    for result in results:
        print(
            f"{result['set']}: search {result['search']:.4f}, logistic regression "
            f"{result['peer']:.4f}, difference {100 * result['difference']:+.1f} points"
        )
    print(json.dumps(results))


if __name__ == "__main__":
    main()
