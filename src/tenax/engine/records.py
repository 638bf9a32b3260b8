"""What ended attempts leave in the log: one outcome, one decision, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, assert_never

from tenax.model.decision import Decision
from tenax.model.events import EventType, event, timestamp
from tenax.model.outcome import Failure, Outcome
from tenax.policy.decide import SUCCESS_AT_ONCE
from tenax.store.journal import Journal
from tenax.store.rows import ItemRow, LeasedItem, Loss

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
"""`ended`: by the server itself, which carried it out. `hold_expired`: no attempt has ended, but the time for the next one.
`released`: no attempt has ended, but the server ends a hold."""

COMPENSATING: Mapping[str, EventType] = {
    "action_completed": "compensation_completed",
    "step_retry": "compensation_retry",
    "retry_held": "compensation_retry",
    "step_failed_terminal": "compensation_failed",
}
"""A compensation has events of its own. However an attempt of it was lost, that is a `compensation_error`."""


@dataclass(slots=True)
class EndedAttempt:
    item: ItemRow
    outcome: Outcome
    how: How = "reported"
    attempt: int | None = None
    """Which attempt it was, where it is not the item's last."""
    lost: Loss | None = None
    """Where its worker was lost over it."""
    due_in: float | None = None
    """Of an item that is released: seconds until its retry was due, or 0."""

    @property
    def number(self) -> int:
        return self.item.attempt if self.attempt is None else self.attempt


def log_item(
    journal: Journal,
    kind: EventType,
    item: ItemRow | LeasedItem,
    data: dict[str, Any],
    *,
    attempt: int | None = None,
    token: str | None = None,
) -> None:
    journal.log(
        item.execution_id,
        event(kind, item.step, item=item.item_no, attempt=attempt, token=token, data=data),
    )


def decision_record(decision: Decision) -> dict[str, Any]:
    """The whole decision; of a plain first-time success only what cannot be known from its event."""
    if decision is SUCCESS_AT_ONCE:
        return {"verdict": "complete", "rule": decision.rule, "version": decision.version}
    return decision.as_dict()


def log_outcome(
    journal: Journal,
    ended: EndedAttempt,
    decision: Decision,
    failure: Failure | None,
    record: dict[str, Any] | None,
    *,
    undone: bool,
) -> None:
    """`undone`: a success that `until` finds not yet done."""
    if ended.how in ("hold_expired", "released"):
        return
    item = ended.item
    data = _outcome_data(journal, ended, decision, failure)
    if record is not None:
        data["decision"] = record
    kind = _outcome_type(ended, failure, undone=undone)
    if item.compensates:
        if kind in ("lease_expired", "queue_expired", "action_not_completed", "action_snoozed"):
            data["how"] = kind
        kind = COMPENSATING.get(kind, "compensation_error")
        data["attempts"] = item.attempt
    token = str(item.lease_token) if ended.how == "reported" and item.lease_token is not None else None
    log_item(journal, kind, item, data, attempt=ended.number, token=token)


def _outcome_data(
    journal: Journal, ended: EndedAttempt, decision: Decision, failure: Failure | None
) -> dict[str, Any]:
    item, outcome = ended.item, ended.outcome
    data: dict[str, Any] = {}
    if failure is not None:
        data = {"error": failure.message, "failure": failure.as_dict()}
        if outcome.result is not None:
            data["result"] = outcome.result
    elif outcome.status == "succeeded":
        data["result"] = outcome.result
    if outcome.usage is not None:
        data["usage"] = {"cost_usd": outcome.usage.cost_usd, "tokens": outcome.usage.tokens}
    if outcome.after is not None:
        data["after"] = outcome.after
    if decision.rule == "until":
        data["polls"] = decision.after.polls
    if item.started_at is not None:
        data["seconds"] = round((journal.now - item.started_at).total_seconds(), 6)
    if item.worker is not None and outcome.status != "succeeded":
        data["worker"] = item.worker
    if ended.how == "callback":
        data["via"] = "callback"
    return data


def _outcome_type(ended: EndedAttempt, failure: Failure | None, *, undone: bool) -> EventType:
    if ended.how in ("lease_expired", "queue_expired"):
        return "lease_expired" if ended.how == "lease_expired" else "queue_expired"
    match ended.outcome.status:
        case "succeeded" if failure is not None:
            return "action_error"
        case "succeeded":
            return "action_polled" if undone else "action_completed"
        case "failed":
            return "action_error"
        case "not_completed":
            return "action_not_completed"
        case "snoozed":
            return "action_snoozed" if failure is None else "action_error"
        case "accepted":
            raise AssertionError("what was accepted has not ended")
        case _:
            assert_never(ended.outcome.status)


def log_wait(
    journal: Journal,
    item: ItemRow,
    decision: Decision,
    record: dict[str, Any],
    error: str | None,
    available_at: datetime,
) -> None:
    """It runs again at a time, or is held."""
    kind: EventType = "retry_held" if decision.verdict == "hold" else "step_retry"
    data = {
        "attempt": item.attempt,
        "max_attempts": decision.max_attempts,
        "delay_seconds": decision.delay.delay if decision.delay is not None else 0.0,
        "available_at": timestamp(available_at),
        "last_error": error,
        "decision": record,
    }
    if item.compensates:
        kind = COMPENSATING[kind]
        data["held"] = decision.verdict == "hold"
    log_item(journal, kind, item, data, attempt=item.attempt)


def log_exhausted(journal: Journal, item: ItemRow, decision: Decision, failure: Failure | None) -> None:
    """Only where a limit above one attempt was reached."""
    saw = decision.checks[-1].saw  # of the limit that was reached: the policy's, or that of one of its rules
    if not decision.exhausted or saw["max_attempts"] == 1 or item.compensates:
        return
    data = {
        "attempts": saw.get("ended_in_rule", decision.after.counted),
        "attempt": item.attempt,
        "max_attempts": saw["max_attempts"],
        "final_error": failure.message if failure is not None else None,
    }
    log_item(journal, "step_retry_exhausted", item, data, attempt=item.attempt)


def brief(failure: Failure, attempts: int) -> dict[str, Any]:
    """What is kept of a failure beside the log: for later steps, and for parents."""
    body = {
        "class": failure.failure_class,
        "reason": failure.reason,
        "message": failure.message,
        "attempts": attempts,
    }
    if "child" in failure.evidence:
        body["child"] = failure.evidence["child"]
    return body
