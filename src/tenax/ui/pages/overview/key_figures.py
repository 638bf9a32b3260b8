"""Sums the series of a range to key figures, and prepares them for charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tenax.model.metrics.series import Series, SeriesPoint


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """Holds the figures of a range. A share is None if there is nothing to divide by."""

    ended: int
    """Attempts that ended."""
    per_minute: float
    first_attempts: int
    retries: int
    retry_rate: float | None
    retries_ended: int
    retry_success_rate: float | None


def key_figures(series: Series) -> KeyFigures:
    points = series.points
    ended, retries = sum(map(_ended, points)), sum(one.retries for one in points)
    first = sum(one.first_attempts for one in points)
    minutes = len(points) * series.span_seconds / 60
    succeeded = sum(one.retries_succeeded for one in points)
    came_back = succeeded + sum(one.retries_failed for one in points)
    return KeyFigures(
        ended=ended,
        per_minute=ended / minutes if minutes else 0.0,
        first_attempts=first,
        retries=retries,
        retry_rate=retries / first if first else None,
        retries_ended=came_back,
        retry_success_rate=succeeded / came_back if came_back else None,
    )


def _ended(point: SeriesPoint) -> int:
    return point.succeeded + point.failed + point.lost + point.expired


@dataclass(frozen=True, slots=True)
class Lines:
    """Holds the series as lines of charts, one value for each span that is counted in full."""

    times: list[int]
    throughput: list[float | None]
    """Attempts that ended in a minute. The next ones are counts in a minute too, those of outcomes, retries and executions."""
    outcomes: list[dict[str, Any]]
    retries: list[dict[str, Any]]
    started: list[float | None]
    shares: list[dict[str, Any]]
    """In percent."""
    lateness: list[dict[str, Any]]
    """In seconds."""

    @property
    def retry_rate(self) -> list[float | None]:
        found: list[float | None] = self.shares[0]["values"]
        return found

    @property
    def retry_success_rate(self) -> list[float | None]:
        found: list[float | None] = self.shares[1]["values"]
        return found

    @property
    def late_p99(self) -> list[float | None]:
        found: list[float | None] = self.lateness[1]["values"]
        return found


def lines_of(series: Series) -> Lines:
    points = _counted(series)
    factor = 60 / series.span_seconds

    def line(
        name: str, tone: str, value: Callable[[SeriesPoint], float | None], times: float
    ) -> dict[str, Any]:
        found = (value(point) for point in points)
        return {
            "name": name,
            "tone": tone,
            "values": [None if one is None else round(one * times, 3) for one in found],
        }

    return Lines(
        times=[epoch(point.at) for point in points],
        throughput=[round(_ended(point) * factor, 3) for point in points],
        outcomes=[
            line("succeeded", "good", lambda one: one.succeeded, factor),
            line("failed", "bad", lambda one: one.failed, factor),
            line("lost", "held", lambda one: one.lost, factor),
            line("expired", "warn", lambda one: one.expired, factor),
        ],
        retries=[
            line("first attempts", "busy", lambda one: one.first_attempts, factor),
            line("retries", "warn", lambda one: one.retries, factor),
        ],
        started=[round(one.executions_started * factor, 3) for one in points],
        shares=[
            line("retry rate", "warn", lambda one: one.retry_rate, 100),
            line("retry success", "good", lambda one: one.retry_success_rate, 100),
        ],
        lateness=[
            line("half of them", "busy", lambda one: one.late_p50, 1),
            line("99 %", "held", lambda one: one.late_p99, 1),
        ],
    )  # fmt: skip


def _counted(series: Series) -> Sequence[SeriesPoint]:
    """Returns the points that are counted in full. The last one may not be over yet, and would look like a fall."""
    if series.counted_until is None:
        return []
    until = epoch(series.counted_until) - series.span_seconds
    return [point for point in series.points if epoch(point.at) <= until]


def epoch(time: str) -> int:
    """Returns the Unix time of a time of a view."""
    return int(datetime.fromisoformat(time).timestamp())
