"""The interface of a label format.

A format is a file in this folder with a subclass of `Format`, entered in `orchard.formats`. It is
asked whether it recognises a listing; the one that is surest then reads the labels. It knows no
task, only the kinds of labels that it can carry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from orchard.sources.base import Refusal
from orchard.sources.listing import Listing

Json = Any


@dataclass(frozen=True)
class Evidence:
    """Why a format thinks that a source is its own.

    Attributes:
        confidence: 0 (not at all) to 1 (sure).
        reason: a sentence for the log.
        notices: what was decided where the source could be read in two ways.
        facts: what the format found and needs for reading.
    """

    confidence: float
    reason: str
    notices: tuple[str, ...] = ()
    facts: Any = None


@dataclass(frozen=True)
class Label:
    """One label row.

    Attributes:
        path: the sample's path in the source, or the end of it that is known.
        annotation: the label as JSON: the class name, or what `orchard.formats.boxes` makes.
        split: "train", "validation", "test", or None where nothing is said.
        source: the file or rule that said it.
        line: line in that file, from 1; 0 where it has no lines.
        origin: what the sample comes of (a speaker, a machine, a session), or None where nothing is
            said. Samples of one origin belong into one split.
    """

    path: str
    annotation: Json
    split: str | None
    source: str
    line: int = 0
    origin: str | None = None


class Role(Enum):
    """What a file of a source is."""

    SAMPLE = "sample"
    DOCUMENT = "document"
    """Labels of one or a few samples; its bytes go to `Reading.document`."""
    OTHER = "other"
    """Belongs to the data set but is no sample: a table, a README, a licence."""


@dataclass
class Reading:
    """Reads the labels of one source. Subclasses override what their format has.

    Attributes:
        notices: sentences about what was decided while reading, with the number of rows.
    """

    listing: Listing
    evidence: Evidence
    notices: Counter[str] = field(default_factory=Counter)

    def tables(self) -> Iterable[Label | Refusal]:
        """Label rows of tables, which cover the whole source."""
        return ()

    def role(self, path: str) -> Role:
        """What a file is."""
        return Role.SAMPLE

    def split(self, path: str) -> str | None:
        """The split that a sample's place hints at."""
        return None

    def sample(self, path: str) -> Iterable[Label | Refusal]:
        """Label rows that follow from a sample's own path."""
        return ()

    def document(self, path: str, payload: bytes) -> Iterable[Label | Refusal]:
        """Label rows of a document."""
        return ()


class Format(ABC):
    """One way in which labelled samples are handed over.

    Attributes:
        name: short name, as it stands in facts.
        title: what a person calls it, as it stands in messages about what is accepted.
        kinds: kinds of labels that it can carry: "class" (one class a sample), "boxes".
        reads_tables: whether its labels stand in one file, which a person may point at.
    """

    name: str
    title: str
    kinds: frozenset[str]
    reads_tables: bool = False

    @abstractmethod
    def recognise(self, listing: Listing) -> Evidence | None:
        """How sure the format is that the source is its own; None where it is not."""

    @abstractmethod
    def read(self, listing: Listing, evidence: Evidence) -> Reading:
        """A reading of the source that was recognised."""

    def mistaken(self, listing: Listing) -> list[str]:
        """What of the source looks like this format and holds no usable labels, as sentences."""
        return []
