"""Describes an execution as rows of bars over time: one bar for each attempt, and one for each wait between them.

Times are seconds since the execution was created. The rows are values without colours or pixels: `timeline_svg` draws
them. A large execution is bounded: rows and bars beyond the limits are counted and told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from tenax.drawing.figures.heat_strip import HeatCell
from tenax.drawing.links import Target
from tenax.drawing.timeline.bars import Bar, bars_of
from tenax.model.durations import format_duration
from tenax.model.execution_views import Event, Execution, Step, Work

MAX_ROWS = 200
MAX_BARS_IN_ROW = 40
_MAX_ATTEMPTS = 1200  # bars of attempts in the whole drawing
_MAX_CHILDREN = 5  # rows of children below one step
_MAX_ITEMS = 20  # rows of items below one step
_MAX_MARKS = 50
_FIRST_SHOWN = (
    "failed",
    "held",
    "running",
    "retrying",
    "queued",
    "paused",
    "completed",
    "cancelled",
    "skipped",
)
"""The states of steps in the order in which they keep their rows in a large execution."""


@dataclass(frozen=True, slots=True)
class DrawnFanOut:
    """Describes the items of a fan-out, as far as the caller has read them."""

    cells: Sequence[HeatCell] = ()
    """The items in order, in ranges. Empty: only the counts of the step are drawn."""
    items: Mapping[int, Work] = field(default_factory=dict)
    """Items that have a row with their attempts."""


@dataclass(frozen=True, slots=True)
class DrawnMark:
    """Describes an action of an operator."""

    at: float
    words: str
    target: Target


@dataclass(frozen=True, slots=True)
class DrawnRow:
    level: int
    """0 for a step, 1 for what belongs to it."""
    name: str
    status: str
    detail: str
    target: Target
    bars: tuple[Bar, ...] = ()
    due: float | None = None
    """When its next attempt may start."""
    counts: Mapping[str, int] | None = None
    """The number of items in each state, if it is a fan-out."""
    cells: tuple[HeatCell, ...] = ()


@dataclass(frozen=True, slots=True)
class DrawnTimeline:
    title: str
    began: str
    """The time of its start, for people."""
    rows: tuple[DrawnRow, ...]
    end: float
    now: float | None
    """The present, if the execution has not ended."""
    marks: tuple[DrawnMark, ...]
    more: Mapping[str, int]
    """The number of steps in each state that have no row."""


def timeline_of(
    execution: Execution,
    *,
    events: Iterable[Event] = (),
    fan_outs: Mapping[str, DrawnFanOut] | None = None,
    max_rows: int = MAX_ROWS,
) -> DrawnTimeline:
    """Describes an execution. Operators' actions are taken from `events`, and items of fan-outs from `fan_outs`."""
    clock = _Clock(execution)
    rows, more = _rows(execution, clock, fan_outs or {}, max_rows)
    marks = tuple(_marks(events, clock))
    ends = [bar.end for row in rows for bar in row.bars] + [row.due for row in rows if row.due is not None]
    end = max([clock.now, *ends, *(mark.at for mark in marks)], default=0.0)
    return DrawnTimeline(
        title=f"{execution.workflow}, execution {execution.id}: {execution.status}",
        began=f"{execution.created_at[:19].replace('T', ' ')} UTC",
        rows=rows,
        end=end,
        now=None if execution.finished_at else clock.now,
        marks=marks,
        more=more,
    )


class _Clock:
    """Turns times of an execution into seconds since its creation."""

    def __init__(self, execution: Execution) -> None:
        self._start = datetime.fromisoformat(execution.created_at)
        self.now = self(execution.finished_at or execution.now) or 0.0

    def __call__(self, time: str | None) -> float | None:
        if time is None:
            return None
        return max(0.0, round((datetime.fromisoformat(time) - self._start).total_seconds(), 6))


def _rows(
    execution: Execution, clock: _Clock, fan_outs: Mapping[str, DrawnFanOut], limit: int
) -> tuple[tuple[DrawnRow, ...], Mapping[str, int]]:
    shown = _shown_steps(execution.steps, limit)
    room = max(5, min(MAX_BARS_IN_ROW, _MAX_ATTEMPTS // max(len(shown), 1)))
    rows: list[DrawnRow] = []
    left_out: Counter[str] = Counter()
    for name, step in execution.steps.items():
        if name not in shown:
            left_out[step.status] += 1
            continue
        rows += _of_step(name, step, clock, fan_outs.get(name) or DrawnFanOut(), room)
    if len(rows) > limit:  # rows of items and children give way to those of steps
        spare = limit - sum(row.level == 0 for row in rows)
        kept = []
        for row in rows:
            spare -= row.level > 0
            if row.level == 0 or spare >= 0:
                kept.append(row)
        rows = kept
    return tuple(rows), dict(left_out)


def _shown_steps(steps: Mapping[str, Step], limit: int) -> set[str]:
    if len(steps) <= limit:
        return set(steps)
    rank = {status: place for place, status in enumerate(_FIRST_SHOWN)}
    ordered = sorted(steps, key=lambda name: rank.get(steps[name].status, len(rank)))
    return set(ordered[:limit])


def _of_step(name: str, step: Step, clock: _Clock, fan_out: DrawnFanOut, room: int) -> Iterator[DrawnRow]:
    target = Target(step=name)
    if step.items:
        yield DrawnRow(
            0,
            name,
            step.status,
            _counts_words(step.items),
            target,
            counts=step.items,
            cells=tuple(fan_out.cells),
        )
    else:
        yield _work_row(0, name, step, target, clock, room)
    for number, item in list(fan_out.items.items())[:_MAX_ITEMS]:
        yield _work_row(1, f"[{number}]", item, Target(step=name, item=number), clock, room)
    yield from _children(name, step, clock)
    if (undoing := step.compensation) is not None:
        of_it = Target(step=name, compensation=True)
        if undoing.items:
            yield DrawnRow(
                1, "compensation", undoing.status, _counts_words(undoing.items), of_it, counts=undoing.items
            )
        else:
            yield _work_row(1, "compensation", undoing, of_it, clock, room)


def _work_row(level: int, name: str, work: Work, target: Target, clock: _Clock, room: int) -> DrawnRow:
    due = clock(work.available_at) if work.status == "retrying" else None
    return DrawnRow(
        level,
        name,
        work.status,
        _attempts_words(work, due, clock.now),
        target,
        bars_of(work, target, clock, now=clock.now, limit=room),
        due,
    )


def _attempts_words(work: Work, due: float | None, now: float) -> str:
    if not work.attempt:
        return work.status
    number = f"attempt {work.attempt}" + (f" of {work.max_attempts}" if work.max_attempts else "")
    if due is None:
        return f"{work.status}, {number}"
    when = f"in {format_duration(round(due - now, 1))}" if due > now else "is due"
    return f"retry {when}, {number}"


def _counts_words(counts: Mapping[str, int]) -> str:
    total = counts.get("total", 0)
    done = counts.get("succeeded", 0) + counts.get("completed", 0)
    words = [f"{done:,} of {total:,}"]
    words += [
        f"{counts[name]:,} {name}" for name in ("failed", "held", "retrying", "running") if counts.get(name)
    ]
    return ", ".join(words)


def _children(name: str, step: Step, clock: _Clock) -> Iterator[DrawnRow]:
    """Yields a row for each child of the step's attempts, over the time of its attempt."""
    if step.items:
        return
    by_number = {attempt.attempt: attempt for attempt in step.attempts}
    for child in step.children[-_MAX_CHILDREN:]:
        attempt = by_number.get(child.attempt)
        start = clock(attempt.started_at) if attempt else None
        target = Target(step=name, attempt=child.attempt, child=child.id)
        bars: tuple[Bar, ...] = ()
        if attempt is not None and start is not None:
            end = max(start, clock(attempt.ended_at) or clock.now)
            words = (
                f"child execution {child.id}: {child.status}, for {format_duration(round(end - start, 3))}"
            )
            bars = (Bar("external", _CHILD_TONES[child.status], start, end, words, str(child.id), target),)
        yield DrawnRow(1, f"child {child.id}", child.status, child.status, target, bars)


_CHILD_TONES = {
    "running": "running",
    "paused": "cancelled",
    "completed": "success",
    "failed": "failed",
    "cancelled": "cancelled",
}


def _marks(events: Iterable[Event], clock: _Clock) -> Iterator[DrawnMark]:
    found = [event for event in events if event.type == "operator_action"]
    for event in found[-_MAX_MARKS:]:
        action, actor, reason = (event.data.get(key) for key in ("action", "actor", "reason"))
        words = f"{actor or 'an operator'}: {action}"
        words += f" of {event.step}" if event.step else ""
        words += f" ({reason})" if reason else ""
        target = Target(step=event.step, item=event.item, seq=event.seq)
        yield DrawnMark(clock(event.at) or 0.0, words, target)
