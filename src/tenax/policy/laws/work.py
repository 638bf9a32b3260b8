"""Folds the events of one work item into its state. It keeps only what later events are checked against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from tenax.model.attempt.outcome import INFRASTRUCTURE
from tenax.model.policy import Policy
from tenax.policy.laws.facts import ENDS, LoggedEvent, fingerprint, parse_moment
from tenax.policy.laws.letters import LetterFold
from tenax.policy.plan import PlannedAction
from tenax.policy.retry.resolve import compile_policy

OPEN = frozenset({"queued", "running", "accepted", "retrying", "held"})
"""States of a work item that has a row."""
RUNNING = frozenset({"running", "accepted"})
LATE = b"late"  # stands for a late report, in place of its text
_STATUSES = {"action_completed": "succeeded", "action_polled": "succeeded", "action_snoozed": "snoozed"}


@dataclass(slots=True)
class WorkFold:
    """A step's work item, one item of its fan-out, or the compensation of one of them."""

    execution_id: int
    step: str
    item: int | None
    undoes: bool
    action: PlannedAction
    status: str = "new"
    """`new`, one of OPEN, `succeeded`, `stopped` (its end was recorded after that of the execution), `completed`, `failed`, or `cancelled`.
    """
    attempt: int = 0
    """The highest attempt number so far."""
    counted: int = 0
    exempted: int = 0
    start: LoggedEvent | None = None
    """The start of the last attempt."""
    outcome: LoggedEvent | None = None
    """The end of an attempt that is not decided on yet."""
    last: int = 0
    """The id of the last event."""
    due: datetime | None = None
    """The time before which no attempt may start."""
    available_at: datetime | None = None
    enqueued_at: datetime | None = None
    ledger: Mapping[str, Any] | None = None
    last_error: str | None = None
    result: bytes | None = None
    previous: bytes | None = None
    failure: Mapping[str, Any] | None = None
    waiting: Mapping[str, Any] | None = None
    tokens: dict[str, bytes] = field(default_factory=dict)
    """The tokens of reports, each with the text of the report that was applied, or LATE."""
    rebuilt: bool = False
    """Recovery has inserted its row again: times of the row may be those of the repair."""
    letter: LetterFold = field(default_factory=LetterFold)
    old_version: bool = False
    """The last decision was made by another version."""

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    @property
    def ended(self) -> bool:
        return self.status in ("completed", "failed", "cancelled", "stopped")

    @property
    def granted(self) -> int:
        """The number of attempts that operators granted."""
        return int((self.ledger or {}).get("granted", 0))


def fold_work_event(work: WorkFold, event: LoggedEvent) -> None:
    """Takes in the next event of the work item."""
    kind = event.kind
    if kind == "late_result":
        if event.token is not None:
            work.tokens.setdefault(event.token, LATE)
        return
    if kind in ENDS:
        _end(work, event)
    else:
        _move(work, kind, event)
    work.letter.see(event)
    work.last = event.id


def _move(work: WorkFold, kind: str, event: LoggedEvent) -> None:
    match kind:
        case "step_enqueued" | "item_held":
            _enqueue(work, event)
        case "action_started":
            _start(work, event)
        case "action_accepted":
            _accept(work, event)
        case "step_retry" | "retry_held":
            _wait(work, event)
        case "retry_released" | "retry_rescheduled":
            _reschedule(work, event)
        case "lease_released":
            work.status, work.due, work.available_at = "queued", None, event.at
        case "item_cancelled":
            work.status, work.outcome = "cancelled", None
        case "step_failed_terminal" | "item_failed":
            work.status, work.outcome, work.failure = "failed", None, event.failure
            if event.decision is not None:
                note_decision(work, event.decision)
        case "step_completed" | "item_completed":
            work.status = "completed"
            if "result" in event.data:
                work.result = fingerprint(event.data["result"])


def _enqueue(work: WorkFold, event: LoggedEvent) -> None:
    """Queues the item. After the first time, its row was lost and inserted again as it was, unless the item had ended
    without an attempt and its execution runs again. An item that waits for a budget is held by a decision."""
    if event.decision is not None:
        work.status, work.outcome = "held", None
        note_decision(work, event.decision)
    elif work.status == "new" or (work.ended and not work.attempt):
        work.status = "queued"
        work.enqueued_at = work.available_at = event.at
    else:
        work.rebuilt = True


def _reschedule(work: WorkFold, event: LoggedEvent) -> None:
    """Moves the next attempt. An operator may have started an ended item again, reset it, or given it a policy."""
    data = event.data
    never_began = "was" in data and not event.attempt
    work.status = "new" if never_began else "retrying" if event.attempt else "queued"
    work.due = work.available_at = None if never_began else parse_moment(data.get("available_at"))
    if "was" in data:
        work.failure, work.result, work.outcome = None, None, None
    if "ledger" in data:
        work.ledger, work.old_version = data["ledger"], False
    if data.get("reset"):
        work.counted = work.exempted = 0
        work.enqueued_at = event.at
    if "policy" in data:
        policy = compile_policy(Policy.from_dict(dict(data["policy"])))
        work.action = replace(work.action, policy=policy)


def _start(work: WorkFold, event: LoggedEvent) -> None:
    work.waiting = event.data.get("waiting")
    work.status = "accepted" if work.waiting else "running"
    work.attempt = event.attempt or work.attempt
    work.start, work.due = event, None


def _accept(work: WorkFold, event: LoggedEvent) -> None:
    _note_token(work, event)
    if work.status == "running" and event.attempt == work.attempt:
        work.status = "accepted"
        work.waiting = {"for": "callback", "deadline_at": event.data.get("deadline_at")}


def _end(work: WorkFold, event: LoggedEvent) -> None:
    _note_token(work, event)
    work.attempt = max(work.attempt, event.attempt or 0)
    _count(work, event)
    if event.kind == "action_completed":
        work.result = fingerprint(event.data.get("result"))
    elif event.kind == "action_polled":
        work.previous = fingerprint(event.data.get("result"))
    decision = event.decision
    if decision is None:
        work.outcome = event
        return
    work.outcome = None
    note_decision(work, decision)
    if decision.get("verdict") == "stop":
        work.status = "stopped"
    else:
        work.status = "completed" if work.undoes else "succeeded"


def _count(work: WorkFold, event: LoggedEvent) -> None:
    """Counts the attempt as the contract does, whatever the stored ledgers contain."""
    policy, failure = work.action.policy.policy, event.failure
    name = failure.get("class") if failure is not None else None
    if name in INFRASTRUCTURE and policy.max_attempts is not None and work.exempted < policy.infra_attempts:
        work.exempted += 1
    elif failure is not None or event.kind not in ("action_polled", "action_snoozed") or _is_cut_off(event):
        work.counted += 1


def _is_cut_off(event: LoggedEvent) -> bool:
    """Returns whether the event is a poll that is not continued, since its execution or its step is over."""
    return event.kind == "action_polled" and (event.decision or {}).get("verdict") == "stop"


def _wait(work: WorkFold, event: LoggedEvent) -> None:
    data = event.data
    work.outcome = None
    work.status = "held" if event.kind == "retry_held" else "retrying"
    work.due = work.available_at = parse_moment(data.get("available_at"))
    if data.get("last_error") is not None:
        work.last_error = data["last_error"]
    if event.decision is not None:
        note_decision(work, event.decision)


def note_decision(work: WorkFold, decision: Mapping[str, Any]) -> None:
    if "after" in decision:
        work.ledger = decision["after"]


def _note_token(work: WorkFold, event: LoggedEvent) -> None:
    if event.token is not None:
        work.tokens[event.token] = reported_text(event)


def reported_text(event: LoggedEvent) -> bytes:
    """Returns a short text that is the same for events of the same report."""
    failure = event.data.get("failure")
    status = event.data.get("status") if event.type == "late_result" else _STATUSES.get(event.kind)
    return fingerprint(
        [None if failure else status, failure, event.data.get("result"), event.data.get("after")]
    )
