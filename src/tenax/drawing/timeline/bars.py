"""Makes the bars of one row of a timeline from the attempts of a step, an item or a compensation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tenax.drawing.links import Target
from tenax.model.durations import format_duration
from tenax.model.execution_views import Attempt, Work
from tenax.model.source.findings import shorten

Kind = Literal["attempt", "external", "queued", "backoff", "held"]
"""`external` is an attempt that no worker runs: a sleep, a signal, an approval, a callback or a child."""
Seconds = Callable[[str | None], float | None]
"""Returns the seconds from the start to a time."""

_TONES = {
    "succeeded": "success",
    "running": "running",
    "accepted": "running",
    "polled": "polled",
    "snoozed": "snoozed",
    "released": "released",
}
_MAX_MESSAGE = 120  # characters of a failure in the words of a bar
_OPEN = ("running", "accepted")
_WAITS = {
    "sleep": "sleeps",
    "signal": "waits for a signal",
    "approval": "waits for an approval",
    "callback": "waits for a callback",
    "child": "waits for its child",
}


@dataclass(frozen=True, slots=True)
class Bar:
    kind: Kind
    tone: str
    """The class of the failure, or `success`, `running`, `polled`, `snoozed`, `released`, `cancelled`, `several`."""
    start: float
    end: float
    words: str
    """What it shows, in one line."""
    label: str
    """A short text, if there is room."""
    target: Target
    attempts: int = 0
    """The number of attempts that it stands for."""


def bars_of(work: Work, target: Target, seconds: Seconds, *, now: float, limit: int) -> tuple[Bar, ...]:
    """Returns the bars in the order of time. They do not overlap. More than `limit` attempts are drawn as one in the middle."""
    bars: list[Bar] = []
    ready, last = _enqueued(work, seconds), None
    for attempt in _ordered(work.attempts, seconds):
        ended = seconds(attempt.ended_at)
        start = seconds(attempt.started_at)
        start = max(ready, (ended if start is None else start) or 0.0)
        bars += _waits(last, ready, start, seconds, target)
        bar = _attempt(attempt, start, max(start, now if ended is None else ended), target)
        bars.append(bar)
        ready, last = bar.end, attempt
    bars += _what_follows(work, last, ready, now, seconds, target)
    return tuple(_gathered([bar for bar in bars if bar.attempts or bar.end > bar.start], limit))


def _ordered(attempts: Sequence[Attempt], seconds: Seconds) -> list[Attempt]:
    """Sorts the attempts by their start. A success that came after its attempt was given up has none."""
    return sorted(
        attempts,
        key=lambda one: (seconds(one.started_at or one.ended_at) or 0.0, seconds(one.ended_at) or 1e18),
    )


def _enqueued(work: Work, seconds: Seconds) -> float:
    """Returns when the first attempt could start. A reset sets the time of the step anew, after its attempts began."""
    first = seconds(work.attempts[0].started_at or work.attempts[0].ended_at) if work.attempts else None
    enqueued = seconds(work.enqueued_at)
    if first is None:
        return enqueued or 0.0
    return first if enqueued is None or enqueued > first else enqueued


def _waits(
    last: Attempt | None, ready: float, start: float, seconds: Seconds, target: Target
) -> Iterator[Bar]:
    """Yields what was before an attempt: the hold or the backoff after the last one, and the wait in the queue."""
    if last is not None and last.verdict == "hold":
        yield _wait("held", ready, start, f"held: {last.rule or 'by a rule'}", target)
        return
    due = seconds(last.available_at) if last is not None else None
    if last is not None and due is not None:
        early = ", cut short by an operator" if start < due - 0.5 else ""
        yield _wait("backoff", ready, min(due, start), f"backoff after attempt {last.attempt}{early}", target)
        ready = max(ready, min(due, start))
    yield _wait("queued", ready, start, "in the queue", target)


def _what_follows(
    work: Work, last: Attempt | None, ready: float, now: float, seconds: Seconds, target: Target
) -> Iterator[Bar]:
    """Yields what the work waits for now."""
    due = seconds(work.available_at)
    match work.status:
        case "retrying" if due is not None:
            number = f" after attempt {last.attempt}" if last is not None else ""
            yield _wait("backoff", ready, due, f"backoff{number}", target)
            yield _wait("queued", max(ready, due), now, "its retry is due: in the queue", target)
        case "queued" | "retrying":
            yield _wait("queued", ready, now, "in the queue", target)
        case "held":
            why = f": {last.rule}" if last is not None and last.rule else ""
            yield _wait("held", ready, now, f"held{why}", target)


def _wait(kind: Kind, start: float, end: float, words: str, target: Target) -> Bar:
    length = format_duration(round(max(end - start, 0.0), 3))
    return Bar(kind, kind, start, end, f"{words}, {length}", length, target)


def _attempt(attempt: Attempt, start: float, end: float, target: Target) -> Bar:
    failure = attempt.failure or {}
    outcome = attempt.outcome
    tone = _TONES.get(outcome) or str(failure.get("class") or "cancelled")
    waiting = attempt.waiting or {}
    external = bool(waiting) and tone in ("running", "success", "cancelled")
    reason = str(failure.get("reason") or "")
    what = str(failure.get("class") or outcome)
    if outcome in _OPEN and waiting:
        what = _WAITS.get(str(waiting.get("for")), "waits")
    words = f"attempt {attempt.attempt}: {what}"
    words += f" ({reason})" if reason else ""
    words += f", {format_duration(round(end - start, 3))}"
    words += f" on {attempt.worker}" if attempt.worker else ""
    if message := failure.get("message"):
        words += f": {shorten(str(message), _MAX_MESSAGE)}"
    label = str(waiting.get("signal") or waiting.get("for") or "") if external else reason
    return Bar(
        "external" if external else "attempt",
        tone,
        start,
        end,
        words,
        label,
        replace(target, attempt=attempt.attempt),
        1,
    )


def _gathered(bars: list[Bar], limit: int) -> list[Bar]:
    """Puts the attempts in the middle of a long row together, with the waits between them."""
    count = sum(bar.attempts for bar in bars)
    if count <= limit:
        return bars
    first = limit // 5
    last = limit - first - 1
    begin = _place(bars, first)
    end = _place(bars, count - last)
    middle = [bar for bar in bars[begin:end] if bar.attempts]
    counted = Counter(bar.tone for bar in middle)
    classes = ", ".join(f"{number:,} {tone}" for tone, number in counted.most_common())
    together = Bar(
        "attempt", "several", middle[0].start, bars[end - 1].end, f"{len(middle):,} attempts: {classes}",
        f"{len(middle):,} attempts", middle[0].target, len(middle),
    )  # fmt: skip
    return [*bars[:begin], together, *bars[end:]]


def _place(bars: Sequence[Bar], attempts: int) -> int:
    """Returns the place of the bar of the attempt after so many."""
    seen = 0
    for place, bar in enumerate(bars):
        if bar.attempts and seen == attempts:
            return place
        seen += bar.attempts
    return len(bars)
