"""What an operator may ask of a queue: how much of it runs at once, and how much starts in a second."""

from __future__ import annotations

import math
from dataclasses import dataclass

MAX_LIMIT = 1_000_000
"""Of items at once, of starts in a second, and of a burst."""
MIN_RATE = 1 / 86400
PER_SECOND = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
"""The seconds of each unit of a rate."""


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """None: no such limit."""

    concurrency: int | None = None
    rate: float | None = None
    """Starts in a second."""
    burst: int | None = None
    """How many may start at once after a pause; None with a rate: the usual."""


def usual_burst(rate: float) -> int:
    """As many as the rate lets start in a second."""
    return max(math.ceil(rate), 1)


def rate_words(rate: float) -> str:
    """In the unit in which it is a handy number: `10/s`, `30/m`, `1/h`."""
    unit = next((unit for unit, seconds in PER_SECOND.items() if rate * seconds >= 0.9995), "d")
    number = f"{rate * PER_SECOND[unit]:,.3f}".rstrip("0").rstrip(".")
    return f"{number}/{unit}"
