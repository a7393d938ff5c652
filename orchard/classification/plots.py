"""Drawings of a classifier's figures as SVG text, coloured by classes of the report's style.

Classes: `ink`, `muted` (text), `grid`, `frame` (thin lines), `mark` (the recommended threshold),
`fill-1`, `fill-2`, `fill-3` and `line-1`, `line-2`, `line-3` (series), `whisker`, `diagonal`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from orchard.tasks.base import Plot

MOST_BARS = 30
MOST_CELLS = 25
MOST_CURVES = 12
_LABEL_LETTERS = 22

Point = tuple[float, float]


def plots(metrics: Mapping[str, Any], card: Mapping[str, Any]) -> list[Plot]:
    """All drawings, the most telling first."""
    thresholds = card["thresholds"]
    drawn = [
        Plot(
            "How well is each class recognised?",
            "Found: of the pictures of a class, how many the model answers with it. Right: of the "
            "pictures it answers with a class, how many are of it. The thin line is the range in "
            "which the true figure most likely lies; few pictures make it long."
            + _cut_note(metrics, MOST_BARS, "the weakest"),
            class_bars(metrics),
        ),
        Plot(
            "What is mixed up with what?",
            "A row is what a picture shows, a column what the model answered. On the diagonal the "
            "answer is right; any other coloured square is a mix-up. Numbers are pictures."
            + _cut_note(metrics, MOST_CELLS, "the most often mixed up"),
            confusion(metrics),
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


def class_bars(metrics: Mapping[str, Any]) -> str:
    """Two bars a class, recall and precision, with their intervals."""
    rows = metrics["per_class"]
    shown = _weakest(metrics, MOST_BARS)
    longest = max((len(_short(label)) for label in shown), default=0)
    left, width, step, top = max(90, round(20 + 7.2 * longest)), 430, 40, 26
    height = top + step * len(shown) + 24
    parts = [_axis(left, top, width, step * len(shown))]
    for number, label in enumerate(shown):
        row = rows[label]
        y = top + number * step
        parts.append(_text(left - 10, y + 18, _short(label), "ink", "end", title=label))
        parts.append(_text(left - 10, y + 32, _pictures(row["support"]), "muted", "end"))
        for offset, name, style in ((6, "recall", "fill-1"), (21, "precision", "fill-2")):
            size = row["support"] if name == "recall" else row["predicted"]
            parts.append(
                _bar(left, y + offset, width, row[name], row[f"{name}_interval"], style, size)
            )
    legend = _legend(left, 12, (("fill-1", "found"), ("fill-2", "right")))
    return _svg(left + width + 70, height, "Bars of each class", [legend, *parts])


def confusion(metrics: Mapping[str, Any]) -> str:
    """A heat map of truth against answer; the shade is the share of a row."""
    labels = metrics["confusion"]["labels"]
    matrix = metrics["confusion"]["matrix"]
    order = _most_mixed(matrix, MOST_CELLS)
    cell = 46 if len(order) <= 12 else 30
    longest = max(len(_short(labels[index])) for index in order)
    left, top = max(110, round(20 + 7.2 * longest)), round(46 + 5.2 * longest)
    parts = [
        _text(left - 10, top - 10, "picture shows ↓", "muted", "end"),
        _text(left, 14, "the model answered →", "muted", "start"),
    ]
    for column, index in enumerate(order):
        x = left + column * cell + cell / 2
        parts.append(
            f'<text class="ink" transform="translate({x + 4:.0f} {top - 8}) rotate(-45)">'
            f"<title>{escape(labels[index])}</title>{escape(_short(labels[index]))}</text>"
        )
    for row, truth in enumerate(order):
        y = top + row * cell
        parts.append(
            _text(left - 10, y + cell / 2 + 4, _short(labels[truth]), "ink", "end", labels[truth])
        )
        total = max(sum(matrix[truth]), 1)
        for column, answer in enumerate(order):
            count = matrix[truth][answer]
            share = count / total
            style = "fill-1" if truth == answer else "fill-3"
            x = left + column * cell
            hint = f"{labels[truth]} → {labels[answer]}: {count} of {sum(matrix[truth])}"
            parts.append(
                f'<g><title>{escape(hint)}</title><rect class="frame" x="{x}" y="{y}" '
                f'width="{cell - 2}" height="{cell - 2}" rx="4"/>'
            )
            if count:
                parts.append(
                    f'<rect class="{style}" x="{x}" y="{y}" width="{cell - 2}" height="{cell - 2}" '
                    f'rx="4" opacity="{0.15 + 0.85 * share:.2f}"/>'
                )
                tone = "on-fill" if share > 0.55 else "ink"
                parts.append(_text(x + cell / 2 - 1, y + cell / 2 + 4, str(count), tone, "middle"))
            parts.append("</g>")
    size = cell * len(order)
    return _svg(left + size + 110, top + size + 10, "Confusion matrix", parts)


def strictness(metrics: Mapping[str, Any], limit: float) -> str:
    """Share of answers given, and share of them right, over the confidence that is asked."""
    curve = metrics["answered"]
    box = (60.0, 30.0, 480.0, 220.0)
    lines = [
        _line(box, curve["thresholds"], curve["accuracy"], "line-1"),
        _line(box, curve["thresholds"], curve["share"], "line-2"),
    ]
    legend = _legend(
        60, 12, (("fill-1", "right, of the answers given"), ("fill-2", "answers given"))
    )
    frame = _frame(box, "confidence that is asked for")
    return _svg(580, 300, "Held back", [legend, frame, *lines, _marker(box, limit)])


def reliability(metrics: Mapping[str, Any]) -> str:
    """Accuracy over confidence, a dot a bin, with the diagonal."""
    left, top, width, height = box = (60.0, 20.0, 300.0, 260.0)
    most = max((row["count"] for row in metrics["reliability"]), default=1)
    parts = [
        _frame(box, "what the model claims", "how often it is right"),
        f'<line class="diagonal" x1="{left}" y1="{top + height}" x2="{left + width}" y2="{top}"/>',
    ]
    for row in metrics["reliability"]:
        if not row["count"]:
            continue
        x, y = _place(box, row["confidence"], row["accuracy"])
        radius = 3 + 9 * (row["count"] / most) ** 0.5
        hint = (
            f"{row['count']} answers: claims {_percent(row['confidence'])}, "
            f"right {_percent(row['accuracy'])}"
        )
        parts.append(
            f'<circle class="fill-1" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" opacity="0.85">'
            f"<title>{escape(hint)}</title></circle>"
        )
    return _svg(400, 330, "Confidence against truth", parts)


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
            _text(44, 14, _short(label), "ink strong", "start", label),
            _legend(44, 30, (("fill-2", "right"), ("fill-1", "found"), ("fill-3", "F1")), 62),
            _frame(box, ""),
            _line(box, thresholds, row["precision"], "line-2"),
            _line(box, thresholds, row["recall"], "line-1"),
            _line(box, thresholds, row["f1"], "line-3"),
            _marker(box, float(limits.get(label, 0.5))),
        ]
        drawings.append(_svg(278, 190, f"Thresholds of {label}", parts))
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


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'role="img" aria-label="{escape(title, quote=True)}">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, text: str, style: str, anchor: str = "start", title: str = "") -> str:
    hint = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{hint}{escape(text)}</text>"
    )


def _short(label: str) -> str:
    return label if len(label) <= _LABEL_LETTERS else f"{label[: _LABEL_LETTERS - 1]}…"


def _legend(
    x: float, y: float, entries: Sequence[tuple[str, str]], step: float | None = None
) -> str:
    parts = []
    for style, text in entries:
        parts.append(
            f'<rect class="{style}" x="{x:.0f}" y="{y - 9:.0f}" width="10" height="10" rx="2"/>'
        )
        parts.append(_text(x + 15, y, text, "muted"))
        x += step if step is not None else 30 + 6.6 * len(text)
    return "".join(parts)


def _axis(left: float, top: float, width: float, height: float) -> str:
    parts = []
    for tick in range(0, 101, 25):
        x = left + width * tick / 100
        parts.append(f'<line class="grid" x1="{x}" y1="{top}" x2="{x}" y2="{top + height}"/>')
        parts.append(_text(x, top + height + 16, f"{tick} %", "muted", "middle"))
    return "".join(parts)


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
        return _text(left + 4, y + 10, "no picture, so unknown", "muted")
    low, high = (left + width * end for end in interval)
    hint = f"{_percent(share)} of {count}, most likely {_percent(interval[0])} to {_percent(interval[1])}"
    middle = y + 6.5
    return (
        f"<g><title>{escape(hint)}</title>"
        f'<rect class="{style}" x="{left}" y="{y}" width="{max(width * share, 1):.1f}" height="13" rx="3"/>'
        f'<path class="whisker" d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {middle - 4}v8'
        f'M{high:.1f} {middle - 4}v8"/>{_text(left + width + 10, y + 11, _percent(share), "ink")}</g>'
    )


def _place(box: tuple[float, float, float, float], x: float, y: float) -> Point:
    left, top, width, height = box
    return left + width * x, top + height * (1 - y)


def _frame(box: tuple[float, float, float, float], below: str, beside: str = "") -> str:
    left, top, width, height = box
    parts = []
    for tick in range(0, 101, 50 if width < 250 else 25):
        x, y = _place(box, tick / 100, tick / 100)
        parts.append(f'<line class="grid" x1="{left}" y1="{y}" x2="{left + width}" y2="{y}"/>')
        parts.append(_text(left - 6, y + 4, f"{tick} %", "muted", "end"))
        parts.append(_text(x, top + height + 16, f"{tick} %", "muted", "middle"))
    if below:
        parts.append(_text(left + width / 2, top + height + 36, below, "muted", "middle"))
    if beside:
        middle = top + height / 2
        parts.append(
            f'<text class="muted" text-anchor="middle" transform="translate(14 {middle}) '
            f'rotate(-90)">{escape(beside)}</text>'
        )
    return "".join(parts)


def _line(
    box: tuple[float, float, float, float],
    xs: Sequence[float],
    ys: Sequence[float | None],
    style: str,
) -> str:
    points = [_place(box, x, y) for x, y in zip(xs, ys, strict=True) if y is not None]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path class="{style}" d="M{path}"/>' if points else ""


def _marker(box: tuple[float, float, float, float], limit: float) -> str:
    left, top, width, height = box
    x = left + width * limit
    anchor, shift = ("end", -5) if limit > 0.6 else ("start", 5)
    return f'<line class="mark" x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{top + height}"/>' + _text(
        x + shift, top + height - 8, _percent(limit), "muted", anchor
    )


def _pictures(count: int) -> str:
    return "1 picture" if count == 1 else f"{count} pictures"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
