"""Draws a timeline as SVG: a column of names, a bar for each attempt, and an axis on which long gaps are folded.

The drawing has a fixed width in pixels. A page puts it into an element of the class `tx-scroll`, which scrolls sideways
on a narrow screen, so that texts keep their size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tenax.drawing.figures.heat_strip import cell_parts, count_parts
from tenax.drawing.links import Link, no_link
from tenax.drawing.markup import (
    document,
    element,
    escaped,
    fitted,
    label,
    line,
    linked,
    number,
    rect,
    width_of,
)
from tenax.drawing.timeline.bars import Bar
from tenax.drawing.timeline.execution_rows import DrawnRow, DrawnTimeline
from tenax.drawing.timeline.place_bars import PlacedBar, place_bars
from tenax.drawing.timeline.time_axis import Span, TimeAxis, make_axis
from tenax.model.durations import format_duration

TONES = {
    "success": "\N{CHECK MARK}",
    "running": "\N{BLACK RIGHT-POINTING TRIANGLE}",
    "transient": "~",
    "timeout": "T",
    "worker_lost": "W",
    "worker_unavailable": "U",
    "queue_timeout": "Q",
    "logical": "L",
    "invalid": "I",
    "denied": "D",
    "not_found": "N",
    "budget": "$",
    "failed": "F",
    "cancelled": "\N{MULTIPLICATION SIGN}",
    "polled": "p",
    "snoozed": "z",
    "released": "r",
    "several": "+",
}
"""The sign of each tone, which its bars show beside the colour."""
_WAITS = {"queued": "in the queue", "backoff": "backoff", "held": "held", "external": "waits outside"}
_NAMES, _MARGIN, _TOP, _ROW, _BAR = 208.0, 12.0, 56.0, 40.0, 18.0
_LEGEND = 20.0
_BOLD = 1.08  # the width of bold letters, beside plain ones


def draw_timeline(
    timeline: DrawnTimeline, *, link: Link = no_link, width: float = 960, standalone: bool = False
) -> str:
    """Draws the timeline. `link` gives the address of each bar, step, range of items and action."""
    axis = make_axis(_busy(timeline), timeline.end, left=_NAMES, right=width - _MARGIN - 10)
    bottom = _TOP + _ROW * len(timeline.rows)
    legend = _legend(timeline, width)
    parts = [
        *_stripes(timeline, width),
        *_head(timeline, axis, width),
        *_axis(axis, bottom),
        *_now(timeline, axis, bottom),
        *_marks(timeline, axis, link, bottom),
        *(
            part
            for place, row in enumerate(timeline.rows)
            for part in _row(row, _TOP + place * _ROW, axis, link)
        ),
    ]
    if timeline.more:
        parts.append(label(_MARGIN, bottom + 20, more_words(timeline.more), class_="tx-note"))
        bottom += 28
    for place, items in enumerate(legend):
        parts += _legend_line(items, bottom + 24 + place * _LEGEND)
    height = bottom + 16 + len(legend) * _LEGEND + 8
    return document(
        parts, width=width, height=height, words=_words(timeline), class_="tx-timeline", standalone=standalone
    )


def more_words(more: Mapping[str, int]) -> str:
    """Describes the steps without a row."""
    states = ", ".join(f"{count:,} {state}" for state, count in sorted(more.items(), key=lambda one: -one[1]))
    return f"{sum(more.values()):,} more steps: {states}"


def _words(timeline: DrawnTimeline) -> str:
    return f"Timeline of {timeline.title}, {format_duration(round(timeline.end, 3))}"


def _busy(timeline: DrawnTimeline) -> Iterator[Span]:
    """Yields the times that keep their room on the axis. A wait only needs its ends."""
    for row in timeline.rows:
        for bar in row.bars:
            if bar.kind == "attempt":
                yield bar.start, bar.end
            else:
                yield bar.start, bar.start
                yield bar.end, bar.end
        if row.due is not None:
            yield row.due, row.due
    if timeline.now is not None:
        yield timeline.now, timeline.now
    yield from ((mark.at, mark.at) for mark in timeline.marks)


def _stripes(timeline: DrawnTimeline, width: float) -> Iterator[str]:
    for place in range(0, len(timeline.rows), 2):
        yield rect(0, _TOP + place * _ROW, width, _ROW, class_="tx-stripe")


def _head(timeline: DrawnTimeline, axis: TimeAxis, width: float) -> Iterator[str]:
    began = f"from {timeline.began}"
    yield label(_MARGIN, 18, fitted(timeline.title, width - 250, 13), class_="tx-name")
    yield label(width - _MARGIN, 18, began, class_="tx-note", anchor="end")
    for piece in axis.pieces:
        if piece.folded:
            middle = (piece.left + piece.right) / 2
            words = " ".join(format_duration(round(piece.end - piece.start)).split()[:2])
            yield label(middle, 36, words, class_="tx-note", anchor="middle")


def _axis(axis: TimeAxis, bottom: float) -> Iterator[str]:
    for piece in axis.pieces:
        if piece.folded:
            width = piece.right - piece.left
            yield element(
                "g",
                f"<title>{escaped(f'{format_duration(round(piece.end - piece.start))} in which nothing starts or ends')}</title>"
                + rect(piece.left, _TOP - 14, width, bottom - _TOP + 14, class_="tx-fold")
                + _zigzag(piece.left, bottom)
                + _zigzag(piece.right, bottom),
                class_="tx-break",
            )
        else:
            yield line(piece.left, _TOP - 4, piece.right, _TOP - 4, class_="tx-axis")
    for tick in axis.ticks():
        yield line(tick.x, _TOP - 8, tick.x, bottom, class_="tx-grid")
        room = tick.right + (8 if tick.right == axis.right else 0) - tick.x - 3
        if width_of(tick.words, 11) <= room:
            yield label(tick.x + 3, _TOP - 9, tick.words, class_="tx-note")


def _zigzag(x: float, bottom: float) -> str:
    points = [f"{number(x + (3 if place % 2 else -3))} {number(_TOP - 14 + place * 5)}" for place in range(4)]
    return element("path", d=f"M{' L'.join(points)} H{number(x)} V{number(bottom)}", class_="tx-fold-edge")


def _now(timeline: DrawnTimeline, axis: TimeAxis, bottom: float) -> Iterator[str]:
    if timeline.now is None:
        return
    x = axis.x(timeline.now)
    yield line(x, _TOP - 4, x, bottom + 4, class_="tx-now")
    yield label(min(x + 3, axis.right - 20), bottom + 10, "now", class_="tx-now-label")


def _marks(timeline: DrawnTimeline, axis: TimeAxis, link: Link, bottom: float) -> Iterator[str]:
    for mark in timeline.marks:
        x = axis.x(mark.at)
        yield line(x, _TOP, x, bottom, class_="tx-mark-line")
        diamond = element("path", d=f"M{number(x)} {number(_TOP - 11)} l6 6 l-6 6 l-6 -6 z", class_="tx-fill")
        yield linked(diamond, mark.words, link(mark.target), class_="tx-mark")


def _row(row: DrawnRow, top: float, axis: TimeAxis, link: Link) -> Iterator[str]:
    yield _name(row, top, link)
    if row.counts is not None:
        yield from _items(row, top, axis, link)
        return
    middle = top + _ROW / 2
    for placed in place_bars(row.bars, axis):
        yield _bar(placed, middle, link)
    if row.due is not None:
        yield from _due(axis.x(row.due), middle)


def _name(row: DrawnRow, top: float, link: Link) -> str:
    left = _MARGIN + 18 * row.level
    room = _NAMES - left - 10
    name = fitted(row.name, room, 13)
    branch = element("path", d=f"M{_MARGIN + 4:g} {top:g} v13 h9", class_="tx-branch") if row.level else ""
    hit = rect(left - 4, top + 2, room + 8, _ROW - 4, class_="tx-hit", rx=3)
    return (
        branch
        + linked(hit, f"{row.name}: {row.detail}", link(row.target), class_="tx-row")
        + label(left, top + 17, name, class_="tx-sub" if row.level else "tx-name", silent=True)
        + label(left, top + 32, fitted(row.detail, room, 11), class_="tx-note", silent=True)
    )


def _items(row: DrawnRow, top: float, axis: TimeAxis, link: Link) -> Iterator[str]:
    assert row.counts is not None
    room, y = axis.right - axis.left, top + (_ROW - _BAR) / 2
    if row.cells:
        yield from cell_parts(row.cells, row.target, link, axis.left, y, room)
    else:
        yield from count_parts(row.counts, row.target, link, axis.left, y, room)


def _bar(placed: PlacedBar, middle: float, link: Link) -> str:
    bar, width = placed.bar, placed.right - placed.left
    tall = {"queued": 6.0, "backoff": 10.0, "held": 12.0}.get(bar.kind, _BAR)
    drawn = rect(placed.left, middle - tall / 2, width, tall, class_="tx-fill", rx=min(3.0, width / 2))
    tone = bar.tone if bar.tone in TONES else "none"
    kind = f"tx-{bar.kind} tx-{tone}" if bar.attempts or bar.kind == "external" else f"tx-{bar.kind}"
    shown = linked(drawn, bar.words, link(bar.target), class_=f"tx-bar {kind}")
    return shown + _bar_label(bar, _label(bar, width), (placed.left + placed.right) / 2, middle, tall)


def _bar_label(bar: Bar, words: str, centre: float, middle: float, tall: float) -> str:
    if bar.kind == "queued":
        return ""
    class_ = "tx-in-bar" if bar.kind == "attempt" else "tx-on-bar"
    y = middle + 4 if tall == _BAR else middle - tall / 2 - 3
    return label(centre, y, words, class_=class_, anchor="middle", silent=True)


def _label(bar: Bar, width: float) -> str:
    """Returns the text of a bar: its sign and what fits beside it."""
    if bar.kind == "attempt":
        sign = TONES.get(bar.tone, "?")
        words = f"{sign} {bar.label}" if bar.label else sign
        return words if width_of(words, 11) * _BOLD <= width - 6 else sign
    return bar.label if width_of(bar.label, 11) <= width - 4 else ""


def _due(x: float, middle: float) -> Iterator[str]:
    yield line(x, middle - 11, x, middle + 11, class_="tx-due")
    yield element("path", d=f"M{number(x - 5)} {number(middle - 15)} h10 l-5 6 z", class_="tx-due-head")
    yield label(x - 8, middle + 18, "next retry", class_="tx-due-label", anchor="end")


def _legend(timeline: DrawnTimeline, width: float) -> list[list[tuple[str, str, str]]]:
    """Returns the lines of the legend: class, sign and word of what occurs."""
    bars = [bar for row in timeline.rows for bar in row.bars]
    tones = {bar.tone for bar in bars if bar.kind == "attempt"}
    kinds = {bar.kind for bar in bars}
    states = _states(timeline.rows)
    items = [
        (f"tx-attempt tx-{tone}", sign, tone.replace("_", " "))
        for tone, sign in TONES.items()
        if tone in tones
    ]
    items += [(f"tx-{kind}", "", words) for kind, words in _WAITS.items() if kind in kinds]
    items += [(f"tx-cell tx-is-{state}", "", f"items {state}") for state in states]
    items += [("tx-mark", "\N{BLACK DIAMOND}", "an operator's action")] if timeline.marks else []
    lines: list[list[tuple[str, str, str]]] = [[]]
    used = 0.0
    for item in items:
        room = _legend_width(item[2])
        if used + room > width - 2 * _MARGIN and lines[-1]:
            lines.append([])
            used = 0.0
        lines[-1].append(item)
        used += room
    return lines if items else []


def _states(rows: Sequence[DrawnRow]) -> list[str]:
    present = {
        state for row in rows for state, count in (row.counts or {}).items() if count and state != "total"
    }
    known = (
        "succeeded",
        "failed",
        "held",
        "retrying",
        "running",
        "accepted",
        "queued",
        "waiting",
        "cancelled",
    )
    return [state for state in known if state in present]


def _legend_width(words: str) -> float:
    return 34 + width_of(words, 11)


def _legend_line(items: Sequence[tuple[str, str, str]], y: float) -> Iterator[str]:
    x = _MARGIN
    for class_, sign, words in items:
        if class_ == "tx-mark":
            drawn = element(
                "path", d=f"M{number(x + 7)} {number(y - 10)} l6 6 l-6 6 l-6 -6 z", class_="tx-fill"
            )
        else:
            drawn = rect(x, y - 11, 14, 14, class_="tx-fill", rx=2)
            drawn += label(x + 7, y, sign, class_="tx-in-bar", anchor="middle")
        yield element("g", drawn, class_=class_)
        yield label(x + 19, y, words, class_="tx-note")
        x += _legend_width(words)
