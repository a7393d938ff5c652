"""The question and the answer of planning a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchard.tasks.costs import Costs

Json = Any


@dataclass(frozen=True)
class Ask:
    """What the search of a build has to be planned for.

    Attributes:
        summary: of the data set version.
        labels: class names that are learnt; `counts` their training samples.
        samples: training samples in all.
        seconds: wall time for features and trials together; `minutes` is what the person gave.
        gpus: how many a branch may use.
        cards: facts of every backbone in the store, by name.
        objective: what the person wants optimised, a key of `Task.objectives`.
        reasons: sentences that say why; `Task.plan` adds its own.
    """

    summary: Mapping[str, Json]
    labels: Sequence[str]
    counts: Mapping[str, int]
    samples: int
    seconds: float
    minutes: float
    gpus: int
    costs: Costs
    cards: Mapping[str, Mapping[str, Json]]
    objective: str
    reasons: list[str]


@dataclass(frozen=True)
class Planned:
    """The search of a build.

    Attributes:
        folds: 0: the validation split, or one fifth of training, validates; else cross-validation.
        branches: one a trial: key, title, backbone, mode ("frozen", "fine_tuned", …), views,
            preprocessing (operations), feature_key, work (fixed work), gpus, prepare_seconds of a
            core, seconds of a trial; further keys are the task's own.
        decode_seconds: of a core, to read one sample.
    """

    folds: int
    branches: list[dict[str, Json]]
    decode_seconds: float
