"""Which alerts fire, at and around their thresholds."""

from __future__ import annotations

from typing import Any

import pytest

from tenax.model.metrics.alerts import AlertTerms, evaluate
from tenax.model.metrics.figures import Figures

TERMS = AlertTerms(retry_rate=0.2, retry_success=0.7, unhealthy=0.5, queue_depth=20, min_attempts=20)


def figures(**more: Any) -> Figures:
    given = {
        "window_seconds": 3600.0, "counted_until": None, "first_attempts": 100, "retries": 0, "retry_rate": None,
        "retries_succeeded": 50, "retries_failed": 50, "retry_success_rate": None, "executions": 0, "executions_completed": 0,
        "executions_failed": 0, "retries_per_execution": None, "attempts": 0, "failures": 0, "failure_rate": None,
        "workers": {}, "unhealthy_rate": None, "average_queue_depth": None, "average_failure_rate": None, "dead_letters": 0,
    }  # fmt: skip
    return Figures(**{**given, **more})


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, []),
        ({"retry_rate": 0.2}, []),
        ({"retry_rate": 0.21}, ["retry_rate"]),
        ({"retry_rate": 0.21, "first_attempts": 19}, []),
        ({"unhealthy_rate": 0.5}, []),
        ({"unhealthy_rate": 0.51}, ["unhealthy_workers"]),
        ({"retry_success_rate": 0.7}, []),
        ({"retry_success_rate": 0.69}, ["retry_success"]),
        ({"retry_success_rate": 0.0, "retries_succeeded": 0, "retries_failed": 19}, []),
        ({"average_queue_depth": 20}, []),
        ({"average_queue_depth": 20.5}, ["queue_depth"]),
        ({"retry_rate": 1.0, "average_queue_depth": 99}, ["retry_rate", "queue_depth"]),
    ],
)
def test_an_alert_fires_beyond_its_threshold(more, expected):
    assert [alert.name for alert in evaluate(figures(**more), TERMS) if alert.firing] == expected


def test_a_value_that_is_not_known_is_said_so():
    texts = [alert.text for alert in evaluate(figures(), TERMS)]
    assert texts[0] == "retries in first attempts: not known, or too few attempts (fires at more than 20 %)"
