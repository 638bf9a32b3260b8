"""Tests since when an alert is said to fire."""

from __future__ import annotations

import pytest

from tenax.model.fleet.views import Worker
from tenax.model.metrics.alerts import ALERT_NAMES, QUEUE_DEPTH, RETRY_RATE, RETRY_SUCCESS, UNHEALTHY
from tenax.model.metrics.figures import Alert
from tenax.model.metrics.series import Series, SeriesPoint
from tenax.ui.pages.overview.firing import ADVICE, History, firing_alerts

NOTHING = dict.fromkeys(SeriesPoint.__struct_fields__, 0)


def series(*points: dict[str, int]) -> Series:
    made = [SeriesPoint(**{**NOTHING, **one, "at": f"minute {n}"}) for n, one in enumerate(points)]
    return Series(
        since="", until="", span_seconds=60, counted_until=None, workflow=None, step=None, points=made
    )


def firing(name: str, history: History, threshold: float = 0.2):
    alert = Alert(name=name, firing=True, value=1.0, threshold=threshold, text="")
    [one] = firing_alerts([alert], history)
    return one.since, one.is_older


GOOD, BAD = {"first_attempts": 10, "retries": 1}, {"first_attempts": 10, "retries": 5}
RECOVERS, FAILS = {"retries_succeeded": 10}, {"retries_failed": 10}


@pytest.mark.parametrize(
    ("name", "points", "since"),
    [
        (RETRY_RATE, [GOOD, GOOD, BAD, BAD], ("minute 2", False)),
        (RETRY_RATE, [BAD, GOOD, GOOD, BAD], ("minute 3", False)),
        (RETRY_RATE, [BAD, BAD, BAD], ("minute 0", True)),
        (RETRY_RATE, [BAD, GOOD, GOOD], (None, False)),
        (RETRY_RATE, [], (None, False)),
        (RETRY_SUCCESS, [RECOVERS, RECOVERS, FAILS, FAILS], ("minute 2", False)),
        (QUEUE_DEPTH, [BAD, BAD], (None, False)),
    ],
)
def test_an_alert_fires_since_the_begin_of_its_last_run(name, points, since):
    threshold = 0.7 if name == RETRY_SUCCESS else 0.2
    history = History(series(*points), [], window=120, min_attempts=10)
    assert firing(name, history, threshold) == since


def test_too_few_attempts_fire_nothing():
    history = History(series(BAD, BAD), [], window=60, min_attempts=11)
    assert firing(RETRY_RATE, history) == (None, False)


def test_workers_are_too_many_since_the_one_that_passed_the_threshold():
    empty = dict.fromkeys(Worker.__struct_fields__)
    workers = [
        Worker(**{**empty, "health": health, "health_since": since})
        for health, since in (("unhealthy", "b"), ("unhealthy", "a"), ("unhealthy", "c"), ("healthy", "0"))
    ]
    assert firing(UNHEALTHY, History(None, workers, 60, 1), 0.5) == ("c", False)


def test_every_alert_has_its_advice():
    assert set(ADVICE) == set(ALERT_NAMES)
