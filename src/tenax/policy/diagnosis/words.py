"""Describes points in time, as seen from now, and numbers of things."""

from __future__ import annotations

from datetime import datetime

from tenax.model.durations import format_duration


def seconds_until(at: str, now: str) -> float:
    """Returns the seconds from `now` to `at`. Negative if `at` has passed."""
    return (datetime.fromisoformat(at) - datetime.fromisoformat(now)).total_seconds()


def in_time(at: str, now: str) -> str:
    """Returns `in 12s`, or `now` if the time has come."""
    left = seconds_until(at, now)
    return "now" if left <= 0 else f"in {_rounded(left)}"


def for_time(since: str, now: str) -> str:
    """Returns `for 12s`: the time from `since` to now."""
    return f"for {_rounded(max(0.0, -seconds_until(since, now)))}"


def number_of(count: int, one: str, many: str) -> str:
    """Returns a number with the words for one thing or for many: `1 item waits`, `2 items wait`."""
    return f"{count:,} {one if count == 1 else many}"


def _rounded(seconds: float) -> str:
    return format_duration(round(seconds, 1) if seconds < 1 else round(seconds))
