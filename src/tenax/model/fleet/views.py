"""Defines the views of workers and queues."""

from __future__ import annotations

from typing import Any, Literal

from tenax.model.fleet.health import Health, WorkerState
from tenax.model.values import OpenPart, View

HealthColumn = Literal[
    "heartbeat_age",
    "consecutive_failures",
    "queue_depth",
    "failure_rate",
    "reported_status",
    "recovering",
]

HealthValue = bool | int | float | str | None
"""The value of a column: a number, for `reported_status` a health, and for `recovering` a bool."""


class IdleWorker(OpenPart):
    """Describes a worker that is able to run an item but gets no work."""

    name: str
    state: WorkerState
    state_actor: str | None
    health: Health


class Worker(View):
    """Describes a worker as the server sees it. `reported` is the worker's own report."""

    name: str
    state: WorkerState
    state_reason: str | None
    state_actor: str | None
    """The actor that paused or drained it. `tenax:server` is the server itself."""
    state_since: str | None
    health: Health
    health_column: HealthColumn | None
    """The column that decided the health. Null if the worker is healthy."""
    health_since: str | None
    version: str | None
    runtimes: list[str]
    queues: list[str]
    labels: dict[str, str]
    slots: int
    serves: int | None
    """The only execution that it serves, with its children. Null if it serves its queues."""
    queue_depth: int
    """The number of attempts that it has leased and not reported."""
    consecutive_failures: int
    failure_rate: float | None
    """The failure rate in the window. Null if there were too few runs."""
    runs: int
    failures: int
    """The number of failures in the window that count against the worker. `runs` counts the runs in the window."""
    losses: int
    """How often in the window it was lost while it held leases."""
    probe_at: str | None
    """When it gets one item that shows whether it has recovered."""
    registered_at: str
    last_heartbeat: str
    heartbeat_age: float
    """Seconds since its last heartbeat."""
    reported: dict[str, Any] | None


class ColumnInfo(View):
    """Describes one column of a worker's health. The worst column decides."""

    column: HealthColumn
    value: HealthValue
    degraded_at: HealthValue
    """The value from which the worker is degraded. Null if there is no such threshold."""
    unhealthy_at: HealthValue
    health: Health


class Lease(View):
    """Describes an attempt that a worker has leased."""

    execution_id: int
    step: str
    item: int | None
    attempt: int
    started_at: str
    lease_until: str


class WorkerEvent(View):
    """Describes an event of a worker, which belongs to no execution."""

    at: str
    type: str
    data: dict[str, Any]


class WorkerInFull(Worker):
    """Describes a worker with the columns of its health, its leases, and its last events, the newest first."""

    columns: list[ColumnInfo]
    leases: list[Lease]
    """The leases, at most 100 of `leases_total`."""
    leases_total: int
    events: list[WorkerEvent]


class Queue(View):
    """Describes a queue: its work, its workers, and its limits."""

    queue: str
    ready: int
    waiting: int
    """The number of retries that are not due yet."""
    running: int
    blocked: int
    """The number of items that wait because the concurrency limit is reached."""
    oldest_at: str | None
    """Since when the oldest ready item waits."""
    workers: int
    """The number of live and active workers that serve the queue."""
    idle: list[IdleWorker]
    """The live workers of the queue that take no work, because they are paused or draining."""
    concurrency: int | None
    rate: float | None
    burst: int | None
    paused_by: str | None = None
    """The person who paused it. Null: it is not paused."""
    paused_why: str | None = None
    paused_at: str | None = None
    ended_per_minute: float | None = None
    """The attempts that ended in a minute, on average over the last minutes that were counted. Null: nothing was counted yet."""


class QueuePauseAnswer(View):
    """Answers the pause of a queue, or its end."""

    queue: str
    paused: bool
    changed: bool
    """False if it was so already."""


class LimitAnswer(View):
    """Holds the new limits of a queue. Null means that there is no such limit."""

    queue: str
    concurrency: int | None
    rate: float | None
    burst: int | None
