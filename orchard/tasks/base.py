"""The interface between the workflow and a task (image classification, object detection, …).

The workflow knows this interface and no task by name. A task is a folder `orchard/tasks/<name>/`
whose `__init__` exposes `TASK`, an instance of a `Task` subclass. It holds what the task's labels
are, its judge, metrics, thresholds, report and response; no engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from orchard.errors import BadInput
from orchard.tasks.answers import Answers, Floats, Scores, Verdict
from orchard.tasks.reporting import Finding, Plot, Table
from orchard.tasks.samples import (
    JUDGED,
    LEAST_TO_TRAIN,
    PICTURE_ENDINGS,
    Accepted,
    Given,
    Json,
    Limits,
    Refused,
    Settled,
)
from orchard.tasks.search import Ask, Planned

__all__ = [
    "Accepted",
    "Answers",
    "Ask",
    "Finding",
    "Floats",
    "Given",
    "JUDGED",
    "Json",
    "LEAST_TO_TRAIN",
    "Limits",
    "PICTURE_ENDINGS",
    "Planned",
    "Plot",
    "Refused",
    "Scores",
    "Settled",
    "Table",
    "Task",
    "Verdict",
]


class Task(ABC):
    """One kind of work (classify pictures, find objects, …) as the workflow sees it."""

    name: str
    title: str
    sample_word: str = "picture"
    service_segment: str = ""
    """Part of the prediction service's path that stands for the task."""
    service_field: str = "image"
    """JSON field of the prediction service that holds a sample in base64."""
    objectives: Mapping[str, str] = {}
    """What a person may optimise → the figure of `metrics` that it means here."""
    losses: Mapping[str, str] = {}
    """Objective → the validation figure, lowest best, by which branches are ranked; without one they
    are ranked by what the objective's figure lacks to 1."""
    figure_words: Mapping[str, str] = {}
    """Headline figures in plain words, by their name in `metrics`."""
    near_bits: int = 0
    """Largest Hamming distance of two fingerprints that are near-duplicates."""
    label_kind: str = "class"
    """Which label formats can serve the task: "class" or "boxes" (`orchard.formats`)."""
    sample_endings: frozenset[str] = PICTURE_ENDINGS
    """File endings that a sample usually has; formats are recognised by them."""
    least_classes: int = 2
    """Classes without which nothing can be trained."""
    trains_small_classes: bool = False
    """Whether a class of fewer than `LEAST_TO_TRAIN` samples is trained beside others that have enough,
    and does not stop a build."""
    views: tuple[str, ...] = ("plain", "mirror")
    """All views in which features can be computed, "plain" first."""
    thumbnail_side: int = 176
    """Width and height of a report's thumbnails, in pixels."""

    @abstractmethod
    def judge(self, payload: bytes, path: str, limits: Limits) -> Accepted | Refused:
        """Decide over the bytes of one sample. Pure; never raises for bad bytes."""

    @abstractmethod
    def labels_of(self, annotation: Json) -> tuple[str, ...]:
        """The class names in one sample's annotation, each as often as it occurs."""

    @abstractmethod
    def renamed(self, annotation: Json, names: Mapping[str, str]) -> Json:
        """The annotation with class names replaced as `names` says."""

    def stratum(self, annotation: Json, counts: Mapping[str, int] = MappingProxyType({})) -> str:
        """The text over whose values splits are drawn evenly; "" for a sample without a label.

        Args:
            counts: how often each class occurs in the data set, for tasks with several a sample.
        """
        return next(iter(self.labels_of(annotation)), "")

    def object_shares(self, annotation: Json, width: int, height: int) -> tuple[float, ...]:
        """How large the objects of a sample are: the side of each as a share of the sample's, 0 to 1;
        none where the task has no objects.

        Args:
            width, height: of the sample in pixels.
        """
        return ()

    def merged(self, annotations: Sequence[Json]) -> Json | None:
        """Several annotations of one sample as one; None where they contradict each other."""
        first = annotations[0]
        return first if all(each == first for each in annotations) else None

    def settled(
        self, annotation: Json, width: int, height: int, given: Given | None = None
    ) -> Settled:
        """The annotation checked against the sample's size, repaired where its meaning is certain.

        Args:
            width, height: of the sample as it is stored, in pixels. given: as its file had it.
        """
        return Settled(annotation)

    @abstractmethod
    def decode(self, payload: bytes, limits: Limits | None = None) -> NDArray[Any]:
        """Bytes of a sample → what preprocessing takes (pictures: (H, W, 3) uint8 RGB).

        Raises BadInput for bytes that are no sample, or above the limits (default: `Limits()`).
        """

    @abstractmethod
    def inputs(self, operations: Sequence[Mapping[str, Json]], decoded: NDArray[Any]) -> Floats:
        """A decoded sample → R rows of the graph's input, (R, …): one, or windows or tiles."""

    @abstractmethod
    def view(self, inputs: Floats, name: str) -> Floats:
        """`inputs` in one of `views`."""

    @abstractmethod
    def answer(self, outputs: Floats, shape: tuple[int, ...], card: Mapping[str, Json]) -> Floats:
        """The graph's outputs (R, …) of one sample → its answer.

        Args:
            shape: of the decoded sample. card: of the bundle.
        """

    @abstractmethod
    def unflattened(self, flat: Floats, labels: Sequence[str]) -> Floats:
        """An answer from its numbers in C order, as answers are stored."""

    @abstractmethod
    def verdict(self, answer: Floats, truth: Json, card: Mapping[str, Json]) -> Verdict:
        """Whether an answer is right, in words."""

    @abstractmethod
    def metrics(self, answers: Answers, card: Mapping[str, Json]) -> dict[str, Json]:
        """All figures of an evaluation as JSON; the first ones are named in `headline_metrics`.

        `samples` counts those that take part. A figure without a sample behind it is None.
        """

    @property
    @abstractmethod
    def headline_metrics(self) -> Sequence[str]:
        """Names out of `metrics` that are shown first, the deciding one at the front."""

    @abstractmethod
    def thresholds(self, answers: Answers, objective: str) -> dict[str, Json]:
        """What a score must reach, chosen on validation; the bundle's card carries it."""

    @abstractmethod
    def response(
        self, answer: Floats, card: Mapping[str, Json], request: Mapping[str, Json]
    ) -> dict[str, Json]:
        """The answer of the prediction service for one sample.

        Raises BadInput for a parameter that cannot be used.
        """

    @abstractmethod
    def parity_request(self, card: Mapping[str, Json]) -> dict[str, Json]:
        """Parameters of a request whose response shows all that `difference` compares."""

    @abstractmethod
    def difference(self, here: Mapping[str, Json], there: Mapping[str, Json]) -> float:
        """The largest difference of a score between two responses; infinite where they differ else."""

    @abstractmethod
    def plan(self, ask: Ask) -> Planned:
        """The branches of a search, with fixed work for the time there is.

        Raises BadInput where nothing can be learnt.
        """

    def figure_of(self, objective: str) -> str:
        """The figure that an objective means here. Raises BadInput for one that is not known."""
        if objective not in self.objectives:
            raise BadInput(
                "There is no such objective",
                value=objective,
                way_out=f"One of {', '.join(self.objectives)}",
            )
        return self.objectives[objective]

    def support(self, answers: Answers, objective: str) -> int:
        """On how many samples the objective's figure rests: all, or those of the smallest class."""
        if objective in self.objectives and list(self.objectives).index(objective) == 0:
            return len(answers.truths)
        counts = Counter(name for truth in answers.truths for name in set(self.labels_of(truth)))
        return min((counts[label] for label in answers.labels if counts[label]), default=0)

    def knows(self, truth: Json, labels: Sequence[str]) -> bool:
        """Whether a model with these classes can be right about a sample."""
        return set(self.labels_of(truth)) <= set(labels)

    def class_scores(self, answers: Answers) -> Scores | None:
        """The answers as scores of classes, for doubts about labels; None where there are none."""
        return None

    def bands(self, fingerprint: bytes) -> tuple[int, ...]:
        """Numbers of which two near fingerprints share at least one; () where the task has none."""
        return ()

    def distance(self, one: bytes, other: bytes) -> int:
        """Bits in which two fingerprints differ."""
        return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).bit_count()

    def sources(
        self, paths: Sequence[str], labels: Sequence[str]
    ) -> tuple[tuple[str, ...], str] | None:
        """Which labelled samples come of one source, where their names tell for certain.

        Args:
            paths: of the samples; labels: their strata, in the same order.

        Returns:
            The source of each sample and a sentence about it, or None. Samples of one source stay
            in one split.
        """
        return None

    def golden_payloads(self) -> tuple[bytes, ...]:
        """Made-up samples, always the same, for a bundle's golden vectors."""
        return ()

    def findings(
        self, metrics: Mapping[str, Json], card: Mapping[str, Json], summary: Mapping[str, Json]
    ) -> list[Finding]:
        """What figures mean, in plain words, the most important first.

        Args:
            metrics: from `metrics`. card: of the bundle. summary: of the data set version.
        """
        return []

    def plots(self, metrics: Mapping[str, Json], card: Mapping[str, Json]) -> list[Plot]:
        """Drawings of figures for the report."""
        return []

    def class_table(
        self, metrics: Mapping[str, Json], card: Mapping[str, Json], labels: Mapping[str, Json]
    ) -> Table | None:
        """Figures of each class for the report; `labels` has the samples by class and split."""
        return None

    def thumbnail(
        self,
        payload: bytes,
        side: int,
        truth: Json = None,
        answer: Floats | None = None,
        card: Mapping[str, Json] | None = None,
    ) -> bytes:
        """A small JPEG of a sample for a report, at most `side` pixels wide and high.

        Truth and answer are drawn into it where they are places in the sample.
        """
        raise NotImplementedError(f"{self.name} has no thumbnails")
