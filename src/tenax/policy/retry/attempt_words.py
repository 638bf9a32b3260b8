"""Formats the numbers of attempts used and left, for decisions, explanations and event lines."""

from __future__ import annotations


def limit_words(max_attempts: int | None, granted: int) -> str:
    """Returns the limit as text: `3`, or `3 + 1 granted` if operators granted attempts."""
    return f"{max_attempts} + {granted} granted" if granted else str(max_attempts)


def progress(counted: int, max_attempts: int | None, granted: int = 0) -> str:
    """Returns text such as `attempt 2 of 3 (1 retry left)` or `attempt 4 of 3 + 1 granted (0 retries left)`, always
    with both numbers."""
    if max_attempts is None:
        return f"attempt {counted} (no limit)"
    left = max(max_attempts + granted - counted, 0)
    return f"attempt {counted} of {limit_words(max_attempts, granted)} ({left} {'retry' if left == 1 else 'retries'} left)"


def only_run(number: int, max_attempts: int | None) -> str:
    """Returns text such as `attempt 1 of 5 (no retries)`, for work that is not retryable: its limit promises nothing."""
    limit = "" if max_attempts is None else f" of {max_attempts}"
    return f"attempt {number}{limit} (no retries)"


def uncounted_progress(number: int, counted: int, max_attempts: int | None, granted: int = 0) -> str:
    """Returns text such as `attempt 1 of 3, not counted`. Gives both numbers if earlier attempts did not count either."""
    if max_attempts is None:
        return f"attempt {number}, not counted (no limit)"
    limit = limit_words(max_attempts, granted)
    if number == counted + 1:
        return f"attempt {number} of {limit}, not counted"
    return f"attempt {number}, not counted: {counted} of {limit} used"


def used(counted: int, max_attempts: int | None, granted: int = 0) -> str:
    """Returns text such as `2 of 3 attempts used`, for times at which no attempt has just ended."""
    limit = "" if max_attempts is None else f" of {limit_words(max_attempts, granted)}"
    return f"{counted}{limit} attempt{'s' if counted != 1 or max_attempts is not None else ''} used"
