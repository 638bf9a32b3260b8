"""Computes the one transition of a work item. Its input is the state of the item and the end of an attempt. Its result is everything that follows.

The function is pure. It serves reports, lost leases, timeouts, expired waits in the queue, callbacks, signals and ends of children. It is
the same whether the facts come from the memory of the server that leased the item, or from its locked row.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol, assert_never

import msgspec
from msgspec import UNSET

from tenax.model.attempt.blame import is_fault_of_worker
from tenax.model.attempt.outcome import Failure
from tenax.model.changes import ItemAgain, ItemResult, Run, RunOutcome, StepRow
from tenax.model.decision import CONDITION_WORK, NO_CONTROLS, NO_RETRIES, Controls, Decision, read_ledger
from tenax.model.events.data import ItemCompletedData, ItemFailedData, StepFailedData, TerminalData
from tenax.model.events.types import CompensationFailed, ItemCompleted, ItemFailed, StepFailedTerminal
from tenax.model.json_text import encode, postgres_text
from tenax.model.letters.letter import LetterChange
from tenax.policy.failed_data import failed_data
from tenax.policy.letters import letter_change
from tenax.policy.outcome_events import (
    EndedAttempt,
    Event,
    Item,
    brief,
    decision_record,
    exhausted_events,
    item_event,
    outcome_event,
    overspent_event,
    step_completed_event,
    wait_event,
)
from tenax.policy.plan import Plan, PlannedAction, action_of
from tenax.policy.queued_action import queue_deadline
from tenax.policy.retry.budgets import is_over
from tenax.policy.retry.decide import SUCCESS_AT_ONCE, Decided, decide_outcome
from tenax.policy.retry.poison import is_poison, is_suspect
from tenax.policy.retry.vary import varied
from tenax.policy.transitions import check

ERROR_SHOWN = 500
"""Characters of an error's message that the item's row keeps. The log has all of it."""
_WITHOUT_ATTEMPT = ("hold_expired", "released", "admission")
"""The ways in which an outcome arises without the end of an attempt. There is no outcome to log."""
STEP_OF: Mapping[str, str] = {
    "queued": "queued",
    "leased": "running",
    "accepted": "running",
    "retrying": "retrying",
    "held": "held",
}
"""The state of a step whose only item is in this state."""


class ServerRules(NamedTuple):
    """Holds the settings on which a transition depends."""

    retries_enabled: bool
    poison_after: int
    max_hold: float
    condition_work: int = CONDITION_WORK


class FanOutCounters(Protocol):
    """Holds the counters of the fan-out to which an item belongs."""

    @property
    def closed(self) -> bool: ...
    @property
    def failed(self) -> int: ...
    @property
    def tolerated(self) -> int: ...
    @property
    def parallelism(self) -> int | None: ...


class Consequences(msgspec.Struct, gc=False):
    """Holds everything that follows for one item and its step from what happened to it."""

    item: Item
    events: list[Event]
    again: ItemAgain | None = None
    """The item as it returns to the queue. None if the item has ended."""
    ended_step: StepRow | None = None
    """The step, if it ended with the item. The graph advances from it."""
    recorded_step: StepRow | None = None
    """The step, if its execution had ended before. It is recorded, and nothing follows."""
    item_result: ItemResult | None = None
    """The end of an item of a fan-out."""
    run: Run | None = None
    """The result of the attempt, as far as it concerns its worker."""
    suspect: bool = False
    """True if one more lost lease may quarantine the item. It then does not run beside another suspect."""
    poison: bool = False
    """True if every worker that ran the item was lost. The losses do not count against the workers."""
    abandoned_child: int | None = None
    """The child for which the item no longer waits."""
    letter: LetterChange | None = None
    """The change of the item's dead letter."""
    unpaid: bool = False
    """True if the item is held until a budget can pay its next attempt."""


class Transition(Consequences, kw_only=True, gc=False):
    """The consequences of one ended attempt, with the decision on it."""

    decision: Decision


def transition(
    plan: Plan,
    ended: EndedAttempt,
    *,
    execution_open: bool,
    fan_out: FanOutCounters | None,
    rules: ServerRules,
    now: datetime,
    roll: float,
) -> Transition:
    """Decides on an ended attempt, and returns everything that follows for its item and its step.

    `execution_open` tells whether the execution still goes on with this item. `roll` is one random number in [0, 1).
    """
    item = ended.item
    action = action_of(plan, item.step, compensates=item.compensates, policy=item.policy)
    if execution_open and _is_first_success(ended, action, fan_out):
        return _first_success(plan, ended, action, fan_out, now)
    controls = _controls(ended, fan_out, rules, execution_open=execution_open)
    decision, failure, polled = _decide(action, ended, controls, now, roll)
    undone = polled is not None and not polled.done and failure is None
    made = Transition(item, [], decision=decision, run=_run(ended, action, failure))
    if ended.how not in _WITHOUT_ATTEMPT:
        own = decision_record(decision) if decision.verdict in ("complete", "stop") else None
        made.events.append(outcome_event(ended, decision, failure, own, now, undone=undone))
    if ended.how != "reported":
        made.poison = is_poison(decision.after, decision.controls)
        made.abandoned_child = _abandoned_child(ended)
    match decision.verdict:
        case "complete":
            _complete(made, plan, fan_out, ended.outcome.result)
        case "retry" | "hold":
            _wait(made, action, fan_out, ended, failure, rules, now)
        case "fail":
            assert failure is not None
            _fail(made, plan, fan_out, failure)
        case "stop":
            _stop(made, plan, fan_out, ended, failure, undone=undone)
        case _:
            assert_never(decision.verdict)
    made.letter = letter_change(
        plan,
        ended,
        decision,
        failure,
        tolerated=_is_tolerated(fan_out),
        succeeded=_has_succeeded(ended, failure, undone=undone),
    )
    return made


def _is_first_success(ended: EndedAttempt, action: PlannedAction, fan_out: FanOutCounters | None) -> bool:
    """Returns whether the success of an item without history leaves nothing to decide."""
    return (
        ended.outcome.status == "succeeded"
        and ended.item.ledger is None
        and action.succeeds_plainly
        and (fan_out is None or not fan_out.closed)
    )


def _first_success(
    plan: Plan, ended: EndedAttempt, action: PlannedAction, fan_out: FanOutCounters | None, now: datetime
) -> Transition:
    """Makes the transition of the most frequent outcome. Its decision is always the same."""
    item, record = ended.item, decision_record(SUCCESS_AT_ONCE)
    outcome_logged = outcome_event(ended, SUCCESS_AT_ONCE, None, record, now, undone=False)
    made = Transition(item, [outcome_logged], decision=SUCCESS_AT_ONCE, run=_run(ended, action, None))
    _complete(made, plan, fan_out, ended.outcome.result)
    return made


def _controls(
    ended: EndedAttempt, fan_out: FanOutCounters | None, rules: ServerRules, *, execution_open: bool
) -> Controls:
    step_open = fan_out is None or not fan_out.closed
    is_plain = ended.lost is None and ended.how not in _WITHOUT_ATTEMPT and not ended.budgets
    if execution_open and step_open and is_plain:
        if rules.condition_work == CONDITION_WORK:
            return NO_CONTROLS if rules.retries_enabled else NO_RETRIES
        return Controls(retries_enabled=rules.retries_enabled, condition_work=rules.condition_work)
    return Controls(
        execution_open=execution_open,
        step_open=step_open,
        retries_enabled=rules.retries_enabled,
        lost_worker=ended.lost.worker if ended.lost is not None else None,
        poison_after=rules.poison_after if ended.lost is not None else 0,
        able=ended.lost.able if ended.lost is not None else None,
        held_for=rules.max_hold if ended.how == "hold_expired" else None,
        released_due_in=ended.due_in,
        condition_work=rules.condition_work,
        budgets=ended.budgets,
        admits=ended.how == "admission",
    )


def _decide(
    action: PlannedAction, ended: EndedAttempt, controls: Controls, now: datetime, roll: float
) -> Decided:
    item = ended.item
    ledger = read_ledger(item.ledger, item.age(now))
    if (budget := action.budget) is not None:
        ledger.budget, ledger.budget_tokens = budget.cost_usd, budget.tokens
    return decide_outcome(
        action.policy,
        action.until,
        ledger,
        ended.outcome,
        attempt=ended.number,
        controls=controls,
        roll=roll,
        execution_id=item.execution_id,
        step=item.step,
    )


def _run(ended: EndedAttempt, action: PlannedAction, failure: Failure | None) -> Run | None:
    item = ended.item
    if item.state != "leased" or item.worker is None:
        return None
    outcome: RunOutcome = "sound"
    if ended.lost is not None:
        outcome = "lost"
    elif failure is not None:
        step = action.step
        if is_fault_of_worker(failure, runtime=step.type, dependency=step.dependency):
            outcome = "failed"
    return Run(item.worker, item.id, item.started_at, outcome)


def _abandoned_child(ended: EndedAttempt) -> int | None:
    return ended.item.child if ended.how == "timed_out" else None


# -- what follows from each verdict


def _complete(made: Transition, plan: Plan, fan_out: FanOutCounters | None, result: Any) -> None:
    item = made.item
    check("item", item.state, "succeeded")
    if is_over(made.decision.after):
        made.events.append(overspent_event(item, made.decision.after))
    if item.compensates:
        return
    if fan_out is not None:
        made.events.append(item_event(ItemCompleted, item, ItemCompletedData(attempts=item.attempt)))
        made.item_result = item_result(plan, item, result, None)
        return
    check("step", STEP_OF[item.state], "completed")
    made.events.append(step_completed_event(item))
    made.ended_step = StepRow(item.execution_id, item.step, "completed", 0, item.attempt, result)


def _wait(
    made: Transition,
    action: PlannedAction,
    fan_out: FanOutCounters | None,
    ended: EndedAttempt,
    failure: Failure | None,
    rules: ServerRules,
    now: datetime,
) -> None:
    item, decision, policy = made.item, made.decision, action.policy.policy
    delay = decision.delay.delay if decision.delay is not None else 0.0
    available_at = now + timedelta(seconds=delay)
    error = failure.message if failure is not None else None
    held = decision.verdict == "hold"
    state = "held" if held else "retrying"
    check("item", item.state, state)
    made.events.append(wait_event(ended, decision, error, available_at))
    made.unpaid = held and decision.rule == "budget"
    made.suspect = is_suspect(decision.after, rules.poison_after)
    made.again = ItemAgain(
        item.id,
        item.execution_id,
        item.step,
        item.item_no,
        state,
        available_at,
        now + timedelta(seconds=rules.max_hold) if held else queue_deadline(action.step, available_at),
        item.attempt,
        encode(decision.after),
        postgres_text(error[:ERROR_SHOWN]) if error is not None else None,
        (),
        False if fan_out is not None and fan_out.parallelism is not None else None,
        encode(ended.outcome.result) if decision.rule == "until" else None,
        encode(varied(policy, decision.after)) if policy.vary else None,
    )


def _fail(made: Transition, plan: Plan, fan_out: FanOutCounters | None, failure: Failure) -> None:
    item, decision = made.item, made.decision
    check("item", item.state, "failed")
    made.events += exhausted_events(item, decision, failure)
    known = (decision, item.attempt, decision.reason, failure.as_dict())
    more = {"decision": decision, "item_id": item.id}
    if item.compensates:
        undone = failed_data(TerminalData, *known, decision=decision)
        made.events.append(item_event(CompensationFailed, item, undone, attempt=item.attempt))
        return
    failed = brief(failure, item.attempt)
    if fan_out is not None:
        ended = failed_data(ItemFailedData, *known, **more, tolerated=_is_tolerated(fan_out))
        made.events.append(item_event(ItemFailed, item, ended, attempt=item.attempt))
        made.item_result = item_result(plan, item, None, failed)
        return
    check("step", STEP_OF[item.state], "failed")
    on_failure = plan.steps[item.step].step.on_failure
    action = on_failure.action if on_failure is not None else UNSET
    data = failed_data(StepFailedData, *known, **more, on_failure=action)
    made.events.append(item_event(StepFailedTerminal, item, data, attempt=item.attempt))
    made.ended_step = StepRow(item.execution_id, item.step, "failed", 0, item.attempt, None, failed)


def _stop(
    made: Transition,
    plan: Plan,
    fan_out: FanOutCounters | None,
    ended: EndedAttempt,
    failure: Failure | None,
    *,
    undone: bool,
) -> None:
    """Ends the item because its execution or its step has ended. A running attempt is recorded, and nothing follows
    from it."""
    item, outcome = made.item, ended.outcome
    failed = brief(failure, item.attempt) if failure is not None else None
    if failed is None and not _has_succeeded(ended, failure, undone=undone):
        failed = _unfinished(item)
    check("item", item.state, "succeeded" if failed is None else "failed")
    if item.compensates:
        return
    if fan_out is not None:
        if failed is None:
            made.events.append(item_event(ItemCompleted, item, ItemCompletedData(attempts=item.attempt)))
        else:
            of_item = (made.decision, item.attempt, "the step is over", failed)
            over = failed_data(ItemFailedData, *of_item, item_id=item.id)
            made.events.append(item_event(ItemFailed, item, over, attempt=item.attempt))
        made.item_result = item_result(plan, item, outcome.result, failed)
        return
    if failed is None:
        made.events.append(step_completed_event(item))
    else:
        of_step = (made.decision, item.attempt, "the execution is over", failed)
        data = failed_data(StepFailedData, *of_step, item_id=item.id)
        made.events.append(item_event(StepFailedTerminal, item, data, attempt=item.attempt))
    if not plan.single:
        state = "completed" if failed is None else "failed"
        check("step", STEP_OF[item.state], state)
        result = outcome.result if failed is None else None
        made.recorded_step = StepRow(item.execution_id, item.step, state, 0, item.attempt, result, failed)


def _is_tolerated(fan_out: FanOutCounters | None) -> bool:
    """Returns whether the step goes on if one more of its items fails."""
    return fan_out is not None and fan_out.failed < fan_out.tolerated


def _has_succeeded(ended: EndedAttempt, failure: Failure | None, *, undone: bool) -> bool:
    return failure is None and not undone and ended.outcome.status == "succeeded"


def item_result(plan: Plan, item: Item, result: Any, failed: dict[str, Any] | None) -> ItemResult:
    """Makes the row of the end of an item of a fan-out."""
    return ItemResult(
        item_id=item.id,
        execution_id=item.execution_id,
        step=item.step,
        item_no=item.item_no,
        state="succeeded" if failed is None else "failed",
        attempts=item.attempt,
        result=result if failed is None else None,
        failure=failed,
        keep_element=plan.steps[item.step].compensation is not None,
    )


def _unfinished(item: Item) -> dict[str, Any]:
    """Returns the failure of a snooze or a poll that is not continued: it neither succeeded nor failed by itself."""
    message = "it was not done when the execution ended"
    return {"class": "cancelled", "reason": "execution_ended", "message": message, "attempts": item.attempt}
