"""Defines the exceptions with which a handler says how its attempt ended. Any other exception is an ordinary failure."""

from __future__ import annotations

from typing import Any

from tenax.model.durations import parse_duration


class Retry(Exception):
    """The attempt failed, and a retry may help. `after` replaces the delay of the policy, up to `max_retry_after`."""

    def __init__(self, message: str | None = None, *, after: float | str | None = None) -> None:
        super().__init__(message or "the handler asked for a retry")
        self.after = None if after is None else parse_duration(after)


class Fatal(Exception):
    """The attempt failed, and a retry would not help."""

    def __init__(self, message: str, *, data: Any = None) -> None:
        super().__init__(message)
        self.data = data


class NotCompleted(Exception):
    """Nothing went wrong, but the work is not done yet: run it again. The attempt counts."""

    def __init__(self, message: str | None = None, *, data: Any = None) -> None:
        super().__init__(message or "the handler has not completed its work")
        self.data = data


class Snooze(Exception):
    """The work should run again later. The attempt does not count."""

    def __init__(self, after: float | str) -> None:
        self.after = parse_duration(after)
        super().__init__(f"snoozed for {self.after:g} s")


class Cancelled(Exception):
    """The attempt's lease was revoked, so the task should stop. Raised by `TaskContext.heartbeat()`."""
