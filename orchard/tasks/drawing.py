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
