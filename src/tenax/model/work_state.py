"""How far one piece of work has come (a step's, an item's, a compensation's), folded from the events of its attempts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tenax.model.events import ATTEMPT_ENDS

Event = Mapping[str, Any]

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


@dataclass(slots=True)
class AttemptState:
    """One attempt as the timeline shows it."""

    attempt: int
    started_at: str | None = None
    ended_at: str | None = None
    worker: str | None = None
    outcome: str = "running"
    failure: dict[str, Any] | None = None
    verdict: str | None = None
    rule: str | None = None
    """The rule that the verdict rests on."""
    delay_seconds: float | None = None
    available_at: str | None = None
    vary: dict[str, Any] | None = None
    """`{entry, override}`, where an entry of `vary` applied."""
    child: int | None = None
    """The execution that a workflow step started."""
    waiting: dict[str, Any] | None = None
    """What it waits for: `{for: sleep | signal | approval | child | callback, signal?, until?, deadline_at?}`."""
    via: str | None = None
    """`callback`: the callee reported the end, not the worker. Of an attempt that had been given up it is a second entry."""

    @property
    def open(self) -> bool:
        return self.outcome in _UNDER_WAY

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True, kw_only=True)
class WorkState:
    """Whatever has attempts."""

    status: str = "pending"
    attempt: int = 0
    counted: int = 0
    """How many of the ended attempts count against the limit."""
    max_attempts: int | None = None
    result: Any = None
    previous: Any = None
    """What the last poll gave, while `until` does not hold yet."""
    polls: int = 0
    failure: dict[str, Any] | None = None
    available_at: str | None = None
    """When the next attempt may start, while it is retrying."""
    enqueued_at: str | None = None
    ledger: dict[str, Any] | None = None
    item_id: int | None = None
    """The id of its work item, where an event has it: callees know the item by that."""
    last_error: str | None = None
    """Of the last attempt that was followed by a retry, or by a hold."""
    attempts: list[AttemptState] = field(default_factory=list)

    @property
    def waiting(self) -> dict[str, Any] | None:
        """What the attempt that is under way waits for, if it does not work."""
        last = self.attempts[-1] if self.attempts else None
        return last.waiting if last is not None and last.open else None

    def as_dict(self) -> dict[str, Any]:
        body = {f.name: getattr(self, f.name) for f in fields(WorkState) if f.name not in _INNER}
        body["waiting"] = self.waiting
        body["attempts"] = [attempt.as_dict() for attempt in self.attempts]
        return body


_INNER = ("item_id", "last_error", "ledger", "previous")
"""What recovery needs and people do not."""


def apply_to_work(work: WorkState, kind: str, event: Event) -> bool:
    """What the event means for the attempts. `kind` is its type, or what stands for it. False where it means nothing."""
    match kind:
        case "step_enqueued":
            work.status, work.enqueued_at = "queued", event["at"]
        case "action_started":
            _start(work, event)
        case "action_accepted":
            _accept(work, event)
        case kind if kind in ATTEMPT_ENDS:
            _end_attempt(work, kind, event)
        case "step_retry" | "retry_held":
            work.status = "retrying" if kind == "step_retry" else "held"
            work.available_at = event["data"].get("available_at")
            work.ledger = event["data"].get("decision", {}).get("after")
            work.last_error = event["data"].get("last_error") or work.last_error
            _count(work, event["data"])
            _judge(work, event)
        case "retry_released" | "retry_rescheduled":
            work.status = "retrying"
            work.available_at = event["data"].get("available_at")
        case "item_held":
            work.status = "held"
        case "item_cancelled":
            work.status, work.available_at = "cancelled", None
            _close_attempts(work, event, "cancelled")
        case "lease_released":
            work.status = "queued"
            _close_attempts(work, event, "released")
        case _:
            return False
    return True


def end_in_failure(work: WorkState, event: Event) -> None:
    work.status, work.failure, work.available_at = "failed", event["data"].get("failure"), None
    _count(work, event["data"])
    _judge(work, event)


def _start(work: WorkState, event: Event) -> None:
    data = event["data"]
    work.status, work.attempt, work.available_at = "running", event["attempt"], None
    work.item_id = data.get("item_id", work.item_id)
    work.max_attempts = data.get("retry", {}).get("max_attempts")
    work.attempts.append(
        AttemptState(
            event["attempt"],
            event["at"],
            worker=data.get("worker"),
            vary=data.get("vary"),
            child=data.get("child"),
            waiting=data.get("waiting"),
        )
    )


def _accept(work: WorkState, event: Event) -> None:
    """The callee took it on and will call back. It may have done so before its own answer came: then that was the end."""
    work.item_id = event["data"].get("item_id", work.item_id)
    attempt = _find(work, event["attempt"])
    if attempt is None or not attempt.open:
        return
    attempt.outcome = "accepted"
    attempt.waiting = {"for": "callback", "deadline_at": event["data"].get("deadline_at")}


def _end_attempt(work: WorkState, kind: str, event: Event) -> None:
    """Of the attempt it names: a callback may bring the success of one that was given up, while a later one runs. How it
    was given up stays as it is.
    """
    data, number = event["data"], event["attempt"]
    attempt = _find(work, number)
    if attempt is None or (kind in _SUCCESSES and not attempt.open):
        attempt = AttemptState(work.attempt if number is None else number)
        work.attempts.append(attempt)
    work.attempt = max(work.attempt, attempt.attempt)
    attempt.ended_at, attempt.outcome, attempt.failure = event["at"], _OUTCOMES[kind], data.get("failure")
    if kind == "action_snoozed" and attempt.failure:  # past the limit, as version 0.1 wrote it
        attempt.outcome = "failed"
    attempt.via = data.get("via")
    _count(work, data)
    if kind == "action_completed":
        _succeed(work, attempt, event)
    elif kind == "action_polled":
        work.previous, work.polls = data.get("result"), data.get("polls", work.polls + 1)


def _succeed(work: WorkState, attempt: AttemptState, event: Event) -> None:
    decision = event["data"].get("decision", {})
    work.result, work.available_at = event["data"].get("result"), None
    attempt.verdict, attempt.rule = decision.get("verdict", "complete"), decision.get("rule")
    if "after" not in decision:  # a plain success at the first attempt: no ledger is kept
        work.counted += 1
    _close_attempts(work, event, "superseded")


def _close_attempts(work: WorkState, event: Event, outcome: str) -> None:
    for attempt in reversed(work.attempts):
        if attempt.open:
            attempt.outcome, attempt.ended_at = outcome, event["at"]
            return


def _find(work: WorkState, number: int | None) -> AttemptState | None:
    """The attempt of this number; the last one where the event names none."""
    if number is None:
        return work.attempts[-1] if work.attempts else None
    return next((attempt for attempt in reversed(work.attempts) if attempt.attempt == number), None)


def _count(work: WorkState, data: Mapping[str, Any]) -> None:
    work.counted = data.get("decision", {}).get("after", {}).get("counted", work.counted)


def _judge(work: WorkState, event: Event) -> None:
    """Notes on the attempt what was decided on it."""
    attempt, data = _find(work, event["attempt"]), event["data"]
    if attempt is not None and event["attempt"] is not None:
        attempt.verdict = data.get("decision", {}).get("verdict")
        attempt.rule = data.get("decision", {}).get("rule")
        attempt.delay_seconds = data.get("delay_seconds")
        attempt.available_at = data.get("available_at")
