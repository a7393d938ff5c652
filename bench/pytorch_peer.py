"""Time to the accuracy of a plain PyTorch fine-tune of the same EfficientNet-Lite0 weights.

    python -m bench.pytorch_peer clothing extrusion_profile --minutes 30 [--budgets 1 2 5]

Needs `make bench-environment`. Both sides get the same training pictures of one stratified 80/20
split (seed 0), the same cores, and are asked about the same test pictures. The peer trains for the
minutes that are given, on all cores, and its best epoch by test accuracy counts, which favours it.
Ours is built for each budget from nothing (`bench.build_time`); the time of the smallest budget
whose test accuracy is at least the peer's counts, against the time at which the peer first reached
its best. Prints every line of the peer, then the result as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from bench.accuracy import splits
from bench.build_time import Build, build
from bench.pictures import PictureSet, picture_set
from orchard.settings import REPOSITORY

PYTHON = REPOSITORY / ".bench-venv" / "bin" / "python"


def task_of(
    pictures: PictureSet,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    seconds: float,
    threads: int,
    seed: int,
) -> dict[str, Any]:
    """What the peer's program reads."""
    parts = {
        name: {
            "files": [str(pictures.files[row]) for row in rows],
            "truth": pictures.truth[rows].tolist(),
        }
        for name, rows in (("train", train), ("test", test))
    }
    classes = len(pictures.labels)
    return {**parts, "classes": classes, "seconds": seconds, "threads": threads, "seed": seed}


def peer(task: dict[str, Any]) -> list[dict[str, float]]:
    """The peer's epochs."""
    epochs = []
    with tempfile.TemporaryDirectory(prefix="bench-pytorch-") as folder:
        path = Path(folder) / "task.json"
        path.write_text(json.dumps(task), encoding="utf-8")
        command = [str(PYTHON), "-m", "bench.peers.torch_fine_tune", str(path)]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        with subprocess.Popen(
            command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                epochs.append(json.loads(line))
                print(f"PyTorch {line.strip()}", flush=True)
    if process.returncode:
        raise SystemExit(f"the peer ended with {process.returncode}")
    return epochs


def compare(epochs: Sequence[dict[str, float]], builds: Sequence[Build]) -> dict[str, Any]:
    """How much sooner the first sufficient build is; null where none is."""
    best = max(epoch["test_accuracy"] for epoch in epochs)
    reached = next(epoch["seconds"] for epoch in epochs if epoch["test_accuracy"] == best)
    enough = next((one for one in builds if one.test_accuracy >= best), None)
    return {
        "peer_accuracy": best,
        "peer_seconds_to_it": reached,
        "peer_seconds": epochs[-1]["seconds"],
        "peer_epochs": len(epochs),
        "ours": asdict(enough) if enough else None,
        "ours_seconds": enough.seconds if enough else None,
        "times_sooner": reached / enough.seconds if enough else None,
        "builds": [asdict(one) for one in builds],
    }


def main() -> None:
    """Measure the sets that are named."""
    parser = argparse.ArgumentParser(prog="bench.pytorch_peer")
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--budgets", type=float, nargs="+", default=[1, 2, 5])
    parser.add_argument("--threads", type=int, default=psutil.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name in given.sets:
        pictures = picture_set(name)
        train, test = splits(pictures, 1)[0]
        builds = []
        for minutes in given.budgets:
            builds.append(build(pictures, train, test, minutes, given.threads, given.seed))
            print(f"build for {minutes:g} minutes: {json.dumps(asdict(builds[-1]))}", flush=True)
        task = task_of(pictures, train, test, 60 * given.minutes, given.threads, given.seed)
        print(json.dumps({"set": name, "minutes": given.minutes, **compare(peer(task), builds)}))


if __name__ == "__main__":
    main()
