"""Draws the schedule of a policy: the delay before each attempt, with the range that jitter gives it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tenax.drawing.markup import document, label, line, linked, rect
from tenax.drawing.ticks import round_step
from tenax.model.durations import format_duration
from tenax.policy.retry.delay_table import DelayRow

MAX_SHOWN = 30
_LEFT, _TOP, _BOTTOM, _MARGIN = 56.0, 14.0, 40.0, 10.0
_LOGARITHMIC_FROM = (
    200.0  # the ratio of the longest delay to the shortest from which the scale is logarithmic
)
_TICKS = (
    0.001, 0.01, 0.1, 1, 5, 30, 120, 600, 3600, 21600, 86400, 604800, 2592000, 31536000, 315360000, 3155760000,
)  # fmt: skip
"""Round delays in seconds, for a logarithmic scale."""


class _Scale:
    """Maps delays to heights, logarithmically if they differ much."""

    def __init__(self, rows: Sequence[DelayRow], height: float) -> None:
        delays = [value for row in rows for value in (row.least, row.nominal, row.most) if value > 0]
        self.most = max(delays, default=1.0)
        self.least = min((row.nominal for row in rows if row.nominal > 0), default=self.most) / 2
        self.logarithmic = self.most / self.least > _LOGARITHMIC_FROM
        self._height = height

    def part(self, delay: float) -> float:
        """Returns the place of a delay between 0 (none) and 1 (the longest)."""
        if not self.logarithmic:
            return delay / self.most
        return math.log(max(delay, self.least) / self.least) / math.log(self.most / self.least)

    def y(self, delay: float) -> float:
        return _TOP + (1 - self.part(delay)) * self._height

    def ticks(self) -> Iterator[float]:
        if not self.logarithmic:
            step = round_step(self.most / 4)
            yield from (count * step for count in range(1, int(self.most / step) + 1))
            return
        taken = 0.0
        for tick in _TICKS:
            if self.least <= tick <= self.most and (part := self.part(tick)) - taken >= 0.15:
                taken = part
                yield tick


def draw_delay_curve(
    rows: Sequence[DelayRow], *, width: float = 480, height: float = 200, standalone: bool = False
) -> str:
    """Draws the rows of a `delay_table`: for each retry the range of its delay, and a line at its nominal value."""
    retries = rows[1 : MAX_SHOWN + 1]
    words = schedule_words(rows)
    if not retries:
        parts = [label(0, 16, words, class_="tx-text")]
        return document(
            parts, width=width, height=24, words=words, class_="tx-schedule", standalone=standalone
        )
    scale = _Scale(retries, height - _TOP - _BOTTOM)
    return document(
        _curve_parts(rows, retries, scale, width, height),
        width=width, height=height, words=words, class_="tx-schedule", standalone=standalone,
    )  # fmt: skip


def _curve_parts(
    rows: Sequence[DelayRow], retries: Sequence[DelayRow], scale: _Scale, width: float, height: float
) -> Iterator[str]:
    floor = height - _BOTTOM
    for tick in scale.ticks():
        y = scale.y(tick)
        yield line(_LEFT, y, width - _MARGIN, y, class_="tx-grid")
        yield label(_LEFT - 6, y + 4, _short(tick), class_="tx-note", anchor="end")
    yield line(_LEFT, floor, width - _MARGIN, floor, class_="tx-axis")
    each = (width - _LEFT - _MARGIN) / len(retries)
    bar = min(each * 0.7, 36.0)
    named = max(1, math.ceil(24 / each))  # each so many attempts have room for a number
    for place, row in enumerate(retries):
        left = _LEFT + place * each + (each - bar) / 2
        top, bottom = scale.y(row.most), scale.y(row.least)
        drawn = rect(left, top, bar, max(bottom - top, 1.0), class_="tx-band tx-fill")
        drawn += line(left, scale.y(row.nominal), left + bar, scale.y(row.nominal), class_="tx-nominal")
        yield linked(drawn, row_words(row), None, class_="tx-retry")
        if place % named == 0:
            yield label(left + bar / 2, floor + 15, str(row.attempt), class_="tx-note", anchor="middle")
    yield label(_LEFT - 6, floor + 15, "attempt", class_="tx-note", anchor="end")
    words = schedule_words(rows) + (", logarithmic scale" if scale.logarithmic else "")
    yield label(_LEFT, height - 6, words, class_="tx-note")


def row_words(row: DelayRow) -> str:
    return f"before attempt {row.attempt}: {_range(row.least, row.most)}, nominally {_short(row.nominal)}"


def schedule_words(rows: Sequence[DelayRow]) -> str:
    """Describes a schedule: its attempts, and how long all delays take together."""
    last = rows[-1]
    if len(rows) == 1:
        return "1 attempt, no retries"
    more = " and more" if last.more else ""
    return (
        f"{len(rows)} attempts{more}, delays of {_range(last.cumulative_least, last.cumulative_most)} in all"
    )


def _range(least: float, most: float) -> str:
    return _short(least) if math.isclose(least, most, rel_tol=1e-9) else f"{_short(least)} to {_short(most)}"


def _short(seconds: float) -> str:
    return " ".join(format_duration(round(seconds, 3)).split()[:2])


def delay_lines(rows: Sequence[DelayRow], *, width: int = 60) -> list[str]:
    """Returns the schedule as lines of text for a terminal: `=` within the range that jitter gives, `|` at the nominal delay."""
    retries = rows[1 : MAX_SHOWN + 1]
    scale = _Scale(retries, 1.0)
    number_width = len(str(retries[-1].attempt)) if retries else 1
    lines = []
    for row in retries:
        least, nominal, most = (
            round(scale.part(value) * (width - 1)) for value in (row.least, row.nominal, row.most)
        )
        drawn = [" "] * least + ["="] * (most - least + 1)
        drawn[min(max(nominal, least), most)] = "|"
        lines.append(f"{row.attempt:>{number_width}}  {''.join(drawn).ljust(width)}  {_short(row.nominal)}")
    return lines
