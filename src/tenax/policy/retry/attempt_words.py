"""Formats the numbers of attempts used and left, for decisions, explanations and event lines."""

from __future__ import annotations


def progress(counted: int, max_attempts: int | None) -> str:
    """Returns text such as `attempt 2 of 3 (1 retry left)`, always with both numbers."""
    if max_attempts is None:
        return f"attempt {counted} (no limit)"
    left = max(max_attempts - counted, 0)
    return f"attempt {counted} of {max_attempts} ({left} {'retry' if left == 1 else 'retries'} left)"


def uncounted_progress(number: int, counted: int, max_attempts: int | None) -> str:
    """Returns text such as `attempt 1 of 3, not counted`. Gives both numbers if earlier attempts did not count either."""
    if max_attempts is None:
        return f"attempt {number}, not counted (no limit)"
    if number == counted + 1:
        return f"attempt {number} of {max_attempts}, not counted"
    return f"attempt {number}, not counted: {counted} of {max_attempts} used"


def used(counted: int, max_attempts: int | None) -> str:
    """Returns text such as `2 of 3 attempts used`, for times at which no attempt has just ended."""
    limit = "" if max_attempts is None else f" of {max_attempts}"
    return f"{counted}{limit} attempt{'s' if counted != 1 or max_attempts is not None else ''} used"
