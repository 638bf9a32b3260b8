"""Reads and formats durations, and reads `Retry-After` headers. Durations inside Tenax are in seconds."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Annotated, get_args, get_type_hints

Seconds = Annotated[float, "seconds"]
"""The type of a field that is a duration. Readers, hashes and texts find durations by it."""

LONGEST = 100 * 365.25 * 86400.0
"""The longest duration: a hundred years. A longer one has a wrong unit, and would overflow a timestamp."""

_PER_SECOND = {"ms": 1000.0}
"""The number of these units in a second. Values are divided by it, since 700 * 0.001 is not 0.7."""
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h|d)", re.ASCII)
_WHOLE = re.compile(rf"(?:{_PART.pattern}\s*)+", re.ASCII)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?", re.ASCII)
_EXAMPLES = "write seconds (30, 0.5) or text such as 250ms, 30s, 5m, 2h, 1d, 1h30m"
_SHOWN = 40


def parse_duration(value: float | str) -> float:
    """Returns the seconds of a duration. Raises a ValueError that says what to write if it is no duration."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{_show(value)} is not a duration: {_EXAMPLES}")
    seconds = _from_text(value) if isinstance(value, str) else _from_number(value)
    if math.isnan(seconds):
        raise ValueError(f"{_show(value)} is not a duration: {_EXAMPLES}")
    if seconds < 0:
        raise ValueError(f"{_show(value)} is negative; a duration is 0 or more")
    if seconds > LONGEST:
        raise ValueError(f"{_show(value)} is longer than 100 years; is the unit right?")
    return seconds


def duration_fields(*declared: type) -> frozenset[str]:
    """Returns the names of the fields of these classes that are durations: `Seconds`, or `Seconds | None`."""
    return frozenset(
        name
        for one in declared
        for name, hint in get_type_hints(one, include_extras=True).items()
        if Seconds in (hint, *get_args(hint))
    )


def parse_since(text: str, now: datetime) -> datetime:
    """Returns the time that a text names, in UTC. The text says how long ago it was (1h), or gives the time (in UTC if it names no zone).

    Raises ValueError.
    """
    try:
        return now - timedelta(seconds=parse_duration(text))
    except (ValueError, OverflowError):
        pass
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{_show(text)} is neither a time nor a duration") from None


def _from_number(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _from_text(text: str) -> float:
    stripped = text.strip()
    if _NUMBER.fullmatch(stripped):
        return float(stripped)
    if stripped.startswith("-"):
        raise ValueError(f"{_show(text)} is negative; a duration is 0 or more")
    if not _WHOLE.fullmatch(stripped):
        raise ValueError(f"{_show(text)} is not a duration: {_EXAMPLES}")
    return math.fsum(_seconds(float(number), unit) for number, unit in _PART.findall(stripped))


def _seconds(number: float, unit: str) -> float:
    return number / _PER_SECOND[unit] if unit in _PER_SECOND else number * _UNITS[unit]


def _show(value: object) -> str:
    """Returns the value, shortened. A text may be a megabyte long, and an integer too long to print."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**_SHOWN:
        return "the number"
    shown = repr(value[: _SHOWN + 1] if isinstance(value, str) else value)
    return shown if len(shown) <= _SHOWN + 2 else f"{shown[:_SHOWN]}..."


@lru_cache(maxsize=512)  # every retry shows its delay, and most delays occur often
def format_duration(seconds: float) -> str:
    """Returns a duration for people: `250ms`, `1.5s`, `2m 5s`, `1h 30m`."""
    if not math.isfinite(seconds):
        return "forever" if seconds > 0 else "unknown"
    if seconds < 0:
        return f"-{format_duration(-seconds)}"
    if 0 < seconds < 0.9995:
        return f"{_trim(seconds * 1000)}ms"
    if round(seconds, 3) < 60:
        return f"{_trim(seconds)}s"
    rest = round(seconds)
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts)


def _trim(number: float) -> str:
    return f"{number:.3f}".rstrip("0").rstrip(".")


def parse_retry_after(text: str, now: datetime) -> float | None:
    """Returns the seconds from `now` for which a `Retry-After` header asks: by a number, or by a date (RFC 9110).

    A date in the past gives 0. Returns None if the header cannot be read.
    """
    stripped = text.strip()
    if len(stripped) > 100:
        return None
    if _NUMBER.fullmatch(stripped):
        return min(float(stripped), LONGEST)
    try:
        date = parsedate_to_datetime(stripped)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if date.tzinfo is None:  # The asctime form names no zone. HTTP dates are in UTC.
        date = date.replace(tzinfo=UTC)
    return min(max((date - now).total_seconds(), 0.0), LONGEST)
