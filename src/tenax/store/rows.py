"""Defines rows as the engine sees them. Rows of the hot path are not frozen, because frozen ones take three times as long to make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

import msgspec

from tenax.model.changes import ItemResult, Loss
from tenax.model.json_text import encode
from tenax.model.times import seconds_since
from tenax.policy.transitions import check


class ExecutionRow(msgspec.Struct, gc=False):
    """Is a locked execution. The engine changes it, and the journal writes it back."""

    id: int
    plan_id: int
    state: str
    open_steps: int
    base_dir: str | None
    retry_of: int | None
    original_execution: int | None
    created_at: datetime
    deadline_at: datetime | None = None
    parent_id: int | None = None
    compensation: str | None = None
    failure: str | None = None
    """The failure, if the execution has failed and its compensations have not ended, or if it was reopened with a goal
    that stays lost: then it fails with this at its end."""
    lane: int = 0
    """The lane in which the items of its fan-outs take turns with those of other executions."""
    budgeted: bool = False
    """True if the execution belongs to a tree with a budget."""
    input: Mapping[str, Any] | None = None
    """The inputs, if they were loaded: they may be large."""

    @property
    def open(self) -> bool:
        return self.state in ("running", "paused")

    @property
    def failing(self) -> bool:
        """Whether the execution has failed and stays open until its compensations have ended."""
        return self.open and self.compensation is not None

    def become(self, state: str) -> None:
        check("execution", self.state, state)
        self.state = state


class ItemRow(msgspec.Struct, gc=False):
    """A locked work item. The fields are the columns of `item_row.sql`, in their order."""

    id: int
    execution_id: int
    plan_id: int
    step: str
    item_no: int | None
    attempt: int
    max_attempts: int | None
    ledger: str | None
    created_at: datetime
    worker: str | None
    started_at: datetime | None
    state: str
    lease_token: str | None
    refused_by: list[str] | None
    runtime: str
    compensates: bool
    awaiting: str | None
    child: int | None
    """The execution that it waits for."""
    placed: bool
    """True if the item has a slot of its fan-out, or needs none."""
    action_limit: str | None
    key_limit: str | None
    policy: str | None
    """The retry policy that an operator gave it."""

    def age(self, now: datetime) -> float:
        """Returns the seconds since the item was first queued."""
        return seconds_since(self.created_at.timestamp(), now)

    @property
    def held_limits(self) -> list[str]:
        """The limits that it counts against while it runs."""
        if self.state not in ("leased", "accepted"):
            return []
        return [name for name in (self.action_limit, self.key_limit) if name is not None]


class ExpiredItem(ItemRow, gc=False):
    """Is a locked item that has expired, with its worker as far as it is known."""

    expires_at: datetime
    timed_out: bool
    """True if the attempt has exceeded its timeout. Heartbeats did not extend its lease any further."""
    last_heartbeat: datetime | None
    registered_at: datetime | None
    version: str | None
    able: int | None

    @property
    def of_this_life(self) -> bool:
        """Whether its worker has not started again since."""
        begun, registered = self.started_at, self.registered_at
        return begun is not None and registered is not None and begun >= registered

    @property
    def loss(self) -> Loss:
        """The kind of loss that the end of the lease is for the worker, if the worker is lost."""
        assert self.worker is not None
        silent_since = self.last_heartbeat if self.of_this_life else None
        return Loss(self.worker, self.id, silent_since, self.version, self.able)


class OperatedItem(ItemRow, gc=False):
    """A locked item that an operator acts on."""

    available_at: datetime


@dataclass(frozen=True, slots=True)
class OpenItem:
    """Is an item that ends because its execution ends."""

    id: int
    execution_id: int
    step: str
    item_no: int | None
    attempt: int
    state: str
    worker: str | None
    compensates: bool
    limits: list[str]
    """The limits that it counts against, if it runs."""
    ledger: str | None


class ServerItem(ItemRow, gc=False):
    """Is a locked item of a step that the server carries out, with the values from which its inputs are rendered."""

    element: str | None
    vary: str | None
    timeout: float | None


class LeasedItem(msgspec.Struct, gc=False):
    """Is a leased item before its inputs are rendered."""

    slot: int
    """The number of the slot for which it was leased."""
    id: int
    execution_id: int
    plan_id: int
    step: str
    attempt: int
    max_attempts: int | None
    timeout: float
    base_dir: str | None
    item_no: int | None
    started_at: datetime
    compensates: bool
    fresh: bool
    """True if no attempt of the item has ended yet."""
    is_retry: bool
    element: str | None
    previous: str | None
    vary: str | None
    lane: int
    ledger: str | None
    policy: str | None
    """The retry policy that an operator gave it."""
    created: float
    """Unix time at which it was first queued."""
    worker: str
    grant: str
    lease_token: str

    state: ClassVar[str] = "leased"
    child: ClassVar[None] = None
    placed: ClassVar[bool] = True
    """A leased item always has a slot, if it needs one."""
    held_limits: ClassVar[list[str]] = []
    """Cached leases have no limits: items under a limit are read from their rows."""

    def age(self, now: datetime) -> float:
        """Returns the seconds since the item was first queued."""
        return seconds_since(self.created, now)


class NewLease(NamedTuple):
    """Is the lease of an item that is leased as it is inserted."""

    worker: str
    grant: str
    token: str


class ItemLimits(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds the limits of an item: the name under which it is counted, and how many such items may run at once.

    The fields are those of the type in SQL.
    """

    action: str | None = None
    action_most: int | None = None
    key: str | None = None
    key_most: int | None = None


class NewItem(msgspec.Struct, gc=False, omit_defaults=True):
    """Is a work item to be queued."""

    execution_id: int
    plan_id: int
    step: str
    queue: str
    runtime: str
    priority: int
    labels: str | None
    max_attempts: int | None
    timeout: float | None
    queue_ttl: float | None
    vary: str | None = None
    paused: bool = False
    base_dir: str | None = None
    lane: int = 0
    """The number by which fan-outs take turns: the id of the execution that the fan-out began with. 0 if the item
    belongs to none."""
    limits: ItemLimits | None = None
    lease: NewLease | None = None
    """Set if a worker waits for the item: it is leased as it is inserted."""

    @property
    def unrestricted(self) -> bool:
        """Returns whether the item is unrestricted: any able worker may have it, in the order of the queue."""
        return not self.lane and self.limits is None

    @property
    def limits_text(self) -> str | None:
        return None if self.limits is None else encode(self.limits)


@dataclass(slots=True)
class NewFanOut:
    """Is a fan-out that begins, with one item like `item` for each element. `parallelism` of them run at once, or all if it is None."""

    item: NewItem
    elements: str
    parallelism: int | None
    tolerated: int
    keys: str | None = None
    """The list of the keys of all elements, if items of the same key are limited."""


@dataclass(slots=True)
class FanOutRow:
    """Is a fan-out, read under the lock of its execution. The engine updates its counters, and the journal writes it back."""

    execution_id: int
    step: str
    total: int
    ended: int
    failed: int
    attempts: int
    tolerated: int
    parallelism: int | None
    placed: int
    closed: bool

    def count(self, ended: ItemResult) -> None:
        """Counts an item that has ended."""
        self.ended += 1
        self.attempts += ended.attempts
        self.failed += ended.state == "failed"


@dataclass(frozen=True, slots=True)
class Accepted:
    """Is an item that continues without a worker until something ends it."""

    id: int
    attempt: int
    awaiting: str
    until: datetime | None

    @property
    def runs_elsewhere(self) -> bool:
        """Returns whether it runs as a child or with a callee, and does not only wait."""
        return self.awaiting in ("callback", "child")


@dataclass(frozen=True, slots=True)
class ParentItem:
    """Names the item and the attempt that started an execution as a child."""

    execution_id: int
    item_id: int
    step: str
    item: int | None
    attempt: int
    lane: int = 0
    """The lane in which the items of its fan-outs take turns with those of other executions."""


class NewExecution(msgspec.Struct, gc=False, omit_defaults=True):
    """Is an execution to be inserted."""

    number: int
    """Its id. A negative number if the inserting statement makes the id."""
    plan_id: int
    open_steps: int
    state: str
    submit_key: str | None = None
    base_dir: str | None = None
    retry_of: int | None = None
    original_execution: int | None = None
    deadline: float | None = None
    parent: ParentItem | None = None
    budgeted: bool = False


@dataclass(frozen=True, slots=True)
class WorkflowPause:
    """Says who paused a workflow, and who lets it go on."""

    workflow: str
    actor: str
    reason: str | None
    resumed_by: str | None
    """The person who resumed it. Its executions are resumed one by one."""
    resumed_why: str | None

    @property
    def holds(self) -> bool:
        return self.resumed_by is None
