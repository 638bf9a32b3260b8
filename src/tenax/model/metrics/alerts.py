"""Decides which alerts fire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tenax.model.metrics.figures import Alert, Figures

RETRY_RATE, RETRY_SUCCESS, UNHEALTHY, QUEUE_DEPTH = (
    "retry_rate",
    "retry_success",
    "unhealthy_workers",
    "queue_depth",
)
ALERT_NAMES = (RETRY_RATE, UNHEALTHY, RETRY_SUCCESS, QUEUE_DEPTH)


@dataclass(frozen=True, slots=True)
class AlertTerms:
    """Holds the thresholds of the alerts."""

    retry_rate: float
    retry_success: float
    unhealthy: float
    queue_depth: float
    min_attempts: int
    """With fewer attempts, a rate says nothing."""


def evaluate(figures: Figures, terms: AlertTerms) -> list[Alert]:
    """Returns all alerts with their values."""
    ended = figures.retries_succeeded + figures.retries_failed
    rate = figures.retry_rate if figures.first_attempts >= terms.min_attempts else None
    success = figures.retry_success_rate if ended >= terms.min_attempts else None
    return [
        _above(RETRY_RATE, rate, terms.retry_rate, "retries in first attempts", _percent),
        _above(UNHEALTHY, figures.unhealthy_rate, terms.unhealthy, "workers that are unhealthy", _percent),
        _below(RETRY_SUCCESS, success, terms.retry_success, "retries that succeed", _percent),
        _above(QUEUE_DEPTH, figures.average_queue_depth, terms.queue_depth, "leased items of a worker, on average", _plain),
    ]  # fmt: skip


def _above(
    name: str, value: float | None, threshold: float, what: str, words: Callable[[float], str]
) -> Alert:
    text = _text(what, value, f"more than {words(threshold)}", words)
    return Alert(
        name=name, firing=value is not None and value > threshold, value=value, threshold=threshold, text=text
    )


def _below(
    name: str, value: float | None, threshold: float, what: str, words: Callable[[float], str]
) -> Alert:
    text = _text(what, value, f"less than {words(threshold)}", words)
    return Alert(
        name=name, firing=value is not None and value < threshold, value=value, threshold=threshold, text=text
    )


def _text(what: str, value: float | None, limit: str, words: Callable[[float], str]) -> str:
    now = "not known, or too few attempts" if value is None else words(value)
    return f"{what}: {now} (fires at {limit})"


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


def _plain(value: float) -> str:
    return f"{value:.3g}"
