"""The interface between the workflow and a task (image classification, object detection, …).

The workflow knows this interface and no task by name. A task is a folder `orchard/tasks/<name>/`
whose `__init__` exposes `TASK`, an instance of a `Task` subclass. It holds what the task's labels
are, its judge, metrics, thresholds, report and response; no engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Json = Any


@dataclass(frozen=True)
class Limits:
    """What the judge accepts; every field is a setting.

    Attributes:
        maximum_pixels: width × height above which a picture is refused before it is decoded.
        maximum_bytes: encoded size above which a picture is scaled to fit (and said so).
        minimum_side: shortest side in pixels that is accepted.
        maximum_seconds: longest recording accepted, in seconds.
    """

    maximum_pixels: int = 100_000_000
    maximum_bytes: int = 4 * 1024 * 1024
    minimum_side: int = 1
    maximum_seconds: float = 60.0


JUDGED = Limits(maximum_pixels=2**40)
"""For samples that the judge has taken: its limits are not asked twice."""


@dataclass(frozen=True)
class Accepted:
    """A sample the judge took.

    Attributes:
        payload: the bytes to store; the bytes that were given unless the judge had to change them.
        changed: whether `payload` differs from what was given.
        width, height: size in pixels after rotation (pictures); 0 where the task has none.
        fingerprint: perceptual hash for near-duplicate search (32 bytes), or b"" where the task
            has none. Near means a small Hamming distance.
        notices: sentences about what was done or found (wrong extension, first frame taken, …).
    """

    payload: bytes
    changed: bool = False
    width: int = 0
    height: int = 0
    fingerprint: bytes = b""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refused:
    """A sample the judge did not take, with the reason as a sentence and a short code."""

    code: str
    reason: str


@dataclass(frozen=True)
class Scores:
    """What a model said about a set of samples.

    Attributes:
        labels: K class names, in the model's order.
        scores: (N, K) float32, each row summing to 1.
        truth: (N,) int64 index into `labels`; -1 where the truth is not one of them.
        sample_ids: N sample ids, in the same order.
    """

    labels: tuple[str, ...]
    scores: NDArray[np.float32]
    truth: NDArray[np.int64]
    sample_ids: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Finding:
    """One sentence of a report.

    Attributes:
        kind: "good", "problem" (something is not as it should be) or "advice" (what to do next).
    """

    kind: str
    text: str


@dataclass(frozen=True)
class Plot:
    """One drawing of a report.

    Attributes:
        title: what it shows, as a person would ask it.
        explanation: how to read it, in plain words.
        svg: one `<svg>` element, or several; colours by the classes of the report's style.
        folded: shown only when a person opens it.
    """

    title: str
    explanation: str
    svg: str
    folded: bool = False


class Task(ABC):
    """One kind of work (classify pictures, find objects, …) as the workflow sees it."""

    name: str
    title: str
    sample_word: str = "picture"
    service_segment: str = ""
    """Part of the prediction service's path that stands for the task."""
    service_field: str = "image"
    """JSON field of the prediction service that holds a sample in base64."""
    objectives: Sequence[str] | Mapping[str, str] = ()
    """What the search may optimise: names out of `metrics`."""
    figure_words: Mapping[str, str] = {}
    """Headline figures in plain words, by their name in `metrics`."""
    near_bits: int = 0
    """Largest Hamming distance of two fingerprints that are near-duplicates."""

    @abstractmethod
    def judge(self, payload: bytes, path: str, limits: Limits) -> Accepted | Refused:
        """Decide over the bytes of one sample. Pure; never raises for bad bytes."""

    @abstractmethod
    def labels_of(self, annotation: Json) -> tuple[str, ...]:
        """The class names in one sample's annotation."""

    @abstractmethod
    def renamed(self, annotation: Json, names: Mapping[str, str]) -> Json:
        """The annotation with class names replaced as `names` says."""

    @abstractmethod
    def decode(self, payload: bytes, limits: Limits | None = None) -> NDArray[np.uint8]:
        """Bytes of a sample → what preprocessing takes (pictures: (H, W, 3) RGB).

        Raises BadInput for bytes that are no sample, or above the limits (default: `Limits()`).
        """

    @abstractmethod
    def metrics(self, *args: Any, **kwargs: Any) -> dict[str, Json]:
        """All figures of an evaluation as JSON; the first ones are named in `headline_metrics`."""

    @abstractmethod
    def response(self, *args: Any, **kwargs: Any) -> dict[str, Json]:
        """The answer of the prediction service for one sample, (K,) scores → JSON."""

    @property
    @abstractmethod
    def headline_metrics(self) -> Sequence[str]:
        """Names out of `metrics` that are shown first, the deciding one at the front."""

    def temperature(self, logits: NDArray[np.float32], truth: NDArray[np.int64]) -> float:
        """The number by which logits (N, K) are divided so that scores are honest."""
        raise NotImplementedError

    @abstractmethod
    def thresholds(self, *args: Any, **kwargs: Any) -> dict[str, Json]:
        """What a score must reach: {"per_class": {label: t}, "not_sure": t}."""

    def bands(self, fingerprint: bytes) -> tuple[int, ...]:
        """Numbers of which two near fingerprints share at least one; () where the task has none."""
        return ()

    def distance(self, one: bytes, other: bytes) -> int:
        """Bits in which two fingerprints differ."""
        return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).bit_count()

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

    def thumbnail(self, *args: Any, **kwargs: Any) -> bytes:
        """A small JPEG of a sample for a report, at most `side` pixels wide and high."""
        raise NotImplementedError(f"{self.name} has no thumbnails")


@dataclass(frozen=True)
class Answers:
    """What a model said about a set of samples, beside the truth.

    Attributes:
        labels: K class names, in the model's order.
        answers: N answers; an answer's shape is the task's own.
        truths: N annotations.
        sample_ids: N sample ids, or none.
    """

    labels: tuple[str, ...]
    answers: Sequence[NDArray[np.float32]]
    truths: Sequence[Json]
    sample_ids: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Verdict:
    """Whether one answer is right, for the list of bad cases.

    Attributes:
        truth, said: truth and answer in words.
        confidence: how bad a wrong answer is, 0 to 1; the worst come first in a report.
    """

    right: bool
    truth: str
    said: str
    confidence: float


@dataclass(frozen=True)
class Given:
    """A picture as its file has it.

    Attributes:
        width, height: size in pixels upright, before the judge scaled it.
        orientation: EXIF orientation, 1 to 8; 5 to 8 stand on their side in the file.
    """

    width: int
    height: int
    orientation: int = 1


@dataclass(frozen=True)
class Settled:
    """An annotation after the sample's size is known.

    Attributes:
        annotation: as it is stored; None where it is refused.
        notices: sentences about what was repaired; the same words for the same thing.
        code, reason: of a refusal.
    """

    annotation: Json | None
    notices: tuple[str, ...] = ()
    code: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Table:
    """A table of a report: heads of the columns and rows of text, the first column names the row."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
