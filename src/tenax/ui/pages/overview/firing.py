"""Says of each alert that fires what it means, since when, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tenax.model.fleet.views import Worker
from tenax.model.metrics.alerts import QUEUE_DEPTH, RETRY_RATE, RETRY_SUCCESS, UNHEALTHY
from tenax.model.metrics.figures import Alert
from tenax.model.metrics.series import Series, SeriesPoint


@dataclass(frozen=True, slots=True)
class Advice:
    title: str
    remedy: str
    link: str
    link_words: str


ADVICE = {
    RETRY_RATE: Advice(
        "Many attempts are retries",
        "Find the failure that is retried most, and mend its cause. If a dependency is down, a circuit breaker (`dependency` of the step) "
        "holds the retries back.",
        "#failing",
        "What fails now",
    ),
    RETRY_SUCCESS: Advice(
        "Few retries succeed",
        "Retries for these reasons spend time and do not help. Mend the cause, or do not retry them: `never_on` of the step's `retry`.",
        "#returns",
        "Retries by reason",
    ),
    UNHEALTHY: Advice(
        "Many workers are unhealthy",
        "The page of each worker names the column that decided. Restart workers that are silent. Resume a worker when its cause is mended.",
        "/workers?health=unhealthy",
        "Unhealthy workers",
    ),
    QUEUE_DEPTH: Advice(
        "Workers hold more work than they finish",
        "Start more workers, or limit the queues that fill them.",
        "/queues",
        "Queues",
    ),
}
"""The advice on each alert. A test holds it equal to the names of the alerts."""


@dataclass(frozen=True, slots=True)
class Firing:
    """Is an alert that fires."""

    alert: Alert
    advice: Advice
    since: str | None
    """Since about when the figure has been beyond its threshold. None: that is not recorded."""


def firing_alerts(alerts: Sequence[Alert], day: Series | None, workers: Sequence[Worker]) -> list[Firing]:
    return [Firing(one, ADVICE[one.name], _since(one, day, workers)) for one in alerts if one.firing]


def _since(alert: Alert, day: Series | None, workers: Sequence[Worker]) -> str | None:
    if alert.name == UNHEALTHY:
        return _since_unhealthy(alert.threshold, workers)
    if day is None or alert.name == QUEUE_DEPTH:
        return None
    if alert.name == RETRY_RATE:
        return _begin_of_run(_known(day, lambda point: point.retry_rate), lambda rate: rate > alert.threshold)
    return _begin_of_run(
        _known(day, lambda point: point.retry_success_rate), lambda rate: rate < alert.threshold
    )


def _since_unhealthy(threshold: float, workers: Sequence[Worker]) -> str | None:
    """Returns when the worker became unhealthy with which the share of unhealthy workers passed the threshold."""
    times = sorted(one.health_since or "" for one in workers if one.health == "unhealthy")
    first = int(threshold * len(workers))
    return times[first] or None if first < len(times) else None


def _known(day: Series, value: Callable[[SeriesPoint], float | None]) -> Iterator[tuple[str, float]]:
    """Yields the values from the newest to the oldest, without the spans in which nothing was counted."""
    for point in reversed(day.points):
        found = value(point)
        if found is not None:
            yield point.at, found


def _begin_of_run(known: Iterator[tuple[str, float]], is_beyond: Callable[[float], bool]) -> str | None:
    """Returns the time of the first value of the run of values beyond the threshold that lasts until now."""
    begin: str | None = None
    for at, value in known:
        if not is_beyond(value):
            break
        begin = at
    return begin
