"""Says of each alert that fires what it means, since when, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
        "Find the failure that is retried most, and mend its cause. If something that many steps call is down, pause their queue until it is back.",
        "#failing",
        "What fails now",
    ),
    RETRY_SUCCESS: Advice(
        "Few retries succeed",
        "Retries for these reasons spend time and do not help. Mend the cause, or do not retry them (never_on in the step's policy).",
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
    """Since about when it fires. None: that is not recorded."""
    is_older: bool = False
    """True if it has fired for longer than the history that was looked at, which begins at `since`."""


@dataclass(frozen=True, slots=True)
class History:
    """Holds what says since when alerts fire."""

    series: Series | None
    workers: Sequence[Worker]
    window: float
    """Seconds over which the rates of the alerts are taken."""
    min_attempts: int
    """With fewer attempts in the window, no alert on a rate fires."""


def firing_alerts(alerts: Sequence[Alert], history: History) -> list[Firing]:
    return [_firing(one, history) for one in alerts if one.firing]


def _firing(alert: Alert, history: History) -> Firing:
    advice = ADVICE[alert.name]
    if alert.name == UNHEALTHY:
        return Firing(alert, advice, _since_unhealthy(alert.threshold, history.workers))
    if alert.name == QUEUE_DEPTH or history.series is None:
        return Firing(alert, advice, None)
    run = _run(history.series, history, _tests(alert)) if history.series.points else 0
    if not run:
        return Firing(alert, advice, None)
    points = history.series.points
    return Firing(alert, advice, points[-run].at, is_older=run == len(points))


def _since_unhealthy(threshold: float, workers: Sequence[Worker]) -> str | None:
    """Returns when the worker became unhealthy with which the share of unhealthy workers passed the threshold."""
    times = sorted(one.health_since or "" for one in workers if one.health == "unhealthy")
    first = int(threshold * len(workers))
    return times[first] or None if first < len(times) else None


_Test = Callable[[Sequence[SeriesPoint], int], bool]


def _tests(alert: Alert) -> _Test:
    """Returns the test of an alert on the points of a window."""

    def many_retries(points: Sequence[SeriesPoint], least: int) -> bool:
        first = sum(one.first_attempts for one in points)
        return first >= least and sum(one.retries for one in points) > alert.threshold * first

    def few_succeed(points: Sequence[SeriesPoint], least: int) -> bool:
        succeeded = sum(one.retries_succeeded for one in points)
        ended = succeeded + sum(one.retries_failed for one in points)
        return ended >= least and succeeded < alert.threshold * ended

    return many_retries if alert.name == RETRY_RATE else few_succeed


def _run(series: Series, history: History, fires: _Test) -> int:
    """Returns the number of the last points at which the alert fired without a break, each with the window before it."""
    size = max(round(history.window / series.span_seconds), 1)
    points, run = series.points, 0
    for end in range(len(points), 0, -1):
        if not fires(points[max(end - size, 0) : end], history.min_attempts):
            break
        run += 1
    return run
