"""Parts of a report's drawings as SVG text, coloured by classes of the report's style.

Classes: `ink`, `muted` (text), `grid`, `frame` (thin lines), `mark` (the recommended threshold),
`fill-1`, `fill-2`, `fill-3` and `line-1`, `line-2`, `line-3` (series), `whisker`, `diagonal`.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_LABEL_LETTERS = 22

Point = tuple[float, float]


def svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """A whole drawing of `width` × `height` pixels; `title` is for people who hear it read."""
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'role="img" aria-label="{escape(title, quote=True)}">{"".join(parts)}</svg>'
    )


def text(x: float, y: float, words: str, style: str, anchor: str = "start", title: str = "") -> str:
    """A text with a style class; `title` shows where the mouse rests."""
    hint = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{hint}{escape(words)}</text>"
    )


def short(label: str) -> str:
    """A class name that fits beside a drawing."""
    return label if len(label) <= _LABEL_LETTERS else f"{label[: _LABEL_LETTERS - 1]}…"


def legend(
    x: float, y: float, entries: Sequence[tuple[str, str]], step: float | None = None
) -> str:
    """Coloured squares with words, (style, words) each, from left to right."""
    parts = []
    for style, word in entries:
        parts.append(
            f'<rect class="{style}" x="{x:.0f}" y="{y - 9:.0f}" width="10" height="10" rx="2"/>'
        )
        parts.append(text(x + 15, y, word, "muted"))
        x += step if step is not None else 30 + 6.6 * len(word)
    return "".join(parts)


def axis(left: float, top: float, width: float, height: float) -> str:
    """Grid lines and numbers from 0 % to 100 % below a drawing of bars."""
    parts = []
    for tick in range(0, 101, 25):
        x = left + width * tick / 100
        parts.append(f'<line class="grid" x1="{x}" y1="{top}" x2="{x}" y2="{top + height}"/>')
        parts.append(text(x, top + height + 16, f"{tick} %", "muted", "middle"))
    return "".join(parts)


def place(box: tuple[float, float, float, float], x: float, y: float) -> Point:
    """A point (x, y), each 0 to 1, in pixels of a box (left, top, width, height)."""
    left, top, width, height = box
    return left + width * x, top + height * (1 - y)


def frame(box: tuple[float, float, float, float], below: str, beside: str = "") -> str:
    """Grid and numbers of a box whose sides run from 0 % to 100 %."""
    left, top, width, height = box
    parts = []
    for tick in range(0, 101, 50 if width < 250 else 25):
        x, y = place(box, tick / 100, tick / 100)
        parts.append(f'<line class="grid" x1="{left}" y1="{y}" x2="{left + width}" y2="{y}"/>')
        parts.append(text(left - 6, y + 4, f"{tick} %", "muted", "end"))
        parts.append(text(x, top + height + 16, f"{tick} %", "muted", "middle"))
    if below:
        parts.append(text(left + width / 2, top + height + 36, below, "muted", "middle"))
    if beside:
        middle = top + height / 2
        parts.append(
            f'<text class="muted" text-anchor="middle" transform="translate(14 {middle}) '
            f'rotate(-90)">{escape(beside)}</text>'
        )
    return "".join(parts)


def line(
    box: tuple[float, float, float, float],
    xs: Sequence[float],
    ys: Sequence[float | None],
    style: str,
) -> str:
    """A line through points of a box; those without a value are left out."""
    points = [place(box, x, y) for x, y in zip(xs, ys, strict=True) if y is not None]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path class="{style}" d="M{path}"/>' if points else ""


def marker(box: tuple[float, float, float, float], limit: float) -> str:
    """A dashed line across a box at a threshold, with its number."""
    left, top, width, height = box
    x = left + width * limit
    anchor, shift = ("end", -5) if limit > 0.6 else ("start", 5)
    return f'<line class="mark" x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{top + height}"/>' + text(
        x + shift, top + height - 8, percent(limit), "muted", anchor
    )


def percent(share: float) -> str:
    """A share in whole per cent."""
    return f"{100 * share:.0f} %"


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    matrix: Sequence[Sequence[int]],
    totals: Sequence[int],
    rows_are: str,
) -> str:
    """A confusion matrix, row: truth, column: answer; the shade is the share of a row's total.

    Equal names of row and column are right answers and have another colour than the rest.
    """
    cell = 46 if len(columns) <= 12 else 30
    longest = max(len(short(name)) for name in [*rows, *columns])
    left, top = max(110, round(20 + 7.2 * longest)), round(46 + 5.2 * longest)
    parts = [
        text(left - 10, top - 10, rows_are, "muted", "end"),
        text(left, 14, "the model answered →", "muted", "start"),
    ]
    for number, name in enumerate(columns):
        x = left + number * cell + cell / 2
        parts.append(
            f'<text class="ink" transform="translate({x + 4:.0f} {top - 8}) rotate(-45)">'
            f"<title>{escape(name)}</title>{escape(short(name))}</text>"
        )
    for row, name in enumerate(rows):
        y = top + row * cell
        parts.append(text(left - 10, y + cell / 2 + 4, short(name), "ink", "end", name))
        for column, answer in enumerate(columns):
            count = matrix[row][column]
            hint = f"{name} → {answer}: {count} of {totals[row]}"
            share = count / max(totals[row], 1)
            parts.append(
                _cell(left + column * cell, y, cell - 2, count, share, name == answer, hint)
            )
    width, height = left + cell * len(columns) + 110, top + cell * len(rows) + 10
    return svg(width, height, "Confusion matrix", parts)


def _cell(x: float, y: float, side: float, count: int, share: float, right: bool, hint: str) -> str:
    drawn = (
        f'<g><title>{escape(hint)}</title><rect class="frame" x="{x}" y="{y}" '
        f'width="{side}" height="{side}" rx="4"/>'
    )
    if count:
        style = "fill-1" if right else "fill-3"
        drawn += (
            f'<rect class="{style}" x="{x}" y="{y}" width="{side}" height="{side}" '
            f'rx="4" opacity="{0.15 + 0.85 * share:.2f}"/>'
        )
        tone = "on-fill" if share > 0.55 else "ink"
        drawn += text(x + side / 2, y + side / 2 + 5, str(count), tone, "middle")
    return drawn + "</g>"
