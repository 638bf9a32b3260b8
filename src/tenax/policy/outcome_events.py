"""Builds the events of one ended attempt: its outcome, the decision on it, and the consequences for its item."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Protocol, assert_never

import msgspec
from msgspec import UNSET, UnsetType

from tenax.model.attempt.outcome import Failure, Outcome
from tenax.model.changes import Loss
from tenax.model.decision import Decision, Ledger, TreeBudget
from tenax.model.events import data as of
from tenax.model.events import event
from tenax.model.events import types as events
from tenax.model.events.budget_data import BudgetExceededData
from tenax.model.events.parts import EventData, UsageRecord
from tenax.model.json_text import encode
from tenax.policy.retry.decide import SUCCESS_AT_ONCE

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
    "admission",
    "overspent",
]
"""`ended`: the server carried the item out itself. `hold_expired`: no attempt has ended, and the hold is over.

`released`: no attempt has ended, and the server ends a hold. `admission`: no attempt has ended, and a budget must pay the next one.
`overspent`: the server ends an attempt that has spent its budget.
"""

_HOW: Mapping[type[events.Event], of.LossKind] = {
    events.LeaseExpired: "lease_expired",
    events.QueueExpired: "queue_expired",
    events.ActionNotCompleted: "action_not_completed",
    events.ActionSnoozed: "action_snoozed",
}
"""The value of `how` in a `compensation_error`, for ends that have an event type of their own in a step."""
_NOTHING_SAID = of.SnoozedData()
SHORT_SUCCESS = msgspec.Raw(
    encode(
        {
            "verdict": SUCCESS_AT_ONCE.verdict,
            "rule": SUCCESS_AT_ONCE.rule,
            "version": SUCCESS_AT_ONCE.version,
        }
    ).encode()
)
"""The recorded part of the decision on a first success. The rest follows from its event."""


class Item(Protocol):
    """Holds a work item, read from its row or from the memory of the server that leased it."""

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
    def lease_token(self) -> str | None: ...
    @property
    def compensates(self) -> bool: ...
    @property
    def child(self) -> int | None: ...
    @property
    def placed(self) -> bool: ...
    @property
    def held_limits(self) -> list[str]: ...
    @property
    def policy(self) -> str | None: ...

    def age(self, now: datetime) -> float:
        """Returns the seconds since the item was first queued."""
        ...


class EndedAttempt(msgspec.Struct, gc=False):
    """Describes the end of an attempt of an item."""

    item: Item
    outcome: Outcome
    how: How = "reported"
    attempt: int | None = None
    """The number of the attempt, if it is not the item's last one."""
    lost: Loss | None = None
    """Set if the item's worker was lost in this attempt."""
    due_in: float | None = None
    """Seconds until the retry of a released item was due, or 0."""
    budgets: tuple[TreeBudget, ...] = ()
    """The budgets of the trees that the item belongs to, as they stand before the attempt is charged."""

    @property
    def number(self) -> int:
        return self.item.attempt if self.attempt is None else self.attempt


def item_event(
    kind: type[events.Event],
    item: Item,
    data: EventData,
    *,
    attempt: int | None = None,
    token: str | None = None,
) -> Event:
    return event(kind, item.step, item.item_no, attempt, token, data)


def decision_record(decision: Decision) -> Decision | msgspec.Raw:
    """Returns the whole decision. For a plain first success, returns only what its event does not contain."""
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
    """Builds the event that ends an attempt. `undone` is a success that `until` finds not yet done."""
    item = ended.item
    token = item.lease_token if ended.how == "reported" else None
    if failure is None and ended.outcome.status == "succeeded":
        kind, data = _success(ended, decision, record, now, undone=undone)
        return event(kind, item.step, item.item_no, ended.number, token, data)
    kind, failure_data = _failure(ended, decision, failure, record, now)
    return event(kind, item.step, item.item_no, ended.number, token, failure_data)


def _success(
    ended: EndedAttempt,
    decision: Decision,
    record: Decision | msgspec.Raw | None,
    now: datetime,
    *,
    undone: bool,
) -> tuple[type[events.Event], EventData]:
    item, outcome = ended.item, ended.outcome
    usage, after, seconds, via = _circumstances(ended, now)
    if undone:
        polls = decision.after.polls if decision.rule == "until" else UNSET
        polled = UNSET if record is None else record
        return events.ActionPolled, of.PolledData(
            result=outcome.result,
            usage=usage,
            after=after,
            polls=polls,
            seconds=seconds,
            via=via,
            decision=polled,
        )
    assert record is not None
    if item.compensates:
        return events.CompensationCompleted, of.CompensationCompletedData(
            result=outcome.result, usage=usage, after=after, seconds=seconds, via=via, decision=record,
            attempts=item.attempt,
        )  # fmt: skip
    # This is nearly every success. A field that is not given costs nothing.
    if usage is UNSET and after is UNSET and via is UNSET:
        return events.ActionCompleted, of.CompletedData(
            result=outcome.result, seconds=seconds, decision=record
        )
    return events.ActionCompleted, of.CompletedData(
        result=outcome.result, usage=usage, after=after, seconds=seconds, via=via, decision=record
    )


def _failure(
    ended: EndedAttempt,
    decision: Decision,
    failure: Failure | None,
    record: Decision | msgspec.Raw | None,
    now: datetime,
) -> tuple[type[events.Event], EventData | None]:
    item, outcome, kind = ended.item, ended.outcome, _outcome_type(ended, failure)
    usage, after, seconds, via = _circumstances(ended, now)
    worker = UNSET if item.worker is None or outcome.status == "succeeded" else item.worker
    own = UNSET if record is None else record
    result = UNSET if failure is None or outcome.result is None else outcome.result
    polls = decision.after.polls if decision.rule == "until" else UNSET
    if item.compensates:
        return events.CompensationError, of.CompensationErrorData(
            error=UNSET if failure is None else failure.message,
            failure=UNSET if failure is None else failure.as_dict(),
            result=result, worker=worker, usage=usage, after=after, seconds=seconds, via=via, decision=own,
            how=_HOW.get(kind, UNSET), attempts=item.attempt,
        )  # fmt: skip
    if failure is None:
        snoozed = of.SnoozedData(
            worker=worker, usage=usage, after=after, seconds=seconds, via=via, decision=own
        )
        return kind, None if snoozed == _NOTHING_SAID else snoozed
    return kind, of.ErrorData(
        error=failure.message, failure=failure.as_dict(), result=result, worker=worker, usage=usage, after=after,
        polls=polls, seconds=seconds, via=via, decision=own,
    )  # fmt: skip


def _circumstances(
    ended: EndedAttempt, now: datetime
) -> tuple[UsageRecord | UnsetType, float | UnsetType, float | UnsetType, Literal["callback"] | UnsetType]:
    """Returns what an attempt used, what it asked for, how long it took, and how its end was reported."""
    outcome, started_at = ended.outcome, ended.item.started_at
    used = outcome.usage
    return (
        UNSET if used is None else UsageRecord(cost_usd=used.cost_usd, tokens=used.tokens),
        UNSET if outcome.after is None else outcome.after,
        UNSET if started_at is None else (now - started_at).total_seconds(),
        "callback" if ended.how == "callback" else UNSET,
    )


def step_completed_event(item: Item) -> Event:
    """Builds the event of a step that completes with its only item."""
    return event(events.StepCompleted, item.step, data=of.StepCompletedData(attempts=item.attempt))


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


def overspent_event(item: Item, after: Ledger) -> Event:
    """Builds the event of an item whose attempts have used more than its budget."""
    data = BudgetExceededData(
        cost_usd=UNSET if after.budget is None else after.budget,
        spent_usd=after.cost,
        tokens=UNSET if after.budget_tokens is None else after.budget_tokens,
        spent_tokens=after.tokens,
    )
    return item_event(events.BudgetExceeded, item, data, attempt=item.attempt)


def wait_event(ended: EndedAttempt, decision: Decision, error: str | None, available_at: datetime) -> Event:
    """Builds the event of an item that runs again at a time, or is held."""
    item = ended.item
    if ended.how == "admission":
        waits = of.HeldData(reason=decision.reason, decision=decision)
        return item_event(events.ItemHeld, item, waits, attempt=item.attempt or None)
    held = decision.verdict == "hold"
    delay = decision.delay.delay if decision.delay is not None else 0.0
    if item.compensates:
        retry: of.RetryData = of.CompensationRetryData(
            attempt=item.attempt, max_attempts=decision.max_attempts, delay_seconds=delay, available_at=available_at,
            last_error=error, decision=decision, held=held,
        )  # fmt: skip
        return item_event(events.CompensationRetry, item, retry, attempt=item.attempt)
    retry = of.RetryData(
        attempt=item.attempt, max_attempts=decision.max_attempts, delay_seconds=delay, available_at=available_at,
        last_error=error, decision=decision,
    )  # fmt: skip
    return item_event(events.RetryHeld if held else events.StepRetry, item, retry, attempt=item.attempt)


def exhausted_events(item: Item, decision: Decision, failure: Failure | None) -> list[Event]:
    """Builds `step_retry_exhausted` if a limit above one attempt was reached."""
    saw = decision.checks[-1].saw  # the limit that was reached: the policy's, or that of one of its rules
    if not decision.exhausted or saw["max_attempts"] == 1 or item.compensates:
        return []
    data = of.ExhaustedData(
        attempts=saw.get("ended_in_rule", decision.after.counted),
        attempt=item.attempt,
        max_attempts=saw["max_attempts"],
        final_error=failure.message if failure is not None else None,
    )
    return [item_event(events.StepRetryExhausted, item, data, attempt=item.attempt)]


def brief(failure: Failure, attempts: int) -> dict[str, Any]:
    """Returns the part of a failure that is kept outside the log, for later steps and for parents."""
    body = {
        "class": failure.failure_class,
        "reason": failure.reason,
        "message": failure.message,
        "attempts": attempts,
    }
    if "child" in failure.evidence:
        body["child"] = failure.evidence["child"]
    return body
