"""Waits for PostgreSQL while it is away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenax.errors import Busy, DatabaseAway

T = TypeVar("T")

COMMAND_SECONDS = 2.0  # seconds that a command waits, unless the setting `database_wait` says otherwise
FIRST_PAUSE = 0.1  # seconds between the first two tries; each further pause is twice as long
LONGEST_PAUSE = 2.0  # seconds between two tries at most


class DatabaseWait:
    """Repeats work while PostgreSQL is away, for a limited time. It reports once that PostgreSQL is away, and once that
    it is back."""

    def __init__(self, seconds: float | None, tell: Callable[[str], None] | None = None) -> None:
        """`seconds` is the limit of the wait; None means no limit."""
        self._seconds = seconds
        self._tell = tell
        self._is_reported = False

    async def __call__(self, work: Callable[[], Awaitable[T]]) -> T:
        """Returns the result of `work`. Raises the last error when the time is over, and any error of another kind at
        once."""
        began, pause = _now(), FIRST_PAUSE
        while True:
            try:
                done = await work()
            except (DatabaseAway, Busy) as error:
                if self._seconds is not None and _now() - began + pause > self._seconds:
                    raise
                self._say_away(error)
            else:
                self._say_back()
                return done
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _say_away(self, error: DatabaseAway | Busy) -> None:
        if self._tell is not None and not self._is_reported:
            limit = "" if self._seconds is None else f" for up to {self._seconds:g} s"
            remedy = f" ({error.remedy})" if error.remedy else ""
            self._tell(f"waiting for PostgreSQL{limit}: {error.message}{remedy}")
        self._is_reported = True

    def _say_back(self) -> None:
        if self._tell is not None and self._is_reported:
            self._tell("PostgreSQL is back")
        self._is_reported = False


def _now() -> float:
    return asyncio.get_running_loop().time()
