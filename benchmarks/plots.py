"""Plots a run as SVG: bars with their spread, and the marks as ratios."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from benchmarks.report import Figure, Mark, Run, marked, measured, number, title

WIDTH = 860
BAR_WIDTH = 640
"""Pixels of the longest bar. Its value is printed to the right of it."""
_LEFT, _TOP, _ROW, _BAR = 16, 58, 42, 14
_BLUE, _GREEN, _RED, _DARK, _GREY = "#3b6fb6", "#3a8f5c", "#c0453b", "#222222", "#8a8a8a"
_MOST_TIMES = 3.0
"""The largest ratio that is drawn to scale. A larger one fills the whole width, so that the others stay readable."""
_UNITS_IN_FILE_NAMES = {"/s": "per-second", "µs": "us"}


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    least: float
    most: float
    text: str
    colour: str = _BLUE


def plots(run: Run) -> dict[str, str]:
    """Returns the plots of a run by name: one for each measure and unit with several figures, and one of the marks."""
    found: dict[str, str] = {}
    for measure in dict.fromkeys(figure.measure for figure in run.figures):
        by_unit = _comparable([figure for figure in run.figures if figure.measure == measure])
        for unit, figures in by_unit.items():
            name = measure if len(by_unit) == 1 else f"{measure}-{_UNITS_IN_FILE_NAMES.get(unit, unit)}"
            found[name] = bars(f"{measure}, {unit}", [_bar(figure) for figure in figures])
    if ratios := [bar for figure in run.figures if (bar := _ratio(figure)) is not None]:
        found["marks"] = bars("How far each mark is passed (1: just reached)", ratios, line_at=1.0)
    return found


def _comparable(figures: Sequence[Figure]) -> dict[str, list[Figure]]:
    """Returns whether figures with this unit can share a plot. Ratios and counts cannot."""
    by_unit: dict[str, list[Figure]] = {}
    for figure in figures:
        if figure.unit:
            by_unit.setdefault(figure.unit, []).append(figure)
    return {unit: some for unit, some in by_unit.items() if len(some) > 1}


def _bar(figure: Figure) -> Bar:
    return Bar(title(figure), figure.value, min(figure.rounds), max(figure.rounds), number(figure.value))


def _ratio(figure: Figure) -> Bar | None:
    """Returns the ratio to the mark, which is at least one if the mark is reached. A mark of zero has none."""
    if figure.mark is None or figure.mark.limit == 0:
        return None
    values = [times_the_mark(figure.mark, value) for value in (figure.value, *figure.rounds)]
    times = number(values[0]) if math.isfinite(values[0]) else "∞"
    text = f"{times}   ({measured(figure)}, {marked(figure)})"
    label = f"{figure.measure}: {title(figure)}"
    colour = _GREEN if figure.reached else _RED
    shown = [min(value, _MOST_TIMES) for value in values]
    return Bar(label, shown[0], min(shown), max(shown), text, colour)


def times_the_mark(mark: Mark, value: float) -> float:
    if mark.bound == "at least":
        return value / mark.limit
    return mark.limit / value if value else math.inf


def bars(heading: str, rows: Sequence[Bar], *, line_at: float | None = None) -> str:
    """Draws horizontal bars under their labels, on one scale from zero. The whisker reaches from the least to the largest value."""
    largest = max(*(row.most for row in rows), line_at or 0.0) or 1.0
    scale = BAR_WIDTH / largest
    height = _TOP + _ROW * len(rows) + 8
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="system-ui, sans-serif">',
        f'<rect class="ground" width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(_LEFT, 26, heading, size=16, weight="bold"),
        _text(_LEFT, 44, "median of the rounds; the line goes from the lowest to the highest", size=11, fill=_GREY),
    ]  # fmt: skip
    for n, row in enumerate(rows):
        top = _TOP + n * _ROW
        parts += _row(row, top, scale, clear_of=line_at or 0.0)
        if line_at is not None:  # the whisker crosses the bar and not the text
            x = _LEFT + line_at * scale
            parts.append(_line(x, top + 14, x, top + 18 + _BAR, _DARK, dash="3 2"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _row(row: Bar, top: float, scale: float, *, clear_of: float) -> list[str]:
    y, right = top + 16, _LEFT + row.most * scale
    parts = [
        _text(_LEFT, top + 11, row.label, size=12),
        f'<rect class="bar" x="{_LEFT}" y="{y:g}" width="{row.value * scale:.2f}" height="{_BAR}" fill="{row.colour}"/>',
    ]
    if row.most > row.least:
        left, middle = _LEFT + row.least * scale, y + _BAR / 2
        parts.append(_line(left, middle, right, middle, _DARK))
        parts += [_line(x, middle - 4, x, middle + 4, _DARK) for x in (left, right)]
    words = _LEFT + max(row.most, row.value, clear_of) * scale + 8
    if words + 6.2 * len(row.text) > WIDTH:  # the value is inside the bar if there is no room beside it
        parts.append(
            _text(_LEFT + row.least * scale - 8, y + 11, row.text, size=12, fill="#ffffff", anchor="end")
        )
    else:
        parts.append(_text(words, y + 11, row.text, size=12))
    return parts


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, *, dash: str = "none") -> str:
    return (
        f'<line x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}" stroke="{colour}"'
        f' stroke-width="1.2" stroke-dasharray="{dash}"/>'
    )


def _text(
    x: float,
    y: float,
    words: str,
    *,
    size: int,
    fill: str = _DARK,
    weight: str = "normal",
    anchor: str = "start",
) -> str:
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" font-size="{size}" font-weight="{weight}" fill="{fill}"'
        f' text-anchor="{anchor}" xml:space="preserve">{escape(words)}</text>'
    )
