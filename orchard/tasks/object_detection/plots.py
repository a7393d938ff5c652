"""Drawings of a detector's figures as SVG text, coloured by classes of the report's style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from orchard.tasks import drawing
from orchard.tasks.base import Plot
from orchard.tasks.object_detection.errors import (
    BADLY_PLACED,
    BOTH,
    DOUBLE,
    INVENTED,
    MISSED,
    WRONG_CLASS,
)

MOST_BARS = 30
MOST_CELLS = 24
MOST_CURVES = 12

_ERROR_WORDS = {
    MISSED: "missed",
    INVENTED: "invented",
    WRONG_CLASS: "wrong class",
    BADLY_PLACED: "badly placed",
    DOUBLE: "found twice",
    BOTH: "wrong class and place",
}
_SIZE_WORDS = {
    "small": "small (to 32 × 32)",
    "medium": "medium",
    "large": "large (from 96 × 96)",
}

Bar = tuple[float | None, str, str]


def plots(metrics: Mapping[str, Any], card: Mapping[str, Any]) -> list[Plot]:
    """All drawings, the most telling first."""
    if metrics["ap50"] is None:
        return []
    drawn = [
        Plot(
            "From which score on should a box count?",
            "The further right, the surer the model must be before a box counts. Right: of the "
            "boxes it draws, how many are. Found: of the objects that are there, how many have a "
            "box. F1 is both in one. The dashed line is the threshold that the service uses.",
            threshold_curves(metrics),
        ),
        Plot(
            "How well is each class found?",
            "AP50 sums up all thresholds: 100 % is perfect. AP50:95 also asks that the boxes fit "
            "tightly, and is always lower." + _cut_note(metrics, MOST_BARS, "the weakest"),
            class_bars(metrics),
        ),
        Plot(
            "What is mixed up, missed and invented?",
            "A row is what is there, a column what the model said. On the diagonal it is right. "
            "The last column counts objects without a right box, the last row boxes without an "
            "object of their own. Numbers are objects and boxes."
            + _cut_note(metrics, MOST_CELLS, "the most often mixed up"),
            confusion(metrics),
        ),
        Plot(
            "What kinds of errors are there?",
            "Missed: no box. Invented: a box with nothing there. Badly placed: a box that covers "
            "its object by less than half. Found twice: a second box on an object that has one.",
            error_bars(metrics),
        ),
        Plot(
            "Does the size of an object matter?",
            "Of the objects of each size (in pixels of the picture) how many are found at the "
            "threshold, and the AP50 over all thresholds.",
            size_bars(metrics),
        ),
        Plot(
            "Can it count?",
            "In how many pictures the number of boxes of a class is exactly the number of objects, "
            "and by how much it is off on average." + _cut_note(metrics, MOST_BARS, "the weakest"),
            count_bars(metrics),
        ),
    ]
    if len(metrics["per_class"]) > 1:
        drawn.append(
            Plot(
                "Each class at each threshold",
                "If one class matters on its own: right, found, and both in one (F1) for each "
                "threshold. The dashed line is the best threshold of the class."
                + _cut_note(metrics, MOST_CURVES, "the weakest"),
                class_curves(metrics, card["thresholds"]["per_class"]),
                folded=True,
            )
        )
    return drawn


def threshold_curves(metrics: Mapping[str, Any]) -> str:
    """Precision, recall and F1 of all boxes over the threshold, the recommended one marked."""
    curves = metrics["curves"]
    box = (60.0, 30.0, 480.0, 220.0)
    legend = drawing.legend(60, 12, (("fill-2", "right"), ("fill-1", "found"), ("fill-3", "F1")))
    frame = drawing.frame(box, "score from which a box counts")
    lines = _three_lines(box, curves["thresholds"], curves["overall"])
    mark = drawing.marker(box, metrics["threshold"])
    return drawing.svg(580, 300, "Thresholds", [legend, frame, *lines, mark])


def class_bars(metrics: Mapping[str, Any]) -> str:
    """Two bars a class: AP50 and AP50:95."""
    rows = metrics["per_class"]
    groups = [
        (
            label,
            _objects(rows[label]["support"]),
            [
                (rows[label]["ap50"], "fill-1", _percent(rows[label]["ap50"])),
                (rows[label]["ap"], "fill-2", _percent(rows[label]["ap"])),
            ],
        )
        for label in _weakest(metrics, MOST_BARS)
    ]
    legend = (("fill-1", "AP50"), ("fill-2", "AP50:95"))
    return _bars(groups, "Average precision of each class", legend)


def size_bars(metrics: Mapping[str, Any]) -> str:
    """Two bars a size: recall at the threshold and AP50."""
    groups = [
        (
            words,
            _objects(row["boxes"]),
            [
                (row["recall"], "fill-1", _percent(row["recall"])),
                (row["ap50"], "fill-2", _percent(row["ap50"])),
            ],
        )
        for size, words in _SIZE_WORDS.items()
        for row in [metrics["by_size"][size]]
    ]
    return _bars(groups, "Objects by size", (("fill-1", "found"), ("fill-2", "AP50")))


def count_bars(metrics: Mapping[str, Any]) -> str:
    """A bar a class: share of pictures counted exactly right, with the mean error."""
    rows = metrics["per_class"]
    groups: list[tuple[str, str, list[Bar]]] = []
    for label in _weakest(metrics, MOST_BARS):
        row = rows[label]
        words = (
            "unknown"
            if row["count_right"] is None
            else f"{drawing.percent(row['count_right'])}, off by {row['count_error']:.2g}"
        )
        groups.append((label, "", [(row["count_right"], "fill-1", words)]))
    return _bars(groups, "Counting", (("fill-1", "pictures counted exactly right"),), 130)


def error_bars(metrics: Mapping[str, Any]) -> str:
    """A bar a kind of error, as a share of all errors."""
    errors = metrics["errors"]
    total = max(sum(errors.values()), 1)
    groups: list[tuple[str, str, list[Bar]]] = [
        (words, "", [(errors[kind] / total, "fill-3", f"{errors[kind]:,}")])
        for kind, words in _ERROR_WORDS.items()
    ]
    return _bars(groups, "Errors by kind", (("fill-3", "share of all errors"),))


def confusion(metrics: Mapping[str, Any]) -> str:
    """Truth against answer, with a column for what was missed and a row for what was invented."""
    labels, matrix = metrics["confusion"]["labels"], metrics["confusion"]["matrix"]
    order = [*_most_mixed(matrix, len(labels)), len(labels)]
    rows = [*(labels[index] for index in order[:-1]), "(nothing there)"]
    columns = [*rows[:-1], "(missed)"]
    cells = [[matrix[row][column] for column in order] for row in order]
    totals = [sum(matrix[row]) for row in order]
    return drawing.heat_map(rows, columns, cells, totals, "in the picture ↓")


def class_curves(metrics: Mapping[str, Any], limits: Mapping[str, float]) -> str:
    """A small drawing a class: precision, recall and F1 over its threshold."""
    drawings = []
    legend = (("fill-2", "right"), ("fill-1", "found"), ("fill-3", "F1"))
    for label in _weakest(metrics, MOST_CURVES):
        if not metrics["per_class"][label]["support"]:
            continue
        box = (44.0, 40.0, 210.0, 120.0)
        curves = metrics["curves"]
        parts = [
            drawing.text(44, 14, drawing.short(label), "ink strong", "start", label),
            drawing.legend(44, 30, legend, 62),
            drawing.frame(box, ""),
            *_three_lines(box, curves["thresholds"], curves["per_class"][label]),
            drawing.marker(box, float(limits.get(label, metrics["threshold"]))),
        ]
        drawings.append(drawing.svg(278, 190, f"Thresholds of {label}", parts))
    return "".join(drawings)


def _three_lines(
    box: tuple[float, float, float, float], thresholds: Sequence[float], row: Mapping[str, Any]
) -> list[str]:
    styles = (("precision", "line-2"), ("recall", "line-1"), ("f1", "line-3"))
    return [drawing.line(box, thresholds, row[name], style) for name, style in styles]


def _bars(
    groups: Sequence[tuple[str, str, Sequence[Bar]]],
    title: str,
    legend: Sequence[tuple[str, str]],
    room: int = 70,
) -> str:
    """Groups (name, words below it, bars) of horizontal bars (share, style, words beside it)."""
    longest = max((len(drawing.short(name)) for name, _, _ in groups), default=0)
    left, width, top = max(90, round(20 + 7.2 * longest)), 430, 26
    step = 10 + 15 * max((len(bars) for _, _, bars in groups), default=1)
    parts = [
        drawing.legend(left, 12, legend),
        drawing.axis(left, top, width, step * len(groups)),
    ]
    for number, (name, below, bars) in enumerate(groups):
        y = top + number * step
        middle = y + step / 2 + (-2 if below else 4)
        parts.append(drawing.text(left - 10, middle, drawing.short(name), "ink", "end", name))
        if below:
            parts.append(drawing.text(left - 10, middle + 14, below, "muted", "end"))
        known = [(share, style, words) for share, style, words in bars if share is not None]
        for place, (share, style, words) in enumerate(known):
            parts.append(_bar(left, y + 6 + 15 * place, width, share, style, f"{name}: {words}"))
            parts.append(drawing.text(left + width + 10, y + 17 + 15 * place, words, "ink"))
        if not known:
            parts.append(drawing.text(left + 4, y + 16, "none in the test, so unknown", "muted"))
    return drawing.svg(left + width + room, top + step * len(groups) + 24, title, parts)


def _bar(left: float, y: float, width: float, share: float, style: str, hint: str) -> str:
    return (
        f"<g><title>{escape(hint)}</title>"
        f'<rect class="{style}" x="{left}" y="{y}" width="{max(width * share, 1):.1f}" '
        f'height="13" rx="3"/></g>'
    )


def _weakest(metrics: Mapping[str, Any], most: int) -> list[str]:
    """Class names in their order; where there are more than `most`, the weakest of them."""
    rows = metrics["per_class"]
    if len(rows) <= most:
        return list(rows)
    known = [label for label, row in rows.items() if row["support"]]
    return sorted(known, key=lambda label: (rows[label]["ap50"], label))[:most]


def _most_mixed(matrix: Sequence[Sequence[int]], classes: int) -> list[int]:
    indices = list(range(classes))
    if classes <= MOST_CELLS:
        return indices
    columns = [sum(row) for row in zip(*matrix, strict=True)]
    wrong = [sum(matrix[i]) + columns[i] - 2 * matrix[i][i] for i in indices]
    return sorted(sorted(indices, key=lambda i: (-wrong[i], i))[:MOST_CELLS])


def _cut_note(metrics: Mapping[str, Any], most: int, which: str) -> str:
    count = len(metrics["per_class"])
    return f" Shown are {which} {most} of {count} classes." if count > most else ""


def _percent(share: float | None) -> str:
    return "" if share is None else drawing.percent(share)


def _objects(count: int) -> str:
    return "1 object" if count == 1 else f"{count:,} objects"
