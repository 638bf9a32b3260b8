"""Reads points in time in the format of RFC 3339."""

from __future__ import annotations

import re
from datetime import datetime

_RFC_3339 = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_EXAMPLE = "write it as 2030-01-31T09:30:00Z or 2030-01-31T10:30:00+01:00"
_SHOWN = 60


def seconds_since(start: float, now: datetime) -> float:
    """Returns the seconds from `start`, a Unix time, to `now`: at least 0, in whole microseconds."""
    return max(0.0, round(now.timestamp() - start, 6))


def parse_time(text: object) -> datetime:
    """Parses a time with its zone. Raises a ValueError that says what to write."""
    shown = repr(text)[: _SHOWN + 2]
    if not isinstance(text, str) or not _RFC_3339.fullmatch(text.strip()):
        raise ValueError(f"{shown} is not a time: {_EXAMPLE}")
    try:
        return datetime.fromisoformat(text.strip().upper())
    except ValueError as error:
        raise ValueError(f"{shown} is not a time ({error}): {_EXAMPLE}") from None
