"""The events of one ended attempt: its outcome, the decision on it, and what follows from that for its item."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Protocol, assert_never

import msgspec

from tenax.model.changes import Loss
from tenax.model.decision import Decision
from tenax.model.events import event, name_of, timestamp
from tenax.model.events import types as events
from tenax.model.json_text import encode
from tenax.model.outcome import Failure, Outcome
from tenax.policy.decide import SUCCESS_AT_ONCE

Event = dict[str, Any]
How = Literal[
    "reported",
    "callback",
    "ended",
    "timed_out",
    "unwanted",
    "lease_expired",
    "queue_expired",
    "hold_expired",
    "released",
]
"""`ended`: the server carried it out itself. `hold_expired`: no attempt has ended; the time for the next one has. `released`: no attempt
has ended; the server ends a hold."""

COMPENSATING: Mapping[type[events.Event], type[events.Event]] = {
    events.ActionCompleted: events.CompensationCompleted,
    events.StepRetry: events.CompensationRetry,
    events.RetryHeld: events.CompensationRetry,
}
"""The events of a compensation. However an attempt of it was lost, that is a `compensation_error`."""
_NAMED_IN_ERROR = frozenset(
    {events.LeaseExpired, events.QueueExpired, events.ActionNotCompleted, events.ActionSnoozed}
)
"""What the `how` of a `compensation_error` names."""
SHORT_SUCCESS = msgspec.Raw(
    encode(
        {
            "verdict": SUCCESS_AT_ONCE.verdict,
            "rule": SUCCESS_AT_ONCE.rule,
            "version": SUCCESS_AT_ONCE.version,
        }
    ).encode()
)
"""What is recorded of a first-time success: the rest of its decision can be known from its event."""


class Item(Protocol):
    """A work item, as it is known from its row or from the memory of the server that leased it."""

    @property
    def id(self) -> int: ...
    @property
    def execution_id(self) -> int: ...
    @property
    def plan_id(self) -> int: ...
    @property
    def step(self) -> str: ...
    @property
    def item_no(self) -> int | None: ...
    @property
    def state(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def ledger(self) -> str | None: ...
    @property
    def worker(self) -> str | None: ...
    @property
    def started_at(self) -> datetime | None: ...
    @property
    def lease_token(self) -> Any: ...
    @property
    def compensates(self) -> bool: ...
    @property
    def awaiting(self) -> str | None: ...
    @property
    def placed(self) -> bool: ...
    @property
    def held_limits(self) -> list[str]: ...

    def age(self, now: datetime) -> float:
        """Returns the seconds since the item was first queued."""
        ...


class EndedAttempt(msgspec.Struct, gc=False):
    """What happened to an item: an attempt of it has ended, and how."""

    item: Item
    outcome: Outcome
    how: How = "reported"
    attempt: int | None = None
    """The number of the attempt, where it is not the item's last one."""
    lost: Loss | None = None
    """Set where the item's worker was lost over it."""
    due_in: float | None = None
    """Of an item that is released: seconds until its retry was due, or 0."""

    @property
    def number(self) -> int:
        return self.item.attempt if self.attempt is None else self.attempt


def item_event(
    kind: type[events.Event],
    item: Item,
    data: dict[str, Any],
    *,
    attempt: int | None = None,
    token: str | None = None,
) -> Event:
    return event(kind, item.step, item.item_no, attempt, token, data)


def decision_record(decision: Decision) -> Decision | msgspec.Raw:
    """Returns the whole decision; for a plain first-time success only what its event does not say."""
    return SHORT_SUCCESS if decision is SUCCESS_AT_ONCE else decision


def outcome_event(
    ended: EndedAttempt,
    decision: Decision,
    failure: Failure | None,
    record: Decision | msgspec.Raw | None,
    now: datetime,
    *,
    undone: bool,
) -> Event:
    """Builds the event that ends an attempt. `undone`: a success that `until` finds not yet done."""
    item, outcome = ended.item, ended.outcome
    token = str(item.lease_token) if ended.how == "reported" and item.lease_token is not None else None
    if failure is None and outcome.status == "succeeded":
        kind: type[events.Event] = events.ActionPolled if undone else events.ActionCompleted
        data: dict[str, Any] = {"result": outcome.result}
    else:
        kind = _outcome_type(ended, failure)
        data = _failure_data(ended, failure)
    if outcome.usage is not None:
        data["usage"] = {"cost_usd": outcome.usage.cost_usd, "tokens": outcome.usage.tokens}
    if outcome.after is not None:
        data["after"] = outcome.after
    if decision.rule == "until":
        data["polls"] = decision.after.polls
    if item.started_at is not None:
        data["seconds"] = (now - item.started_at).total_seconds()
    if ended.how == "callback":
        data["via"] = "callback"
    if record is not None:
        data["decision"] = record
    if item.compensates:
        if kind in _NAMED_IN_ERROR:
            data["how"] = name_of(kind)
        kind = COMPENSATING.get(kind, events.CompensationError)
        data["attempts"] = item.attempt
    return event(kind, item.step, item.item_no, ended.number, token, data)


def step_completed_event(item: Item) -> Event:
    """Builds the event of a step that completes with its only item."""
    return event(events.StepCompleted, item.step, data={"attempts": item.attempt})


def _failure_data(ended: EndedAttempt, failure: Failure | None) -> dict[str, Any]:
    outcome, data = ended.outcome, dict[str, Any]()
    if failure is not None:
        data |= {"error": failure.message, "failure": failure.as_dict()}
        if outcome.result is not None:
            data["result"] = outcome.result
    if ended.item.worker is not None and outcome.status != "succeeded":
        data["worker"] = ended.item.worker
    return data


def _outcome_type(ended: EndedAttempt, failure: Failure | None) -> type[events.Event]:
    if ended.how in ("lease_expired", "queue_expired"):
        return events.LeaseExpired if ended.how == "lease_expired" else events.QueueExpired
    match ended.outcome.status:
        case "succeeded":
            assert failure is not None
            return events.ActionError
        case "failed":
            return events.ActionError
        case "not_completed":
            return events.ActionNotCompleted
        case "snoozed":
            return events.ActionSnoozed if failure is None else events.ActionError
        case "accepted":
            raise AssertionError("an accepted attempt has not ended")
        case _:
            assert_never(ended.outcome.status)


def wait_event(item: Item, decision: Decision, error: str | None, available_at: datetime) -> Event:
    """Builds the event of an item that runs again at a time, or is held."""
    kind: type[events.Event] = events.RetryHeld if decision.verdict == "hold" else events.StepRetry
    data = {
        "attempt": item.attempt,
        "max_attempts": decision.max_attempts,
        "delay_seconds": decision.delay.delay if decision.delay is not None else 0.0,
        "available_at": timestamp(available_at),
        "last_error": error,
        "decision": decision,
    }
    if item.compensates:
        kind = COMPENSATING[kind]
        data["held"] = decision.verdict == "hold"
    return item_event(kind, item, data, attempt=item.attempt)


def exhausted_events(item: Item, decision: Decision, failure: Failure | None) -> list[Event]:
    """Builds `step_retry_exhausted`, where a limit above one attempt was reached."""
    saw = decision.checks[-1].saw  # of the limit that was reached: the policy's, or that of one of its rules
    if not decision.exhausted or saw["max_attempts"] == 1 or item.compensates:
        return []
    data = {
        "attempts": saw.get("ended_in_rule", decision.after.counted),
        "attempt": item.attempt,
        "max_attempts": saw["max_attempts"],
        "final_error": failure.message if failure is not None else None,
    }
    return [item_event(events.StepRetryExhausted, item, data, attempt=item.attempt)]


def brief(failure: Failure, attempts: int) -> dict[str, Any]:
    """Returns what is kept of a failure beside the log: for later steps, and for parents."""
    body = {
        "class": failure.failure_class,
        "reason": failure.reason,
        "message": failure.message,
        "attempts": attempts,
    }
    if "child" in failure.evidence:
        body["child"] = failure.evidence["child"]
    return body
