"""Drawings of a classifier's figures as SVG text, coloured by classes of the report's style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from orchard.tasks import drawing
from orchard.tasks.base import Plot
from orchard.tasks.wording import counted

MOST_BARS = 30
MOST_CELLS = 25
MOST_CURVES = 12


def plots(metrics: Mapping[str, Any], card: Mapping[str, Any], word: str) -> list[Plot]:
    """All drawings, the most telling first; `word` is what a person calls a sample ("picture")."""
    thresholds = card["thresholds"]
    drawn = [
        Plot(
            "How well is each class recognised?",
            f"Found: of the {word}s of a class, how many the model answers with it. Right: of the "
            f"{word}s it answers with a class, how many are of it. The thin line is the range in "
            f"which the true figure most likely lies; few {word}s make it long."
            + _cut_note(metrics, MOST_BARS, "the weakest"),
            class_bars(metrics, word),
        ),
        Plot(
            "What is mixed up with what?",
            f"A row is what a {word} shows, a column what the model answered. On the diagonal the "
            f"answer is right; any other coloured square is a mix-up. Numbers are {word}s."
            + _cut_note(metrics, MOST_CELLS, "the most often mixed up"),
            confusion(metrics, word),
        ),
        Plot(
            "What if unsure answers are held back?",
            "The further right, the surer the model must be before its answer counts. The dashed "
            "line is the limit that the service uses for “not sure”.",
            strictness(metrics, float(thresholds["not_sure"])),
        ),
        Plot(
            "Can its confidence be believed?",
            "Each dot is a group of answers of like confidence, larger where there are more. On "
            "the diagonal the model is as often right as it says; below it, it is too sure.",
            reliability(metrics),
        ),
    ]
    curves = class_curves(metrics, thresholds["per_class"])
    if curves:
        drawn.append(
            Plot(
                "Each class at each threshold",
                "If one class matters on its own (“sound the alarm from this score on”): right, "
                "found, and both in one (F1) for each threshold. The dashed line is the recommended "
                "threshold of the class." + _cut_note(metrics, MOST_CURVES, "the weakest"),
                curves,
                folded=True,
            )
        )
    return drawn


def class_bars(metrics: Mapping[str, Any], word: str) -> str:
    """Two bars a class, recall and precision, with their intervals."""
    rows = metrics["per_class"]
    shown = _weakest(metrics, MOST_BARS)
    longest = max((len(drawing.short(label)) for label in shown), default=0)
    left, width, step, top = max(90, round(20 + 7.2 * longest)), 430, 40, 26
    height = top + step * len(shown) + 24
    parts = [drawing.axis(left, top, width, step * len(shown))]
    for number, label in enumerate(shown):
        row = rows[label]
        y = top + number * step
        parts.append(
            drawing.text(left - 10, y + 18, drawing.short(label), "ink", "end", title=label)
        )
        parts.append(drawing.text(left - 10, y + 32, counted(row["support"], word), "muted", "end"))
        for offset, name, style in ((6, "recall", "fill-1"), (21, "precision", "fill-2")):
            size = row["support"] if name == "recall" else row["predicted"]
            parts.append(
                _bar(left, y + offset, width, row[name], row[f"{name}_interval"], style, size)
            )
    legend = drawing.legend(left, 12, (("fill-1", "found"), ("fill-2", "right")))
    return drawing.svg(left + width + 70, height, "Bars of each class", [legend, *parts])


def confusion(metrics: Mapping[str, Any], word: str) -> str:
    """A heat map of truth against answer."""
    labels = metrics["confusion"]["labels"]
    matrix = metrics["confusion"]["matrix"]
    order = _most_mixed(matrix, MOST_CELLS)
    shown = [labels[index] for index in order]
    return drawing.heat_map(
        shown,
        shown,
        [[matrix[row][column] for column in order] for row in order],
        [sum(matrix[row]) for row in order],
        f"{word} shows ↓",
    )


def strictness(metrics: Mapping[str, Any], limit: float) -> str:
    """Share of answers given, and share of them right, over the confidence that is asked."""
    curve = metrics["answered"]
    box = (60.0, 30.0, 480.0, 220.0)
    lines = [
        drawing.line(box, curve["thresholds"], curve["accuracy"], "line-1"),
        drawing.line(box, curve["thresholds"], curve["share"], "line-2"),
    ]
    legend = drawing.legend(
        60, 12, (("fill-1", "right, of the answers given"), ("fill-2", "answers given"))
    )
    frame = drawing.frame(box, "confidence that is asked for")
    return drawing.svg(580, 300, "Held back", [legend, frame, *lines, drawing.marker(box, limit)])


def reliability(metrics: Mapping[str, Any]) -> str:
    """Accuracy over confidence, a dot a bin, with the diagonal."""
    left, top, width, height = box = (60.0, 20.0, 300.0, 260.0)
    most = max((row["count"] for row in metrics["reliability"]), default=1)
    parts = [
        drawing.frame(box, "what the model claims", "how often it is right"),
        f'<line class="diagonal" x1="{left}" y1="{top + height}" x2="{left + width}" y2="{top}"/>',
    ]
    for row in metrics["reliability"]:
        if not row["count"]:
            continue
        x, y = drawing.place(box, row["confidence"], row["accuracy"])
        radius = 3 + 9 * (row["count"] / most) ** 0.5
        hint = (
            f"{row['count']} answers: claims {drawing.percent(row['confidence'])}, "
            f"right {drawing.percent(row['accuracy'])}"
        )
        parts.append(
            f'<circle class="fill-1" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" opacity="0.85">'
            f"<title>{escape(hint)}</title></circle>"
        )
    return drawing.svg(400, 330, "Confidence against truth", parts)


def class_curves(metrics: Mapping[str, Any], limits: Mapping[str, float]) -> str:
    """A small drawing a class: precision, recall and F1 over its threshold."""
    thresholds = metrics["curves"]["thresholds"]
    drawings = []
    for label in _weakest(metrics, MOST_CURVES):
        row = metrics["curves"]["per_class"][label]
        if not metrics["per_class"][label]["support"]:
            continue
        box = (44.0, 40.0, 210.0, 120.0)
        parts = [
            drawing.text(44, 14, drawing.short(label), "ink strong", "start", label),
            drawing.legend(
                44, 30, (("fill-2", "right"), ("fill-1", "found"), ("fill-3", "F1")), 62
            ),
            drawing.frame(box, ""),
            drawing.line(box, thresholds, row["precision"], "line-2"),
            drawing.line(box, thresholds, row["recall"], "line-1"),
            drawing.line(box, thresholds, row["f1"], "line-3"),
            drawing.marker(box, float(limits.get(label, 0.5))),
        ]
        drawings.append(drawing.svg(278, 190, f"Thresholds of {label}", parts))
    return "".join(drawings)


def _weakest(metrics: Mapping[str, Any], most: int) -> list[str]:
    """Class names in their order; where there are more than `most`, the weakest of them."""
    rows = metrics["per_class"]
    if len(rows) <= most:
        return list(rows)
    known = [label for label, row in rows.items() if row["support"]]
    return sorted(known, key=lambda label: (rows[label]["f1"], label))[:most]


def _most_mixed(matrix: Sequence[Sequence[int]], most: int) -> list[int]:
    indices = list(range(len(matrix)))
    if len(indices) <= most:
        return indices
    columns = [sum(row) for row in zip(*matrix, strict=True)]
    wrong = [sum(matrix[i]) + columns[i] - 2 * matrix[i][i] for i in indices]
    return sorted(sorted(indices, key=lambda i: (-wrong[i], i))[:most])


def _cut_note(metrics: Mapping[str, Any], most: int, which: str) -> str:
    count = len(metrics["per_class"])
    return f" Shown are {which} {most} of {count} classes." if count > most else ""


def _bar(
    left: float,
    y: float,
    width: float,
    share: float,
    interval: Sequence[float] | None,
    style: str,
    count: int,
) -> str:
    if interval is None:
        return drawing.text(left + 4, y + 10, "no sample, so unknown", "muted")
    low, high = (left + width * end for end in interval)
    hint = f"{drawing.percent(share)} of {count}, most likely {drawing.percent(interval[0])} to {drawing.percent(interval[1])}"
    middle = y + 6.5
    return (
        f"<g><title>{escape(hint)}</title>"
        f'<rect class="{style}" x="{left}" y="{y}" width="{max(width * share, 1):.1f}" height="13" rx="3"/>'
        f'<path class="whisker" d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {middle - 4}v8'
        f'M{high:.1f} {middle - 4}v8"/>{drawing.text(left + width + 10, y + 11, drawing.percent(share), "ink")}</g>'
    )
