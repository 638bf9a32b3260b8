"""What the API answers about workers and queues. A test holds real answers against these types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter

from tenax.model.health import Health, WorkerState
from tenax.model.views import LimitAnswer, Queue
from tenax.server.view_types import list_adapter, view_adapter

HealthColumn = Literal[
    "heartbeat_age",
    "consecutive_failures",
    "queue_depth",
    "failure_rate",
    "reported_status",
    "recovering",
]

Value = bool | int | float | str | None
"""A number; of `reported_status` a health, of `recovering` a truth."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker as the server sees it. Times are the database's; what is `reported` is the worker's own word."""

    name: str
    state: WorkerState
    state_reason: str | None
    state_actor: str | None
    """Who paused or drained it; `tenax`: the server itself."""
    state_since: str | None
    health: Health
    health_column: HealthColumn | None
    """What decided on the health; null of a healthy one."""
    health_since: str | None
    version: str | None
    runtimes: list[str]
    queues: list[str]
    labels: dict[str, str]
    slots: int
    serves: int | None
    """The one execution that it works for, with its children; null: all that its queues have."""
    queue_depth: int
    """What it has been given and has not reported."""
    consecutive_failures: int
    failure_rate: float | None
    """Of the window; null where it has had too few runs to say."""
    runs: int
    failures: int
    """Of the window, like `runs`; only those that speak of the worker."""
    losses: int
    """How often, in the window, it was lost with work in its hands."""
    probe_at: str | None
    """When it is given one item, to see whether it has recovered."""
    registered_at: str
    last_heartbeat: str
    heartbeat_age: float
    """Seconds."""
    reported: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a worker's health: the worst of them decides."""

    column: HealthColumn
    value: Value
    degraded_at: Value
    """From here on; null where there is no such threshold."""
    unhealthy_at: Value
    health: Health


@dataclass(frozen=True, slots=True)
class Lease:
    """An attempt that a worker holds."""

    execution_id: int
    step: str
    item: int | None
    attempt: int
    started_at: str
    lease_until: str


@dataclass(frozen=True, slots=True)
class WorkerEvent:
    """What happened to a worker: an event that belongs to no execution."""

    at: str
    type: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class WorkerInFull(Worker):
    """A worker with the columns of its health, what it holds, and its last events, the newest first."""

    columns: list[Column]
    leases: list[Lease]
    """At most 100 of `leases_total`."""
    leases_total: int
    events: list[WorkerEvent]


@dataclass(frozen=True, slots=True)
class WorkerAnswer:
    name: str
    state: WorkerState
    changed: bool
    """False where it was so already."""


WORKERS = TypeAdapter(list[Worker])
WORKER = TypeAdapter(WorkerInFull)
WORKER_CHANGED = TypeAdapter(WorkerAnswer)
QUEUES = list_adapter(Queue)
LIMITED = view_adapter(LimitAnswer)
