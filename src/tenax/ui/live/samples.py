"""Keeps a figure over time that the database has no history of: one value a minute, while anybody looks."""

from __future__ import annotations

from collections import deque
from datetime import datetime

MOST_SAMPLES = 7 * 24 * 60  # minutes that are kept


class Samples:
    """Holds the highest value of each minute. A restart of the server forgets them."""

    def __init__(self) -> None:
        self._minutes: deque[tuple[datetime, float]] = deque(maxlen=MOST_SAMPLES)

    def note(self, at: datetime, value: float) -> None:
        minute = at.replace(second=0, microsecond=0)
        if self._minutes and self._minutes[-1][0] == minute:
            value = max(value, self._minutes.pop()[1])
        self._minutes.append((minute, value))

    def since(self, begin: datetime) -> list[float]:
        return [value for at, value in self._minutes if at >= begin]
