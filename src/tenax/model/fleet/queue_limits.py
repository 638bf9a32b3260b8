"""Defines the limits of a queue: how many items run at once, and how many start in a second."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from tenax.errors import UsageError
from tenax.model.source.findings import shorten

MAX_LIMIT = 1_000_000
"""The largest concurrency, rate and burst."""
MIN_RATE = 1 / 86400  # starts per second: one a day
PER_SECOND = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
"""The seconds of each unit of a rate."""
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*/\s*(s|m|h|d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """Holds the limits of a queue. None means that there is no such limit."""

    concurrency: int | None = None
    rate: float | None = None
    """The largest number of starts per second."""
    burst: int | None = None
    """The number of items that may start at once after a pause. None with a rate means `usual_burst`."""


def usual_burst(rate: float) -> int:
    """Returns the default burst: the number of starts that the rate allows in a second."""
    return max(math.ceil(rate), 1)


def rate_words(rate: float) -> str:
    """Formats a rate in a suitable unit: `10/s`, `30/m`, `1/h`."""
    unit = next((unit for unit, seconds in PER_SECOND.items() if rate * seconds >= 0.9995), "d")
    number = f"{rate * PER_SECOND[unit]:,.3f}".rstrip("0").rstrip(".")
    return f"{number}/{unit}"


def parse_rate(name: str, text: str, *, or_else: str = "") -> float:
    """Returns a rate per second. `name` is that of the flag or field, and `or_else` names what it takes beside rates, for errors."""
    found = _RATE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{name} {shorten(text)}: expected a rate such as 10/s, 600/m or 60/h{or_else}")
    rate = float(found[1]) / PER_SECOND[found[2]]
    if not MIN_RATE <= rate <= MAX_LIMIT:
        raise UsageError(f"{name} {shorten(text)}: expected a rate from 1/d to {MAX_LIMIT:,}/s{or_else}")
    return rate
