"""What each part of the search gains at equal work.

    python -m bench.ablation clothing extrusion_profile electronic_parts --splits 3

Equal work is the same number of candidate epochs in all branches together:
*full* is the search as it is; *random* trains fewer candidates to the end, without halving or early
stopping, and takes the best; *single* is the full search whose winner is one candidate instead of an
average; *one branch* spends all work on the first branch; *default* is the default candidate in each
branch. Without a part: *no mirror*, *linear only*, *one recipe*.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench.accuracy import answers, contender_of, plan_of, problem_of, search_branch, splits
from bench.pictures import features, picture_set
from orchard.steps.select import choose
from trainers.classification import branch as branch_search
from trainers.classification import candidates
from trainers.engine import set_threads

logger = logging.getLogger(__name__)

Branch = dict[str, Any]


def epochs_of(work: Mapping[str, Any]) -> int:
    """Candidate epochs of a branch's work."""
    return sum(int(rung["keep"]) * int(rung["epochs"]) for rung in work["rungs"])


def full(branches: list[Branch]) -> list[Branch]:
    """The search as it is."""
    return branches


def random(branches: list[Branch]) -> list[Branch]:
    """Fewer candidates, all trained to the end."""
    made = []
    for branch in branches:
        length = sum(int(rung["epochs"]) for rung in branch["work"]["rungs"])
        count = max(1, epochs_of(branch["work"]) // length)
        rungs = [{"keep": count, "epochs": length}]
        made.append({**branch, "work": {"candidates": count, "rungs": rungs, "members": 1}})
    return made


def single(branches: list[Branch]) -> list[Branch]:
    """One candidate instead of an average."""
    return [{**branch, "work": {**branch["work"], "members": 1}} for branch in branches]


def one_branch(branches: list[Branch]) -> list[Branch]:
    """All work in the first branch."""
    work, factor = branches[0]["work"], len(branches)
    rungs = [{**rung, "keep": rung["keep"] * factor} for rung in work["rungs"]]
    more = {**work, "candidates": work["candidates"] * factor, "rungs": rungs}
    return [{**branches[0], "work": more}]


def default(branches: list[Branch]) -> list[Branch]:
    """The default candidate alone."""
    made = []
    for branch in branches:
        length = sum(int(rung["epochs"]) for rung in branch["work"]["rungs"])
        rungs = [{"keep": 1, "epochs": length}]
        made.append({**branch, "work": {"candidates": 1, "rungs": rungs, "members": 1}})
    return made


def no_mirror(branches: list[Branch]) -> list[Branch]:
    """The plain view only."""
    return [{**branch, "views": ["plain"]} for branch in branches]


VARIANTS: dict[str, tuple[Callable[[list[Branch]], list[Branch]], dict[str, Any]]] = {
    "full": (full, {}),
    "random": (random, {"patience": 10**6}),
    "single": (single, {}),
    "one branch": (one_branch, {}),
    "default": (default, {}),
    "no mirror": (no_mirror, {}),
    "linear only": (full, {"hidden": 0.0}),
    "one recipe": (full, {"recipes": candidates.RECIPES[:1]}),
}


def measure(name: str, minutes: float, count: int, cache: Path) -> dict[str, float]:
    """Mean test accuracy of each variant over the splits of a set."""
    pictures = picture_set(name)
    plan = plan_of(pictures, minutes)
    vectors = {
        branch["key"]: features(pictures, branch["backbone"], branch["size"], branch["fit"], cache)
        for branch in plan["branches"]
    }
    result: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    patience, share, recipes = (
        branch_search.PATIENCE,
        candidates.HIDDEN_SHARE,
        candidates.RECIPES,
    )
    for number, (train, test) in enumerate(splits(pictures, count)):
        problem = problem_of(pictures.truth[train], len(pictures.labels), number)
        for variant, (changed, switches) in VARIANTS.items():
            branch_search.PATIENCE = switches.get("patience", patience)
            candidates.HIDDEN_SHARE = switches.get("hidden", share)
            candidates.RECIPES = switches.get("recipes", recipes)
            tried, tests = [], {}
            for branch in changed(plan["branches"]):
                found = search_branch(
                    branch, vectors[branch["key"]], train, problem, branch["work"], plan["seed"]
                )
                said = answers(found.head, vectors[branch["key"]][0, test]).argmax(1)
                tests[branch["key"]] = float((said == pictures.truth[test]).mean())
                tried.append(contender_of(branch, found))
            winner, _ = choose(tried)
            result[variant].append(tests[winner.branch])
            logger.info("%s split %d, %s: %.4f", name, number, variant, tests[winner.branch])
    branch_search.PATIENCE, candidates.HIDDEN_SHARE, candidates.RECIPES = patience, share, recipes
    return {variant: float(np.mean(values)) for variant, values in result.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the sets that are named; a table, then the same as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "features")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", force=True)
    logging.getLogger("trainers").setLevel(logging.WARNING)
    set_threads(1)
    with threadpool_limits(1):
        table = {
            name: measure(name, given.minutes, given.splits, given.cache) for name in given.sets
        }
    for variant in VARIANTS:
        print(f"{variant:12}", *(f"{table[name][variant]:.4f}" for name in given.sets))
    print(json.dumps(table))


if __name__ == "__main__":
    main()
