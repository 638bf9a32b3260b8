"""What a handler may raise to say how its attempt ended. Everything else it raises is an ordinary failure."""

from __future__ import annotations

from typing import Any

from tenax.model.durations import parse_duration


class Retry(Exception):
    """The attempt failed and is worth another. `after` replaces the policy's curve (up to `max_retry_after`)."""

    def __init__(self, message: str | None = None, *, after: float | str | None = None) -> None:
        super().__init__(message or "the handler asked for a retry")
        self.after = None if after is None else parse_duration(after)


class Fatal(Exception):
    """The attempt failed, and trying again would not help."""

    def __init__(self, message: str, *, data: Any = None) -> None:
        super().__init__(message)
        self.data = data


class NotCompleted(Exception):
    """Nothing went wrong, but the work is not done yet: run it again. Counts as an attempt."""

    def __init__(self, message: str | None = None, *, data: Any = None) -> None:
        super().__init__(message or "the handler has not completed its work")
        self.data = data


class Snooze(Exception):
    """Run me later. Does not count as an attempt."""

    def __init__(self, after: float | str) -> None:
        self.after = parse_duration(after)
        super().__init__(f"snoozed for {self.after:g} s")


class Cancelled(Exception):
    """Raised by `TaskContext.heartbeat()` where the attempt's lease is no longer this worker's: stop working."""
