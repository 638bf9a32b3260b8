"""Callbacks of async steps: a success of any attempt counts while the item is open, a failure only of the current one."""

from __future__ import annotations

import hmac
from typing import Any

from tenax.engine.assign import receipt
from tenax.engine.core import Core
from tenax.engine.settle import settle
from tenax.engine.wake import announce
from tenax.errors import NotFound
from tenax.model.classify import classify
from tenax.model.events import event
from tenax.model.events.data import LateResultData
from tenax.model.events.types import LateResult
from tenax.model.json_text import decode
from tenax.model.outcome import Facts, Outcome
from tenax.model.wire import ReportAnswer
from tenax.policy.outcome_events import EndedAttempt
from tenax.policy.plan import Plan, PlannedStep
from tenax.policy.until import poll
from tenax.store import queue
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow, ItemRow, ledger_from

_RUNNING = ("leased", "accepted")


async def callback(
    core: Core,
    execution_id: int,
    item_id: int,
    attempt: int,
    given: str,
    outcome: Outcome,
    *,
    step: str | None,
    item: int | None,
) -> ReportAnswer:
    """Decides on what a callee says. What is late is recorded and changes nothing."""
    check_receipt(core, execution_id, item_id, given)
    async with core.transaction() as tx:
        executions, now = await queue.lock_executions(tx, [execution_id])
        if now is None:
            raise NotFound("there is nothing to call back under this address: its execution is gone")
        row, journal = executions[execution_id], Journal(now)
        plan = await core.plans.one(tx, row.plan_id)
        found = await queue.lock_items(tx, [item_id])
        if not _is_async(plan, found[0] if found else None, step):
            raise _nothing_here()
        if found and _counts(journal, plan, found[0], attempt, outcome):
            ended = EndedAttempt(found[0], outcome, "callback", attempt)
            [decision] = await settle(tx, core, journal, executions, [ended])
            delays = [decision.delay.delay] if decision.delay is not None else []
            answer = ReportAnswer(item_id, "applied", decision.verdict)
        else:
            _log_late(journal, row, found[0] if found else None, attempt, outcome, (step, item))
            await journal.write(tx)
            delays, answer = [], ReportAnswer(item_id, "late")
    announce(core.hub, journal, delays)
    return answer


def check_receipt(core: Core, execution_id: int, item_id: int, given: str) -> None:
    """Anyone may call; only the receipt lets in."""
    expected = receipt(core.secret, execution_id, item_id)
    if not hmac.compare_digest(expected.encode(), given.encode()):
        raise _nothing_here()


def _nothing_here() -> NotFound:
    return NotFound("there is nothing to call back under this address", remedy="use the URL as it was given")


def _is_async(plan: Plan, item: ItemRow | None, named: str | None) -> bool:
    """Every callee knows its item's receipt; but only one that was given a URL, which names the step, may call back."""
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
    """What an old attempt found not yet done is no news: the current one looks again."""
    if planned.until is None:
        return True
    elapsed = item.age(journal.now)
    polls = ledger_from(decode(item.ledger), elapsed).polls
    where: dict[str, Any] = {"execution_id": item.execution_id, "node_id": item.step}
    return poll(planned.until, outcome, polls=polls, attempt=attempt, elapsed=elapsed, **where).done


def _log_late(
    journal: Journal,
    row: ExecutionRow,
    item: ItemRow | None,
    attempt: int,
    outcome: Outcome,
    named: tuple[str | None, int | None],
) -> None:
    """Which step and place it was of, its URL says, where the item is gone."""
    name, number = (item.step, item.item_no) if item is not None else named
    if outcome.status == "succeeded":
        data = LateResultData(status=outcome.status, via="callback", result=outcome.result)
    else:
        failure = classify(outcome.facts or Facts(), status=outcome.status).as_dict()
        data = LateResultData(status=outcome.status, via="callback", failure=failure)
    journal.log(row.id, event(LateResult, name, item=number, attempt=attempt, data=data))
