"""The parts of a report that a task makes."""

from __future__ import annotations

from dataclasses import dataclass


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


@dataclass(frozen=True)
class Table:
    """A table of a report: heads of the columns and rows of text, the first column names the row."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
