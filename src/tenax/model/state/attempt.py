"""Folds the events of attempts into the state of a step, an item or a compensation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from tenax.model.events import ATTEMPT_ENDS
from tenax.model.execution_views import Attempt, Event, Work

_OUTCOMES = {
    "action_completed": "succeeded",
    "action_error": "failed",
    "action_not_completed": "not_completed",
    "action_snoozed": "snoozed",
    "action_polled": "polled",
    "lease_expired": "lost",
    "queue_expired": "expired",
}
_UNDER_WAY = ("running", "accepted")
_SUCCESSES = ("action_completed", "action_polled")


@dataclass(slots=True, kw_only=True)
class WorkState:
    """Holds the state of something that has attempts: a step, an item or a compensation."""

    status: str = "pending"
    attempt: int = 0
    counted: int = 0
    """The number of ended attempts that count against the limit."""
    max_attempts: int | None = None
    result: Any = None
    previous: Any = None
    """The result of the last poll, while `until` does not hold yet."""
    polls: int = 0
    failure: dict[str, Any] | None = None
    available_at: str | None = None
    """When the next attempt may start, if the status is `retrying`."""
    enqueued_at: str | None = None
    ledger: dict[str, Any] | None = None
    item_id: int | None = None
    """The id of its work item, if an event has it. Callees know the item by this id."""
    policy: dict[str, Any] | None = None
    """The retry policy that an operator gave it."""
    last_error: str | None = None
    """The error of the last attempt that was followed by a retry or a hold."""
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def waiting(self) -> dict[str, Any] | None:
        """What the current attempt waits for while no worker runs it, or None."""
        last = self.attempts[-1] if self.attempts else None
        return last.waiting if last is not None and is_open(last) else None

    def shown(self) -> dict[str, Any]:
        """Returns the fields of `execution_views.Work`. Recovery uses the other fields too."""
        return {name: getattr(self, name) for name in Work.__struct_fields__}


def apply_to_work(work: WorkState, kind: str, event: Event) -> bool:
    """Applies an event to the attempts. `kind` is its type, or the equivalent type of a step's event.

    Returns False if the event does not concern attempts.
    """
    match kind:
        case "step_enqueued":
            work.status, work.enqueued_at = "queued", event.at
        case "action_started":
            _start(work, event)
        case "action_accepted":
            _accept(work, event)
        case kind if kind in ATTEMPT_ENDS:
            _end_attempt(work, kind, event)
        case "step_retry" | "retry_held":
            work.status = "retrying" if kind == "step_retry" else "held"
            work.available_at = event.data.get("available_at")
            work.ledger = event.data.get("decision", {}).get("after")
            work.last_error = event.data.get("last_error") or work.last_error
            _count(work, event.data)
            _judge(work, event)
        case "retry_released" | "retry_rescheduled":
            work.status = "retrying" if event.attempt else "queued"
            work.available_at = event.data.get("available_at")
            _reschedule(work, event)
        case "item_held":
            work.status = "held"
            _keep_ledger(work, event.data)
        case "item_cancelled":
            work.status, work.available_at = "cancelled", None
            _close_attempts(work, event, "cancelled")
            work.item_id = event.data.get("item_id", work.item_id)
        case "lease_released":
            work.status = "queued"
            _close_attempts(work, event, "released")
        case _:
            return False
    return True


def end_in_failure(work: WorkState, event: Event) -> None:
    work.status, work.failure, work.available_at = "failed", event.data.get("failure"), None
    work.item_id = event.data.get("item_id", work.item_id)
    _keep_ledger(work, event.data)
    _count(work, event.data)
    if "operator" in event.data:
        _close_attempts(work, event, "revoked")
    else:
        _judge(work, event)


def end_by_operator(work: WorkState, event: Event) -> None:
    """Ends the work with the result that an operator gave. An attempt that still ran is revoked."""
    work.result, work.failure, work.available_at = event.data.get("result"), None, None
    _close_attempts(work, event, "revoked")


def _reschedule(work: WorkState, event: Event) -> None:
    """Takes in a retry that an operator moved, reset, or gave to an item that had ended."""
    data = event.data
    if "was" in data:
        work.failure = None
        if not event.attempt:  # it never began
            work.status, work.available_at = "queued", None
    if "ledger" in data:
        work.ledger = data["ledger"]
        work.counted = data["ledger"].get("counted", 0)
    if data.get("reset"):
        work.enqueued_at, work.polls = event.at, 0
    if "policy" in data:
        work.policy = data["policy"]
        work.max_attempts = data["policy"].get("max_attempts")


def _keep_ledger(work: WorkState, data: Mapping[str, Any]) -> None:
    """Keeps the ledger that a final decision left: the item may be started again from it."""
    work.ledger = data.get("decision", {}).get("after", work.ledger)


def _start(work: WorkState, event: Event) -> None:
    assert event.attempt is not None
    data = event.data
    work.status, work.attempt, work.available_at = "running", event.attempt, None
    work.item_id = data.get("item_id", work.item_id)
    work.max_attempts = data.get("retry", {}).get("max_attempts")
    work.attempts.append(
        Attempt(
            attempt=event.attempt,
            started_at=event.at,
            worker=data.get("worker"),
            vary=data.get("vary"),
            child=data.get("child"),
            waiting=data.get("waiting"),
            resumed_from=data.get("resumed_from"),
        )
    )


def _accept(work: WorkState, event: Event) -> None:
    """Notes that the callee has taken the work and will call back. If it has called back already, the attempt stays ended."""
    work.item_id = event.data.get("item_id", work.item_id)
    place = _find(work, event.attempt)
    if place is not None and is_open(work.attempts[place]):
        waiting = {"for": "callback", "deadline_at": event.data.get("deadline_at")}
        _change(work, place, outcome="accepted", waiting=waiting)


def _end_attempt(work: WorkState, kind: str, event: Event) -> None:
    """Ends the attempt that the event names. A callback may report the success of an attempt that was given up, while a later one
    runs. It then gets a second entry, and the first one stays unchanged.
    """
    data, number = event.data, event.attempt
    place = _find(work, number)
    if place is None or (kind in _SUCCESSES and not is_open(work.attempts[place])):
        place = len(work.attempts)
        work.attempts.append(Attempt(attempt=work.attempt if number is None else number))
    work.attempt = max(work.attempt, work.attempts[place].attempt)
    _keep_ledger(work, data)
    outcome, failure = _OUTCOMES[kind], data.get("failure")
    if kind == "action_snoozed" and failure:  # a snooze beyond the limit, as version 0.1 recorded it
        outcome = "failed"
    known = {"via": data.get("via"), "usage": data.get("usage")}
    _change(work, place, ended_at=event.at, outcome=outcome, failure=failure, **known)
    _count(work, data)
    if kind == "action_completed":
        _succeed(work, place, event)
    elif kind == "action_polled":
        work.previous, work.polls = data.get("result"), data.get("polls", work.polls + 1)


def _succeed(work: WorkState, place: int, event: Event) -> None:
    decision = event.data.get("decision", {})
    work.result, work.available_at = event.data.get("result"), None
    _change(work, place, verdict=decision.get("verdict", "complete"), rule=decision.get("rule"))
    if "after" not in decision:  # a success at the first attempt has no ledger
        work.counted += 1
    _close_attempts(work, event, "superseded")


def _close_attempts(work: WorkState, event: Event, outcome: str) -> None:
    for place in reversed(range(len(work.attempts))):
        if is_open(work.attempts[place]):
            _change(work, place, outcome=outcome, ended_at=event.at)
            return


def is_open(attempt: Attempt) -> bool:
    return attempt.outcome in _UNDER_WAY


def _change(work: WorkState, place: int, **changes: Any) -> None:
    work.attempts[place] = replace(work.attempts[place], **changes)


def _find(work: WorkState, number: int | None) -> int | None:
    """Returns the index of the attempt with this number, or of the last attempt if `number` is None."""
    places = reversed(range(len(work.attempts)))
    return next((place for place in places if number in (None, work.attempts[place].attempt)), None)


def _count(work: WorkState, data: Mapping[str, Any]) -> None:
    work.counted = data.get("decision", {}).get("after", {}).get("counted", work.counted)


def _judge(work: WorkState, event: Event) -> None:
    """Adds the decision to its attempt."""
    place, data = _find(work, event.attempt), event.data
    if place is not None and event.attempt is not None:
        decision = data.get("decision", {})
        judged = {name: decision.get(name) for name in ("verdict", "rule")}
        due = {name: data.get(name) for name in ("delay_seconds", "available_at")}
        _change(work, place, **judged, **due)
