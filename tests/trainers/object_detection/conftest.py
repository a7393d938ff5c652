"""The tiny backbone of maps, and one trial that several tests look at."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trainers.object_detection import synthetic
from trainers.object_detection import trial
from trainers.result import TrialResult

KEY = "local/builds/b/trials/tiny/checkpoint/state.npz"
Trained = Callable[..., TrialResult]


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Train a branch over a store of its own."""

    def train(
        root: Path | None = None,
        *,
        labelled: bool = True,
        tiles: int = 1,
        make: Callable[[int], synthetic.Scene] = synthetic.scene,
        **work: Any,
    ) -> TrialResult:
        home = root or tmp_path_factory.mktemp("detector")
        blobs, samples, features = synthetic.data(
            home / "store", 16, labelled=labelled, tiles=tiles, make=make
        )
        folder = Path(tmp_path_factory.mktemp("trial"))
        with synthetic.registered():
            return trial.run(
                synthetic.branch(tiles=tiles, **work),
                synthetic.PLAN,
                samples,
                features,
                blobs,
                checkpoint_key=KEY,
                threads=1,
                folder=folder,
                safety_seconds=1e9,
            )

    return train


def hashes(result: TrialResult) -> list[str]:
    """Of the three exported files."""
    files = (result.model, result.parameters, result.network)
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
