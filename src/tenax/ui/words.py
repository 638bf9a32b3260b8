"""Turns values into the words and classes of templates."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup, escape
from msgspec import to_builtins

from tenax.drawing.progress_words import progress_words
from tenax.model.attempt.live_views import StepProgress
from tenax.model.durations import format_duration
from tenax.model.filters.terms import Filter, Match, Words

TONES = {
    "completed": "good",
    "succeeded": "good",
    "active": "good",
    "healthy": "good",
    "done": "good",
    "running": "busy",
    "accepted": "busy",
    "queued": "wait",
    "pending": "wait",
    "waiting": "wait",
    "preview": "wait",
    "recovered": "good",
    "redriven": "busy",
    "resolved": "off",
    "retrying": "warn",
    "draining": "warn",
    "degraded": "warn",
    "held": "held",
    "paused": "held",
    "quarantined": "held",
    "failed": "bad",
    "unhealthy": "bad",
    "unserved": "bad",
    "lost": "bad",
    "open": "bad",
    "cancelled": "off",
    "skipped": "off",
    "unreachable": "off",
    "stopped": "off",
    "gone": "off",
    "discarded": "off",
    "complete": "good",
    "retry": "warn",
    "hold": "held",
    "fail": "bad",
    "stop": "off",
}
"""The tone of each state. The style sheet has a colour for each tone, and the state is also written as a word."""


DASH = "\u2013"
"""Stands where there is no value."""


def tone(state: str) -> str:
    """Returns the tone of a state; that of an unknown one is plain."""
    return TONES.get(state, "plain")


def in_utc(time: str) -> str:
    """Writes a time of a view for people: 2026-01-31 09:30:00 UTC."""
    return datetime.fromisoformat(time).strftime("%Y-%m-%d %H:%M:%S UTC")


def clock(time: str) -> str:
    """Writes the time of day of a view's time, in UTC: 09:30:00.125."""
    return datetime.fromisoformat(time).strftime("%H:%M:%S.%f")[:-3]


def seconds_between(start: str, end: str) -> float:
    """Returns the seconds between two times of a view."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def duration(seconds: float) -> str:
    """Writes a duration with as many digits as people read: 1.2s, 45s, 3m20s."""
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    return f"{seconds:.1f}s" if seconds < 10 else format_duration(round(seconds))


def number(value: float) -> str:
    return f"{value:,}"


def short(value: float | None) -> str:
    """Writes a number with three digits at most, or a whole number: 0.25, 12.5, 1,234. None is a dash."""
    return DASH if value is None else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def with_code(text: str) -> Markup:
    """Writes a text, with what stands between backticks as code. A text with an odd number of them stays as it is."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if n % 2 else escape(part) for n, part in enumerate(parts)
    )


def known(values: Sequence[float | None]) -> list[float]:
    """Returns the values that are known. A line of a rate that is seldom known would have many gaps."""
    return [value for value in values if value is not None]


def names(values: Sequence[str], most: int = 3) -> str:
    """Writes the first of some names, and how many more there are."""
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return f"{', '.join(values[:most])}{more}"


def command(arguments: Sequence[str]) -> str:
    """Writes a command of the command line, to be copied into a shell."""
    return shlex.join(["tenax", *arguments])


def labels(values: Mapping[str, str]) -> str:
    """Writes labels: gpu=a100, zone=b."""
    return ", ".join(f"{name}={value}" for name, value in sorted(values.items()))


def column_value(column: str, value: object) -> str:
    """Writes a value of a column of a worker's health. None is a dash."""
    if value is None:
        return DASH
    if column == "failure_rate" and isinstance(value, float):
        return percent(value)
    if column == "heartbeat_age" and isinstance(value, int | float):
        return duration(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:,}"


def filter_value(text: str) -> str:
    """Writes a value of a filter."""
    return str(Filter((Words("x", (Match(text),)),))).removeprefix("x=")


def percent(share: float | None) -> str:
    """Writes a share for people: 12.5 %. None is a dash."""
    return DASH if share is None else f"{100 * share:.3g} %"


def told_progress(progress: StepProgress) -> str:
    """Returns how far a step is in words, without a bar."""
    return progress_words(to_builtins(progress), bar=False)


def first_line(text: str, most: int = 200) -> str:
    """Returns the first line of a text, shortened."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= most else f"{line[: most - 1]}…"


def query(**parameters: Any) -> str:
    """Returns `?NAME=VALUE&...` of the parameters that have a value, or an empty text."""
    given = {name.rstrip("_"): value for name, value in parameters.items() if value not in (None, "")}
    return f"?{urlencode(given, doseq=True)}" if given else ""


def counted(number: int, what: str) -> str:
    """Returns a number with its noun: `1 item`, `2 items`."""
    return f"{number:,} {what}{'s' if number != 1 else ''}"
