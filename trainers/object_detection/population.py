"""Candidates that hold out the same pictures, as `trainers.search` halves them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from trainers.object_detection.average_precision import (
    Truth,
    average_precisions,
    suppressed,
)
from trainers.object_detection.candidate import Candidate, outputs_of
from trainers.object_detection.geometry import Array
from trainers.object_detection.maps import Pictures
from trainers.object_detection.unfrozen import folded_arrays
from trainers.search import Measure

WORST_CLASS = "worst_class_ap50"
SHOWN_AT_ONCE = 64


class Heads:
    """The population; a `trainers.search.Population`.

    Before each epoch the whole state is saved. What is loaded again is not trained again: the
    search asks for the same epochs and gets the measures that were made then.

    Args:
        rows: pictures that are measured.
        objective: "ap50" or "worst_class_ap50".
        save: gets the state as bytes.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        pictures: Pictures,
        rows: NDArray[np.int64],
        classes: int,
        objective: str,
        save: Callable[[bytes], None] = lambda payload: None,
    ) -> None:
        self._candidates, self._pictures, self._rows = candidates, pictures, rows
        self._classes, self._objective, self._save = classes, objective, save
        self._active = list(range(len(candidates)))
        self._epoch = 0
        self._losses: dict[int, dict[str, float]] = {}
        self._log: dict[int, dict[int, Measure]] = {}
        self._loaded = 0
        self.best: dict[int, dict[str, Array]] = {}

    def __len__(self) -> int:
        return len(self._candidates)

    def train_epoch(self) -> None:
        if self._epoch > self._loaded:
            self._save(self.state())
        self._epoch += 1
        if self._epoch > self._loaded:
            for index in self._active:
                self._losses[index] = self._candidates[index].train_epoch()

    def measure(self) -> Mapping[int, Measure]:
        if self._epoch not in self._log:
            self._log[self._epoch] = {index: self._measured(index) for index in self._active}
        return self._log[self._epoch]

    def remember(self, index: int) -> None:
        if self._epoch > self._loaded:
            self.best[index] = folded_arrays(self._candidates[index].averaged())

    def retain(self, indices: Sequence[int]) -> None:
        self._active = list(indices)

    def _measured(self, index: int) -> Measure:
        head = self._candidates[index].averaged()
        found, truths = [], []
        for start in range(0, len(self._rows), SHOWN_AT_ONCE):
            rows = [int(row) for row in self._rows[start : start + SHOWN_AT_ONCE]]
            outputs = outputs_of(head, self._pictures, rows, 0)
            found += [suppressed(one[:, :4], one[:, 4:]) for one in outputs]
            truths += [Truth(self._pictures.boxes[r], self._pictures.classes[r]) for r in rows]
        return measure_of(
            average_precisions(found, truths, self._classes), self._objective, self._losses[index]
        )

    def state(self) -> bytes:
        """What `load` takes."""
        log = {
            epoch: {index: [m.score, dict(m.figures)] for index, m in measures.items()}
            for epoch, measures in self._log.items()
        }
        arrays: dict[str, NDArray[Any]] = {
            f"best/{index}/{name}": array
            for index, head in self.best.items()
            for name, array in head.items()
        }
        for index in self._active:
            state = self._candidates[index].state()
            arrays |= {f"candidate/{index}/{name}": array for name, array in state.items()}
        facts = json.dumps({"epoch": self._epoch, "log": log}).encode()
        buffer = io.BytesIO()
        arrays["facts"] = np.frombuffer(facts, np.uint8)
        np.savez(buffer, **cast(Any, arrays))
        return buffer.getvalue()

    def load(self, payload: bytes) -> bool:
        """Go on from a saved state; False where the bytes hold none."""
        try:
            with np.load(io.BytesIO(payload), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            facts = json.loads(arrays.pop("facts").tobytes())
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return False
        states: dict[int, dict[str, NDArray[Any]]] = {}
        for name, array in arrays.items():
            kind, index, rest = name.split("/", 2)
            if kind == "best":
                self.best.setdefault(int(index), {})[rest] = array
            else:
                states.setdefault(int(index), {})[rest] = array
        for number, state in states.items():
            self._candidates[number].restore(state)
        self._loaded = int(facts["epoch"])
        self._log = {
            int(epoch): {int(i): Measure(score, figures) for i, (score, figures) in each.items()}
            for epoch, each in facts["log"].items()
        }
        return True


def measure_of(
    precisions: NDArray[np.float64], objective: str, further: Mapping[str, float]
) -> Measure:
    """The search's measure of (K, 10) average precisions; classes without true boxes don't count.

    The score is the mean of the objective's figure and of the average precision over all overlaps,
    which changes less by chance on few pictures.
    """
    known = precisions[~np.isnan(precisions).any(axis=1)]
    if not len(known):
        known = np.zeros((1, precisions.shape[1]))
    figures = {
        "ap50": float(known[:, 0].mean()),
        "ap": float(known.mean()),
        WORST_CLASS: float(known[:, 0].min()),
    }
    score = (figures[WORST_CLASS if objective == WORST_CLASS else "ap50"] + figures["ap"]) / 2
    return Measure(score, {**figures, **{f"loss_{n}": v for n, v in further.items()}})
