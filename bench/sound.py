"""Accuracy of the search on recordings, on splits at random and with a source held back.

    python -m bench.sound digits machine --minutes 10

For each split the branches that a plan of that many minutes names are searched on the training part
alone, the branch with the best validation is taken as the step `select` does, and its head answers
the test part through the task's own windows. Spoken digits (../shared/data): every voice held back
in turn, with folds that keep voices together, and random 80/20 splits. Machine: the generated
example, random 80/20 splits.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

from examples import machine
from orchard.blobs import Blobs
from orchard.classification import thresholds
from orchard.planning import make
from orchard.steps.select import Contender, choose, contender
from orchard.tasks import task
from orchard.tasks.sound_classification import scratch as scratch_plan
from trainers.backbones import backbones, get_backbone, log_mel, speech_embedding
from trainers.backbones.architecture import parameters
from trainers.backbones.feature_graph import feature_graph
from trainers.backbones.speech_graph import feature_graph as speech_feature_graph
from trainers.backbones.store import backbone_facts
from trainers.classification.branch import Found, search
from trainers.classification.heads import Problem
from trainers.classification.population import measure_of
from trainers.engine import paddle, set_threads
from trainers.features import Features
from trainers.head_weights import HeadWeights
from trainers.sound_classification import scratch, trial
from trainers.sound_classification.network import ScratchNetwork, blocks

logger = logging.getLogger(__name__)

TASK = task(trial.TASK)
DIGITS = Path(__file__).resolve().parents[2] / "shared/data/sound_classification/spoken_digits"
FOLDS = 5
TEST_SHARE = 0.2
BATCH = 8


@dataclass(frozen=True)
class SoundSet:
    """Recordings in memory.

    Attributes:
        sounds: N decoded recordings; truth: (N,) class indices; labels: K names.
        sources: N names of voices, or none.
    """

    name: str
    sounds: list[NDArray[np.float32]]
    truth: NDArray[np.int64]
    labels: list[str]
    sources: list[str]


def digits() -> SoundSet:
    """The spoken digits of the shared folder."""
    files = sorted(DIGITS.rglob("*.wav"))
    labels = sorted({path.parent.name for path in files})
    truth = np.array([labels.index(path.parent.name) for path in files], np.int64)
    sources = [path.stem.split("_")[1] for path in files]
    sounds = [TASK.decode(path.read_bytes()) for path in files]
    return SoundSet("digits", sounds, truth, labels, sources)


def machines(count: int = 100, seed: int = 7) -> SoundSet:
    """The generated example, `count` recordings a class."""
    rows = [(label, index) for label in range(3) for index in range(count)]
    sounds = []
    for label, index in rows:
        rng = np.random.default_rng([seed, label, index])
        sounds.append(TASK.decode(machine.wav(machine.record(rng, machine.LABELS[label]))))
    truth = np.array([label for label, _ in rows], np.int64)
    return SoundSet("machine", sounds, truth, list(machine.LABELS), [])


def plan_of(given: SoundSet, minutes: float) -> dict[str, Any]:
    """The plan that the set would get."""
    counts = np.bincount(given.truth)
    train = [int(count) - round(int(count) * TEST_SHARE) for count in counts]
    lengths = [round(len(sound) / 16) for sound in given.sounds]
    summary = {
        "labels": {
            label: {"train": count, "validation": 0, "test": 0}
            for label, count in zip(given.labels, train, strict=True)
        },
        "splits": {"train": sum(train), "validation": 0},
        "sizes": {"median": [int(np.median(lengths)), 1]},
    }
    cards = {name: backbone_facts(entry, b"") for name, entry in backbones().items()}
    cards[speech_embedding.NAME] = speech_embedding.facts(b"")
    cards[log_mel.NAME] = log_mel.facts(b"")
    return make(
        summary,
        {"task": TASK.name, "minutes": minutes, "objective": "accuracy"},
        cards,
        dataset=given.name,
        version="bench",
    )


def features(given: SoundSet, branch: Mapping[str, Any], cache: Path) -> NDArray[np.float16]:
    """(V, N, W·D) of a branch, computed once a view."""
    path = cache / f"{given.name}-{len(given.sounds)}-{branch['feature_key']}"
    path.mkdir(parents=True, exist_ok=True)
    missing = [view for view in branch["views"] if not (path / f"{view}.npy").is_file()]
    if missing:
        logger.info("%s: features of %s, %s", given.name, branch["key"], ", ".join(missing))
        _compute(given, branch, missing, path)
    return np.stack([np.load(path / f"{view}.npy") for view in branch["views"]])


def _compute(given: SoundSet, branch: Mapping[str, Any], views: Sequence[str], path: Path) -> None:
    made = {speech_embedding.NAME: speech_feature_graph, log_mel.NAME: log_mel.feature_graph}
    name = branch["backbone"]
    graph = made[name]() if name in made else feature_graph(get_backbone(name))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    rows: dict[str, list[NDArray[np.float16]]] = {view: [] for view in views}
    for start in range(0, len(given.sounds), BATCH):
        inputs = [
            TASK.inputs(branch["preprocessing"], sound)
            for sound in given.sounds[start : start + BATCH]
        ]
        for view in views:
            seen = np.concatenate([TASK.view(each, view) for each in inputs])
            (found,) = session.run(["features"], {"input": seen})
            rows[view].append(found.astype(np.float16).reshape(len(inputs), -1))
    for view in views:
        np.save(path / f"{view}.npy", np.concatenate(rows[view]))


def answers(head: HeadWeights, values: NDArray[np.float16]) -> NDArray[np.float32]:
    """(N, K) logits of a head on (N, D) features."""
    result = values.astype(np.float32)
    for number, (weight, bias) in enumerate(head.folded()):
        result = (np.maximum(result, 0) if number else result) @ weight + bias
    return result


def trained(
    branch: Mapping[str, Any],
    vectors: NDArray[np.float16],
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    problem: Problem,
    seed: int,
) -> tuple[NDArray[np.float32], Contender]:
    """The branch trained on some rows of the features: its (n, K) logits of the others, and how it
    stands before the step `select`."""
    part = Features(vectors[:, train], tuple(branch["views"]), np.arange(len(train)), {})
    windows = int(branch["windows"])
    if branch["mode"] == scratch_plan.MODE:
        return _from_scratch(branch, part, vectors[0, test], problem, seed)
    found = search_branch(branch, part, problem, seed)
    values = vectors[0, test].astype(np.float32).reshape(len(test), windows, -1).mean(axis=1)
    return answers(found.head, values.astype(np.float16)), contender_of(
        branch, dict(found.measure.figures), len(found.rows)
    )


def _from_scratch(
    branch: Mapping[str, Any],
    part: Features,
    asked: NDArray[np.float16],
    problem: Problem,
    seed: int,
) -> tuple[NDArray[np.float32], Contender]:
    windows = int(branch["windows"])
    with tempfile.TemporaryDirectory() as folder:
        result = scratch.train(
            part,
            windows,
            problem,
            branch["work"],
            Blobs(f"file://{folder}/store"),
            checkpoint_key="checkpoint",
            objective="accuracy",
            seed=seed,
            folder=Path(folder),
            safety_seconds=float("inf"),
        )
    whole = Features(asked[None], ("plain",), np.arange(len(asked)), {})
    rows = np.arange(len(asked))
    examples = scratch.Spectrograms(whole, windows, rows, np.zeros(len(rows), np.int64))
    network = ScratchNetwork(problem.classes, 0.0)
    network.eval()
    logits = np.zeros((len(asked), problem.classes), np.float32)
    for arrays in result.arrays:
        network.load_arrays(arrays)
        for start in range(0, len(rows), BATCH):
            (inputs,) = examples.batch(rows[start : start + BATCH], None)
            logits[start : start + BATCH] += network(paddle.to_tensor(inputs)).numpy()
    truth = problem.truth[result.rows]
    temperature = thresholds.temperature(result.logits, truth)
    figures = measure_of(result.logits / np.float32(temperature), truth, "accuracy").figures
    return logits, contender_of(branch, dict(figures), len(truth))


def search_branch(branch: Mapping[str, Any], part: Features, problem: Problem, seed: int) -> Found:
    """The search of a branch of heads."""
    with tempfile.TemporaryDirectory() as folder:
        return search(
            trial.averaged(part, int(branch["windows"]), Path(folder)),
            trial.layout_of(branch),
            problem,
            branch["work"],
            objective="accuracy",
            seed=seed,
            folder=Path(folder),
            candidates=trial.candidates_of(branch, seed),
        )


def contender_of(
    branch: Mapping[str, Any], validation: Mapping[str, float], samples: int
) -> Contender:
    """A trained branch as the step `select` sees it."""
    sizes = {name: entry.parameters for name, entry in backbones().items()}
    sizes[speech_embedding.NAME] = speech_embedding.facts(b"")["parameters"]
    sizes[log_mel.NAME] = int(branch["work"].get("members", 1)) * parameters(blocks())
    facts = {
        "branch": branch["key"],
        "bundle": branch["key"],
        "parameters": sizes[branch["backbone"]],
        "validation": validation,
        "support": samples,
    }
    return contender(TASK, branch, facts, "accuracy")


def random_folds(rows: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Five folds at random, as the hash of a sample deals them."""
    return np.asarray(np.random.default_rng(seed).permutation(len(rows)) % FOLDS, np.int64)


def source_folds(sources: Sequence[str], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Folds that keep a source together."""
    names = sorted({sources[row] for row in rows})
    return np.array([names.index(sources[row]) % FOLDS for row in rows], np.int64)


Split = tuple[str, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def splits_of(given: SoundSet, count: int) -> list[Split]:
    """(kind, training rows, their folds, test rows)."""
    made: list[Split] = []
    everything = np.arange(len(given.truth))
    for source in sorted(set(given.sources)):
        held = np.array([each == source for each in given.sources])
        train = everything[~held]
        made.append(("source", train, source_folds(given.sources, train), everything[held]))
    dealer = StratifiedShuffleSplit(count, test_size=TEST_SHARE, random_state=0)
    for number, (train, test) in enumerate(dealer.split(everything, given.truth)):
        made.append(("random", train, random_folds(train, number), test))
    return made


def measure(
    given: SoundSet, minutes: float, count: int, cache: Path, only: str | None = None
) -> dict[str, Any]:
    """Accuracy of the search on each split, or on those of one kind."""
    plan = plan_of(given, minutes)
    vectors = {branch["key"]: features(given, branch, cache) for branch in plan["branches"]}
    rows = []
    chosen = [each for each in splits_of(given, count) if only in (None, each[0])]
    for kind, train, folds, test in chosen:
        started = time.monotonic()
        used = len(np.unique(folds))
        problem = Problem(given.truth[train], folds, used, len(given.labels))
        tried, tests = [], {}
        for branch in plan["branches"]:
            own = vectors[branch["key"]]
            logits, stands = trained(branch, own, train, test, problem, plan["seed"])
            tests[branch["key"]] = float((logits.argmax(1) == given.truth[test]).mean())
            tried.append(stands)
        winner, _ = choose(tried)
        row = {
            "kind": kind,
            "held": given.sources[test[0]] if kind == "source" else "",
            "search": tests[winner.branch],
            "branch": winner.branch,
            "branches": {name: round(value, 4) for name, value in tests.items()},
            "validation": {one.branch: round(one.score, 4) for one in tried},
            "seconds": round(time.monotonic() - started, 1),
        }
        logger.info("%s %s", given.name, json.dumps(row))
        rows.append(row)
    means = {
        kind: float(np.mean([row["search"] for row in rows if row["kind"] == kind]))
        for kind in dict.fromkeys(row["kind"] for row in rows)
    }
    return {"set": given.name, "minutes": minutes, "accuracy": means, "splits": rows}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the sets that are named and print a line each, then all as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+", choices=("digits", "machine"))
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--splits", type=int, default=3, help="random splits")
    parser.add_argument("--only", choices=("source", "random"), help="one kind of splits")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "features")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", force=True)
    logging.getLogger("trainers").setLevel(logging.WARNING)
    set_threads(1)
    made = {"digits": digits, "machine": machines}
    with threadpool_limits(1):
        results = [
            measure(made[name](), given.minutes, given.splits, given.cache, given.only)
            for name in given.sets
        ]
    for result in results:
        figures = ", ".join(f"{kind} {value:.4f}" for kind, value in result["accuracy"].items())
        print(f"{result['set']}: {figures}")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
