"""Defines the facts that laws check: events and rows as the store reads them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from tenax.model.events import ATTEMPT_ENDS

ENDS = ATTEMPT_ENDS
CLOCK_SET_BACK = (
    60.0  # seconds; no statement takes longer, so a longer step back in time is a change of the clock
)
_IN_A_STEP = {
    "compensation_enqueued": "step_enqueued",
    "compensation_started": "action_started",
    "compensation_completed": "action_completed",
    "compensation_failed": "step_failed_terminal",
    "compensation_cancelled": "item_cancelled",
}


class LoggedEvent(NamedTuple):
    """One event of the log."""

    id: int
    type: str
    at: datetime
    step: str | None = None
    item: int | None = None
    attempt: int | None = None
    token: str | None = None
    data: Mapping[str, Any] = {}
    transaction: int = 0
    """The transaction that wrote it."""

    def body(self) -> dict[str, Any]:
        """Returns the event as the log stores it."""
        found: dict[str, Any] = {"type": self.type}
        for name in ("step", "item", "attempt", "token"):
            if (value := getattr(self, name)) is not None:
                found[name] = value
        return {**found, "data": self.data} if self.data else found

    @property
    def undoes(self) -> bool:
        """Whether the event belongs to a compensation."""
        return self.type.startswith("compensation_") or bool(self.data.get("compensation"))

    @property
    def kind(self) -> str:
        """The type of the event. For a compensation, the type that a step's event would have."""
        if self.type == "compensation_retry":
            return "retry_held" if self.data.get("held") else "step_retry"
        if self.type == "compensation_error":
            how = str(self.data.get("how", "action_error"))
            return how if how in ENDS else "action_error"
        return _IN_A_STEP.get(self.type, self.type)

    @property
    def decision(self) -> Mapping[str, Any] | None:
        found = self.data.get("decision")
        return found if isinstance(found, Mapping) else None

    @property
    def failure(self) -> Mapping[str, Any] | None:
        found = self.data.get("failure")
        return found if isinstance(found, Mapping) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFacts:
    """A row of the table `execution`."""

    id: int
    plan_id: int
    state: str
    open_steps: int
    created_at: datetime
    finished_at: datetime | None = None
    input: Any = None
    result: Any = None
    failure: Mapping[str, Any] | None = None
    retry_of: int | None = None
    original_execution: int | None = None
    parent_id: int | None = None
    parent_step: str | None = None
    parent_item_no: int | None = None
    parent_attempt: int | None = None
    compensation: str | None = None
    has_work: bool = True
    """Whether it has a work item."""
    result_gathered: bool | None = None
    """Whether the result of an execution with fan-outs matches that of its steps. None if `result` has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFacts:
    """A row of the table `step`."""

    step: str
    state: str
    waiting_for: int = 0
    attempts: int = 0
    result: Any = None
    failure: Mapping[str, Any] | None = None
    gathered: bool | None = None
    """Whether results and failures of a completed fan-out match those of its items. None if the step is no fan-out.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFacts:
    """A row of the table `item`."""

    step: str
    item: int | None
    undoes: bool
    state: str
    available_at: datetime
    created_at: datetime
    attempt: int = 0
    max_attempts: int | None = None
    ledger: Mapping[str, Any] | None = None
    last_error: str | None = None
    worker: str | None = None
    lease_token: str | None = None
    expires_at: datetime | None = None
    started_at: datetime | None = None
    previous: Any = None
    vary: Mapping[str, Any] | None = None
    awaiting: str | None = None
    child: int | None = None
    stopped_by: str | None = None
    child_will_end: bool = True
    """Whether the child that the item waits for is open, or its end is in the inbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FanOutFacts:
    """A row of the table `fan`, with the number of its live work items."""

    step: str
    total: int
    ended: int
    failed: int
    attempts: int
    tolerated: int
    parallelism: int | None
    placed: int
    closed: bool
    live: int = 0
    live_placed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemResultFacts:
    """A row of the table `item_result`."""

    step: str
    item: int
    state: str
    attempts: int
    result: Any = None
    failure: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class LeftResult:
    """A recorded result of an attempt that should be gone."""

    execution_id: int
    step: str
    item: int | None
    attempt: int
    ended: bool
    """True if the log has the end of the attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterFacts:
    """A row of the table `dead_letter`."""

    step: str
    item: int | None
    undoes: bool
    status: str
    rule: str
    failure_class: str
    reason: str
    message: str
    attempts: int
    failed_times: int
    tolerated: bool
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetFacts:
    """A row of the table `budget`, with what the rows of its children say."""

    execution_id: int
    path: list[int]
    own_usd: float
    own_tokens: int
    spent_usd: float
    spent_tokens: int
    children_usd: float = 0.0
    children_tokens: int = 0
    parent_path: list[int] | None = None
    orphans: int = 0
    """Reservations for items that do not exist."""


@dataclass(slots=True)
class Rows:
    """The rows of one execution, without those of the items of its fan-outs."""

    execution: ExecutionFacts
    steps: dict[str, StepFacts] = field(default_factory=dict)
    items: list[ItemFacts] = field(default_factory=list)
    fan_outs: dict[str, FanOutFacts] = field(default_factory=dict)
    letters: list[LetterFacts] = field(default_factory=list)
    budget: BudgetFacts | None = None


def fingerprint(value: Any) -> bytes:
    """Returns a short text that is the same for equal JSON values. Whole floats become integers, as in jsonb."""
    text = json.dumps(_plain(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def _plain(value: Any) -> Any:
    match value:
        case float():
            return int(value) if value.is_integer() else value
        case Mapping():
            return {str(key): _plain(entry) for key, entry in value.items()}
        case list() | tuple():
            return [_plain(entry) for entry in value]
        case _:
            return value


def parse_moment(text: Any) -> datetime | None:
    """Reads a time in an event's data. Returns None if it is no time."""
    try:
        return datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
