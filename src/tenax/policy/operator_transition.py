"""Makes the transition of a work item that an operator acts on. Its input is the item and the instruction, and its result is everything
that follows for the item.

The function is pure, as `policy.transition` is, and gives the same value. The graph goes on from either in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, Protocol, assert_never, cast

from msgspec import UNSET

from tenax.model.attempt.outcome import Failure
from tenax.model.changes import ItemAgain, StepRow
from tenax.model.decision import Ledger, read_ledger
from tenax.model.events.data import (
    ItemCompletedData,
    ItemFailedData,
    ReleasedRetryData,
    RescheduledData,
    StepCompletedData,
    StepFailedData,
)
from tenax.model.events.parts import OperatorEnd
from tenax.model.events.types import (
    ItemCompleted,
    ItemFailed,
    RetryReleased,
    RetryRescheduled,
    StepCompleted,
    StepFailedTerminal,
)
from tenax.model.json_text import encode
from tenax.model.letters.letter import place_of
from tenax.model.policy import Policy
from tenax.policy.letters import letter_moved, may_have_letter
from tenax.policy.operator_actions import FAILED_BY_OPERATOR, ON_ITEM, ItemAction
from tenax.policy.outcome_events import Item, brief, item_event
from tenax.policy.plan import Plan, PlannedAction, action_of
from tenax.policy.queued_action import queue_deadline
from tenax.policy.retry.backoff import plan_delay
from tenax.policy.retry.ledger import reset_ledger
from tenax.policy.retry.vary import varied
from tenax.policy.transition import STEP_OF, Consequences, FanOutCounters, item_result
from tenax.policy.transitions import check


class Instruction(NamedTuple):
    """Says what an operator wants of a work item."""

    action: ItemAction
    actor: str
    reason: str | None = None
    result: Any = None
    """The result that `complete` gives."""
    policy: Policy | None = None
    """The policy that `reschedule` gives."""


class DueItem(Item, Protocol):
    """A work item, with the time at which it is due."""

    @property
    def available_at(self) -> datetime: ...
    @property
    def max_attempts(self) -> int | None: ...


class OperatorTransition(Consequences, kw_only=True, gc=False):
    """Holds the consequences of an operator's instruction."""

    operated: DueItem
    restarts_clock: bool = False
    """The time of the item's `give_up_after` starts anew."""
    policy: Policy | None = None
    """The policy that the item has from now on."""


def operate(
    plan: Plan,
    item: DueItem,
    instruction: Instruction,
    *,
    fan_out: FanOutCounters | None,
    now: datetime,
    roll: float,
) -> OperatorTransition:
    """Returns everything that follows for an item from an instruction, which must be legal in its state."""
    assert item.state in ON_ITEM[instruction.action], f"{instruction.action} of an item that is {item.state}"
    made = OperatorTransition(item, [], operated=item)
    action = action_of(plan, item.step, compensates=item.compensates, policy=item.policy)
    match instruction.action:
        case "retry":
            _go_on(made, action, instruction, item, at=now)
        case "reset":
            _reset(made, action, instruction, item, now)
        case "reschedule":
            _reschedule(made, action, instruction, item, now, roll)
        case "resolve" | "complete":
            _succeed(made, plan, fan_out, instruction)
        case "fail":
            _fail(made, plan, fan_out, instruction)
        case _:
            assert_never(instruction.action)
    return made


# -- items that go on


def _go_on(
    made: OperatorTransition, action: PlannedAction, instruction: Instruction, item: DueItem, *,
    at: datetime, ledger: Ledger | None = None, **more: Any,
) -> None:  # fmt: skip
    """Plans the next attempt for this time. An item that is held is released."""
    check("item", item.state, "retrying")
    compensation = True if item.compensates else UNSET
    if item.state == "held":
        released = ReleasedRetryData(
            available_at=at, actor=instruction.actor, reason=instruction.reason, compensation=compensation
        )
        made.events.append(item_event(RetryReleased, item, released, attempt=item.attempt))
        made.letter = letter_moved(place_of(item), "redriven")
    moved = RescheduledData(
        available_at=at,
        actor=instruction.actor,
        compensation=compensation,
        ledger=UNSET if ledger is None else ledger,
        **more,
    )
    made.events.append(item_event(RetryRescheduled, item, moved, attempt=item.attempt))
    policy = action.policy.policy
    made.again = ItemAgain(
        item.id, item.execution_id, item.step, item.item_no, "retrying", at, queue_deadline(action.step, at),
        item.attempt,
        None if ledger is None else encode(ledger),
        vary=None if ledger is None or not policy.vary else encode(varied(policy, ledger)),
    )  # fmt: skip


def _reset(
    made: OperatorTransition, action: PlannedAction, instruction: Instruction, item: DueItem, now: datetime
) -> None:
    """Resets the counts of the item. A retry stays due at its time; an item that is held is released."""
    at = now if item.state == "held" else max(item.available_at, now)
    ledger = reset_ledger(read_ledger(item.ledger, 0.0), reopens=False)
    _go_on(made, action, instruction, item, at=at, ledger=ledger, reset=True)
    made.restarts_clock = True


def _reschedule(
    made: OperatorTransition,
    action: PlannedAction,
    instruction: Instruction,
    item: DueItem,
    now: datetime,
    roll: float,
) -> None:
    """Computes the due time again by another policy. The item keeps its place on the curve."""
    assert instruction.policy is not None
    ledger = read_ledger(item.ledger, 0.0)
    parts = plan_delay(
        instruction.policy,
        n=max(ledger.counted, 1),
        previous=ledger.previous_delay,
        roll=roll,
        hint=None,
        after=None,
    )
    at = now + timedelta(seconds=parts.delay)
    _go_on(made, action, instruction, item, at=at, policy=instruction.policy.as_dict())
    made.policy = instruction.policy


def too_little(policy: Policy, ledger: Ledger) -> str | None:
    """Returns why a policy does not allow the next attempt of a waiting item. Returns None if it does."""
    if not policy.retryable:
        return "it says `retryable: false`, and a retry is planned"
    if policy.max_attempts is not None and ledger.counted >= policy.max_attempts + ledger.granted:
        return (
            f"{ledger.counted} attempts have counted already, and its `max_attempts` is {policy.max_attempts}"
        )
    return None


# -- items that end


def _succeed(
    made: OperatorTransition, plan: Plan, fan_out: FanOutCounters | None, instruction: Instruction
) -> None:
    """Ends the item as done. Without a result its dependents see null."""
    item = made.item
    check("item", item.state, "succeeded")
    end = _end(made, instruction)
    if fan_out is not None:
        done = ItemCompletedData(attempts=item.attempt, result=instruction.result, operator=end)
        made.events.append(item_event(ItemCompleted, item, done))
        made.item_result = item_result(plan, item, instruction.result, None)
        return
    check("step", STEP_OF[item.state], "completed")
    data = StepCompletedData(attempts=item.attempt, result=instruction.result, operator=end)
    made.events.append(item_event(StepCompleted, item, data))
    made.ended_step = StepRow(item.execution_id, item.step, "completed", 0, item.attempt, instruction.result)


def _fail(
    made: OperatorTransition, plan: Plan, fan_out: FanOutCounters | None, instruction: Instruction
) -> None:
    """Ends the item as failed. Its policy is not asked, and its step's `on_failure` applies."""
    item = made.item
    check("item", item.state, "failed")
    failure = Failure("logical", FAILED_BY_OPERATOR, f"{instruction.actor} failed it: {instruction.reason}")
    common: Mapping[str, Any] = {
        "attempts": read_ledger(item.ledger, 0.0).counted,
        "attempt": item.attempt,
        "max_attempts": made.operated.max_attempts,
        "final_error": failure.message,
        "reason": failure.message,
        "failure": failure.as_dict(),
        "item_id": item.id if item.attempt else UNSET,
        "operator": _end(made, instruction),
    }
    failed = brief(failure, item.attempt)
    if fan_out is not None:
        tolerated = fan_out.failed < fan_out.tolerated
        ended = ItemFailedData(**common, tolerated=tolerated)
        made.events.append(item_event(ItemFailed, item, ended, attempt=item.attempt))
        made.item_result = item_result(plan, item, None, failed)
        return
    check("step", STEP_OF[item.state], "failed")
    on_failure = plan.steps[item.step].step.on_failure
    data = StepFailedData(**common, on_failure=on_failure.action if on_failure is not None else UNSET)
    made.events.append(item_event(StepFailedTerminal, item, data, attempt=item.attempt))
    made.ended_step = StepRow(item.execution_id, item.step, "failed", 0, item.attempt, None, failed)


def _end(made: OperatorTransition, instruction: Instruction) -> OperatorEnd:
    item = made.item
    made.abandoned_child = item.child
    if may_have_letter(item.ledger, item.state):
        made.letter = letter_moved(place_of(item), "resolved")
    worker = item.worker if item.state == "leased" and item.worker is not None else UNSET
    kind = cast('Literal["resolve", "complete", "fail"]', instruction.action)
    return OperatorEnd(action=kind, was=item.state, worker=worker)
