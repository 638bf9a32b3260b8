"""Rows as the engine sees them. Those of the hot path are not frozen: that would triple the cost of making one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tenax.model.decision import Ledger
from tenax.policy.transitions import check


@dataclass(slots=True)
class ExecutionRow:
    """A locked execution. The engine changes it, and the journal writes it back."""

    id: int
    plan_id: int
    state: str
    open_steps: int
    input: str | None
    base_dir: str | None
    retry_of: int | None
    original_execution: int | None
    created_at: datetime
    deadline_at: datetime | None = None

    @property
    def open(self) -> bool:
        return self.state in ("running", "paused")

    def become(self, state: str) -> None:
        check("execution", self.state, state)
        self.state = state


@dataclass(slots=True)
class ItemRow:
    """A locked work item."""

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
    lease_until: datetime | None
    timeout_at: datetime | None
    queue_ttl: float | None
    lease_token: Any
    refused_by: list[str] | None

    def again(
        self,
        state: str,
        available_at: datetime,
        *,
        ledger: str | None = None,
        last_error: str | None = None,
        refused_by: tuple[str, ...] = (),
    ) -> ItemAgain:
        """The item as it goes back to the queue."""
        check("item", self.state, state)
        return ItemAgain(self.id, state, available_at, self.attempt, ledger, last_error, refused_by)


@dataclass(frozen=True, slots=True)
class OpenItem:
    """An item that ends because its execution does."""

    id: int
    execution_id: int
    step: str
    item_no: int | None
    attempt: int
    state: str
    worker: str | None


@dataclass(slots=True)
class LeasedItem:
    """What a lease gives, before its inputs are rendered."""

    id: int
    execution_id: int
    plan_id: int
    step: str
    attempt: int
    max_attempts: int | None
    timeout: float
    worker: str
    lease_grant: Any
    lease_token: Any
    is_retry: bool
    input: str | None
    base_dir: str | None


@dataclass(frozen=True, slots=True)
class RefusedItem:
    """A ready item that nobody is left to run."""

    id: int
    execution_id: int


@dataclass(slots=True)
class NewItem:
    """A work item to be queued."""

    execution_id: int
    plan_id: int
    step: str
    queue: str
    runtime: str
    priority: int
    labels: str | None
    max_attempts: int | None
    timeout: float
    queue_ttl: float | None


@dataclass(slots=True)
class ItemAgain:
    """An item that goes back to the queue: a retry, a snooze, a hold, or a lease handed back."""

    id: int
    state: str
    available_at: datetime
    attempt: int
    ledger: str | None = None
    last_error: str | None = None
    refused_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepRow:
    execution_id: int
    step: str
    state: str
    waiting_for: int = 0
    attempts: int = 0
    result: Any = None
    failure: dict[str, Any] | None = None


@dataclass(slots=True)
class NewExecution:
    id: int
    plan_id: int
    open_steps: int
    submit_key: str | None
    input: str | None
    base_dir: str | None
    retry_of: int | None
    original_execution: int | None
    deadline: float | None


def ledger_from(body: dict[str, Any] | None, elapsed: float) -> Ledger:
    return Ledger(**{**body, "elapsed": elapsed}) if body else Ledger(elapsed=elapsed)
