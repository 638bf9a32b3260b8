"""Defines the figures, the alerts and the statistics that people see."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from tenax.model.fleet.views import Queue, Worker
from tenax.model.values import View

By = Literal["reason", "step", "class", "worker"]


class Figures(View):
    """Holds the figures of a window of time, and of the workers now. A share is null if there is nothing to divide by."""

    window_seconds: float
    counted_until: str | None
    """The log is counted up to this time. Null if nothing was counted yet."""
    first_attempts: int
    retries: int
    """Retries that started."""
    retry_rate: float | None
    """Retries in proportion to first attempts."""
    retries_succeeded: int
    retries_failed: int
    retry_success_rate: float | None
    executions: int
    """Executions that started."""
    executions_completed: int
    executions_failed: int
    retries_per_execution: float | None
    attempts: int
    """Attempts that succeeded or failed."""
    failures: int
    failure_rate: float | None
    workers: dict[str, int]
    """The number of live workers of each health."""
    unhealthy_rate: float | None
    average_queue_depth: float | None
    """Attempts that a live worker has leased and not reported, on average."""
    average_failure_rate: float | None
    """The failure rate of a live worker, on average over those that have one."""
    dead_letters: int
    """Dead letters that are open now."""


class Alert(View):
    """Says whether an alert fires. The value is null if it is not known, or there were too few attempts."""

    name: str
    firing: bool
    value: float | None
    threshold: float
    text: str


class Alerts(View):
    firing: bool
    """True if any of them fires."""
    counted_until: str | None
    window_seconds: float
    alerts: list[Alert]


class AttemptReturn(View):
    """Counts how the retries with this attempt number ended. The last number stands for all higher ones."""

    attempt: int
    retries: int
    succeeded: int
    success_rate: float
    seconds: float
    """Seconds that these attempts ran."""
    waited: float
    """Seconds of delay before them."""


class RetryGroup(View):
    """Counts how the retries of a group of failures ended."""

    name: str
    failures: int
    retries: int
    """Retries that have ended."""
    succeeded: int
    success_rate: float | None
    seconds: float
    """Seconds that the retries ran."""
    waited: float
    """Seconds of delay before them."""
    attempts: list[AttemptReturn]
    """Empty for workers."""


class RetryStats(View):
    """Says how retries ended, by the failure that was retried. The times are whole minutes."""

    since: str
    until: str
    counted_until: str | None
    by: By
    groups: list[RetryGroup]


class MinuteCount(View):
    minute: str
    attempts: int
    failures: int


class FailureGroup(View):
    workflow: str
    step: str
    class_: str = field(name="class")
    reason: str
    failures: int
    last_minute: str


class NewestFailure(View):
    """Describes a failure that is being retried, or after which the item has failed for good."""

    execution_id: int
    step: str
    item: int | None
    attempt: int
    class_: str = field(name="class")
    reason: str
    at: str
    due: str | None
    """When the retry is due. Null if it runs, is held, or if there is none."""
    dead: bool
    """True if the item has failed for good."""


class Overview(View):
    """Is what `tenax top` shows."""

    figures: Figures
    lateness: dict[str, float | None]
    """Upper bounds in seconds of the lateness of half of the retries (`p50`), and of 99 % (`p99`)."""
    minutes: list[MinuteCount]
    queues: list[Queue]
    workers: list[Worker]
    groups: list[FailureGroup]
    newest: list[NewestFailure]
    alerts: list[Alert]
