"""What people see: the views that the engine gives, each a typed value. A server encodes them as they are.

Times are RFC 3339, in UTC, by the database's clock.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from tenax.model.health import Health, WorkerState
from tenax.model.parse.values import Value

ExecutionStatus = Literal["running", "paused", "completed", "failed", "cancelled"]
Compensation = Literal["running", "completed", "failed", "cancelled"]
ItemStatus = Literal[
    "waiting", "queued", "running", "accepted", "retrying", "held", "succeeded", "failed", "cancelled"
]

HealthColumn = Literal[
    "heartbeat_age",
    "consecutive_failures",
    "queue_depth",
    "failure_rate",
    "reported_status",
    "recovering",
]

HealthValue = bool | int | float | str | None
"""A number; of `reported_status` a health, of `recovering` a truth."""


class View(Value):
    """A view, or a part of one. All its fields are always there."""


class OpenPart(Value):
    """A part of a view that the API describes as an open object: fields may be absent, and more may come."""


class Awaited(OpenPart):
    """What an item waits for that nobody works on, in the words of `action_started`."""

    kind: str = field(name="for")
    """`sleep`, `signal`, `approval`, `callback` or `child`."""
    signal: str | UnsetType = UNSET
    child: int | UnsetType | None = UNSET
    until: str | UnsetType | None = UNSET
    """Of a sleep; of the others it is `deadline_at`."""
    deadline_at: str | UnsetType | None = UNSET


class IdleWorker(OpenPart):
    """A worker that is able to run an item and is kept from it."""

    name: str
    state: WorkerState
    state_actor: str | None
    health: Health


class Unserved(OpenPart):
    """Why no worker takes work that is ready, and what that work asks for."""

    reason: str
    since: str
    queue: str
    labels: dict[str, str]
    idle: list[IdleWorker]
    """At most so many as people are told the names of."""


class Limited(OpenPart):
    """Which limit keeps work that is ready from starting."""

    reason: str
    since: str


class Standing(OpenPart):
    """What ready work waits at; each null where it is not so."""

    unserved: Unserved | None = None
    limited: Limited | None = None


class WaitingItem(OpenPart):
    """The work item that tells most of its execution."""

    item: int | None
    step: str
    state: str
    """In the words of steps."""
    attempt: int
    counted: int
    lost_by: list[str]
    awaiting: Awaited | None
    last_error: str | None
    compensates: bool
    available_at: str
    max_attempts: int | None
    unserved: Unserved | None
    limited: Limited | None


class ExecutionSummary(View):
    """An execution in a list. `waiting` is the work item that tells most, where there is one: with what it is `awaiting`, and
    why it is ready and does not run (`unserved`, `limited`).
    """

    id: int
    workflow: str
    version: str | None
    status: ExecutionStatus
    failure: dict[str, Any] | None
    created_at: str
    finished_at: str | None
    retry_of: int | None
    parent: int | None
    """The execution that started it, where it is a child."""
    compensation: Compensation | None
    waiting: WaitingItem | None


class ItemInfo(View):
    """One element of a fan-out. `item` is its place in the list, from 0."""

    item: int
    status: ItemStatus
    attempt: int | None
    """None of an item that was cancelled."""
    max_attempts: int | None
    result: Any
    failure: dict[str, Any] | None
    available_at: str | None
    last_error: str | None
    lost_by: list[str]
    """The workers that it has cost their lease."""
    worker: str | None
    waiting: Awaited | None
    """What it waits for that nobody works on: a sleep, a signal, an approval, a callback, a child."""


class Explanation(View):
    """One decision on a retry: the rule that gave it, what it saw, and the same in plain English."""

    step: str | None
    item: int | None
    attempt: int | None
    compensation: bool
    """The attempt was one of the step's `compensate`."""
    at: str
    verdict: str
    rule: str
    reason: str | None
    failure: dict[str, Any] | None
    decision: dict[str, Any]
    text: str


class Delivery(View):
    """The wait that took a signal."""

    step: str
    item: int | None


class SignalAnswer(View):
    id: int
    signal: str
    delivered_to: Delivery | None
    """None: nothing waits for it yet; it is kept for the wait that will."""
    created: bool
    """False where the key was known: it is the earlier signal."""
    expected: bool
    """False where no step of the definition waits for a signal of this name."""
    names: list[str] | None
    """The signals that its steps wait for; null where a template says it, so that it may be any."""


class ApprovalAnswer(View):
    id: int
    step: str
    item: int | None
    approved: bool


class RetryAnswer(View):
    """Waiting: the `steps` that now run at once. Finished: the new execution, linked to the old one by `retry_of`."""

    id: int
    created: bool
    steps: list[str] | None = None
    retry_of: int | None = None


class StoredWorkflow(View):
    name: str
    version: str | None
    hash: str
    created: bool
    """False where the very same definition was stored before."""


class WorkflowInfo(View):
    """A stored definition. Its hash is its identity."""

    name: str
    version: str | None
    hash: str
    created_at: str


class Checked(View):
    """How much was checked. `decisions` are those that were made again."""

    executions: int
    events: int
    decisions: int


class Violation(View):
    """One law that an execution breaks, and the ids of the events concerned."""

    law: str
    execution: int
    step: str | None
    item: int | None
    attempt: int | None
    events: list[int]
    message: str


class Verified(View):
    """What the check of some executions found. `other_versions`: decisions that were not made again, by the decider's version."""

    checked: Checked
    violations: list[Violation]
    not_shown: int
    """Violations beyond those that are listed."""
    other_versions: dict[str, int]
    next: int | None
    """Go on with `after`; null: all have been checked."""


class Tree(View):
    """An execution and its children. `more` is how many children there are beyond those that are shown."""

    id: int
    workflow: str
    status: ExecutionStatus
    step: str | None
    """The step of the parent that started it. Like the next two null at the top."""
    item: int | None
    attempt: int | None
    failure: dict[str, Any] | None
    created_at: str
    finished_at: str | None
    children: list[Tree]
    more: int


class Worker(View):
    """A worker as the server sees it. Times are the database's; what is `reported` is the worker's own word."""

    name: str
    state: WorkerState
    state_reason: str | None
    state_actor: str | None
    """Who paused or drained it; `tenax:server`: the server itself."""
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


class Column(View):
    """One column of a worker's health: the worst of them decides."""

    column: HealthColumn
    value: HealthValue
    degraded_at: HealthValue
    """From here on; null where there is no such threshold."""
    unhealthy_at: HealthValue
    health: Health


class Lease(View):
    """An attempt that a worker holds."""

    execution_id: int
    step: str
    item: int | None
    attempt: int
    started_at: str
    lease_until: str


class WorkerEvent(View):
    """What happened to a worker: an event that belongs to no execution."""

    at: str
    type: str
    data: dict[str, Any]


class WorkerInFull(Worker):
    """A worker with the columns of its health, what it holds, and its last events, the newest first."""

    columns: list[Column]
    leases: list[Lease]
    """At most 100 of `leases_total`."""
    leases_total: int
    events: list[WorkerEvent]


class Queue(View):
    """A queue: what is in it, who serves it, and how it is limited."""

    queue: str
    ready: int
    waiting: int
    """Retries that are not due yet."""
    running: int
    blocked: int
    """As many as may run already: these wait for one to end."""
    oldest_at: str | None
    """Since when the first of the ready ones waits."""
    workers: int
    """Live ones that serve it."""
    concurrency: int | None
    rate: float | None
    burst: int | None


class LimitAnswer(View):
    """The limits of a queue as they now are; null: no such limit."""

    queue: str
    concurrency: int | None
    rate: float | None
    burst: int | None
