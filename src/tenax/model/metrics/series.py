"""Defines series over time: what charts and sparklines draw."""

from __future__ import annotations

from tenax.model.values import View

MOST_POINTS = 240  # points of a series
WIDTHS = (60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400)
"""Seconds of a span, of which the smallest that fits is taken."""


class SeriesPoint(View):
    """Counts what happened in a span of time. A share is null if there is nothing to divide by."""

    at: str
    """When the span begins."""
    succeeded: int
    """Attempts that succeeded."""
    failed: int
    lost: int
    expired: int
    given_up: int
    """Attempts after which an item has failed for good."""
    first_attempts: int
    retries: int
    """Retries that started."""
    retry_rate: float | None
    """Retries in proportion to first attempts."""
    retries_succeeded: int
    retries_failed: int
    retry_success_rate: float | None
    """The part of the retries that ended which succeeded."""
    executions_started: int
    executions_completed: int
    executions_failed: int
    late_p50: float | None
    """Upper bound in seconds of the lateness of half of the retries."""
    late_p99: float | None


class Series(View):
    """Holds the points from one time to another, without gaps."""

    since: str
    until: str
    span_seconds: int
    counted_until: str | None
    """The log is counted up to this time: later points are too low."""
    workflow: str | None
    step: str | None
    points: list[SeriesPoint]


class WorkerPoint(View):
    at: str
    started: int
    failed: int
    failure_rate: float | None


class WorkerSeries(View):
    """Holds the points of one worker, without gaps."""

    worker: str
    points: list[WorkerPoint]


class StepFigures(View):
    """Says what the attempts of a step came to."""

    step: str
    attempts: int
    succeeded: int
    failed: int
    success_rate: float | None
    retries_succeeded: int
    retries_failed: int
    retry_success_rate: float | None
    given_up: int
    average_seconds: float | None
    """Seconds that an attempt ran, on average."""
    waited_seconds: float
    """Seconds of delay before retries."""


class LetterTrend(View):
    """Counts the dead letters of a fingerprint by the span in which they failed last, without gaps."""

    fingerprint: str
    counts: list[int]


def width_of(seconds: float) -> int:
    """Returns the smallest width of spans with which a time has few enough points."""
    return next((width for width in WIDTHS if seconds / width <= MOST_POINTS), WIDTHS[-1])
