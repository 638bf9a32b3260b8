"""Handles callbacks of async steps. A success of any attempt counts while the item is open; a failure counts only for
the current attempt."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tenax.engine.context import EngineContext
from tenax.engine.graph.settle import settle
from tenax.engine.late_results import MAX_LATE_RESULTS, is_same, said_by
from tenax.engine.notifier import announce
from tenax.errors import NotFound
from tenax.model.attempt.bounded import bounded_outcome, late_data
from tenax.model.attempt.outcome import Outcome
from tenax.model.decision import read_ledger
from tenax.model.events import ATTEMPT_ENDS, NAMES, event
from tenax.model.events.types import LateResult
from tenax.model.wire import ReportAnswer
from tenax.policy.outcome_events import EndedAttempt
from tenax.policy.plan import Plan, PlannedStep
from tenax.policy.receipt import receipt
from tenax.policy.retry.until import poll
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ItemRow
from tenax.store.tables import live_items
from tenax.store.tables.log import find_attempt_events, is_log_longer
from tenax.store.tables.steps import count_attempts

_RUNNING = ("leased", "accepted")
_ENDS = ATTEMPT_ENDS
LATE = NAMES[LateResult]


async def callback(
    context: EngineContext,
    execution_id: int,
    item_id: int,
    attempt: int,
    given: str,
    outcome: Outcome,
    *,
    step: str | None,
    item: int | None,
) -> ReportAnswer:
    """Decides on the outcome that a callee sends. A late one is recorded once and changes nothing. An attempt that
    never existed cannot be called back."""
    check_receipt(context, execution_id, item_id, given)
    outcome = bounded_outcome(outcome, context.report_limits)
    async with context.transaction() as tx:
        executions, now = await live_items.lock_executions(tx, [execution_id])
        if now is None:
            raise NotFound("there is nothing to call back under this address: its execution is gone")
        row, journal = executions[execution_id], Journal(now)
        plan = await context.plans.one(tx, row.plan_id)
        found = await live_items.lock_items(tx, [item_id])
        if not _is_async(plan, found[0] if found else None, step):
            raise _nothing_here()
        if found and _counts(journal, plan, found[0], attempt, outcome):
            ended = EndedAttempt(found[0], outcome, "callback", attempt)
            [decision] = await settle(tx, context, journal, executions, [ended])
            delays = [decision.delay.delay] if decision.delay is not None else []
            answer = ReportAnswer(item_id, "applied", decision.verdict)
        else:
            at = _CallbackTarget.of(execution_id, found[0] if found else None, step, item, attempt)
            late = await _late_result(tx, context, plan, found[0] if found else None, at, outcome)
            if late is not None:
                journal.log(row.id, late)
                await journal.write(tx)
            delays, answer = [], ReportAnswer(item_id, "late")
    announce(context.notifier, journal, delays)
    return answer


def check_receipt(context: EngineContext, execution_id: int, item_id: int, given: str) -> None:
    """Checks the receipt, which alone authorizes a callback."""
    expected = receipt(context.secret, execution_id, item_id)
    if not hmac.compare_digest(expected.encode(), given.encode()):
        raise _nothing_here()


def _nothing_here() -> NotFound:
    return NotFound("there is nothing to call back under this address", remedy="use the URL as it was given")


def _is_async(plan: Plan, item: ItemRow | None, named: str | None) -> bool:
    """Returns whether the attempt may be called back. Every callee knows its item's receipt, but only an async step is
    given a URL, which names the step."""
    if item is not None:
        return "async" in plan.action(item.step, compensates=item.compensates).step.spec
    return named is not None and named in plan.steps and "async" in plan.steps[named].step.spec


def _counts(journal: Journal, plan: Plan, item: ItemRow, attempt: int, outcome: Outcome) -> bool:
    if not 1 <= attempt <= item.attempt:
        return False
    if item.state in _RUNNING and attempt == item.attempt:
        return True
    return outcome.status == "succeeded" and _is_done(journal, plan.steps[item.step], item, attempt, outcome)


def _is_done(journal: Journal, planned: PlannedStep, item: ItemRow, attempt: int, outcome: Outcome) -> bool:
    """Returns whether the outcome of an old attempt changes anything. A poll that found the work not yet done does not:
    the current attempt looks again."""
    if planned.until is None:
        return True
    elapsed = item.age(journal.now)
    polls = read_ledger(item.ledger, elapsed).polls
    where: dict[str, Any] = {"execution_id": item.execution_id, "step": item.step}
    return poll(planned.until, outcome, polls=polls, attempt=attempt, elapsed=elapsed, **where).done


@dataclass(frozen=True, slots=True)
class _CallbackTarget:
    """Names the attempt that a callback is for. If the item is gone, the URL gives its step and number."""

    execution_id: int
    step: str
    item: int | None
    attempt: int

    @classmethod
    def of(
        cls, execution_id: int, found: ItemRow | None, step: str | None, item: int | None, attempt: int
    ) -> _CallbackTarget:
        if found is not None:
            return cls(execution_id, found.step, found.item_no, attempt)
        assert step is not None  # otherwise the attempt is not async
        return cls(execution_id, step, item, attempt)


async def _late_result(
    tx: Connection,
    context: EngineContext,
    plan: Plan,
    item: ItemRow | None,
    at: _CallbackTarget,
    outcome: Outcome,
) -> dict[str, Any] | None:
    """Returns the event of a late callback. Returns None if the same one was applied or recorded before, or if enough
    others were.

    Raises NotFound for an attempt that never existed.
    """
    earlier = await find_attempt_events(tx, at.execution_id, at.step, at.item, at.attempt)
    if not await _was_there(tx, plan, item, at, earlier):
        raise _nothing_here()
    said = await said_by(outcome)
    known = [e for e in earlier if e["type"] in _ENDS or e["type"] == LATE]
    if any(is_same(e, said) for e in known):
        return None
    if sum(e["type"] == LATE and "token" not in e for e in known) >= MAX_LATE_RESULTS:
        return None
    kept = late_data(said, context.settings.max_late_result)
    return event(LateResult, at.step, item=at.item, attempt=at.attempt, data={"via": "callback", **kept})


async def _was_there(
    tx: Connection, plan: Plan, item: ItemRow | None, at: _CallbackTarget, earlier: Sequence[dict[str, Any]]
) -> bool:
    """Returns whether the attempt existed: by its item, by the log, or by the row of its ended step."""
    if at.attempt < 1:
        return False
    if item is not None:
        return at.attempt <= item.attempt
    if any(e["type"] != LATE for e in earlier):
        return True
    if not await is_log_longer(tx, at.execution_id):
        return False
    attempts = await count_attempts(tx, at.execution_id, at.step, at.item)
    return attempts is None or at.attempt <= attempts or plan.steps[at.step].compensation is not None
