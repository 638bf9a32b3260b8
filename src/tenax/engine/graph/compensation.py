"""Undoes successful steps after an execution has failed, one at a time and the last first."""

from __future__ import annotations

import structlog
from msgspec.structs import replace

from tenax.engine.context import EngineContext
from tenax.engine.graph.end_execution import fail_execution
from tenax.engine.graph.start_steps import new_item
from tenax.model.changes import ItemAgain
from tenax.model.decision import read_ledger
from tenax.model.events import event
from tenax.model.events.data import CompensatedData
from tenax.model.events.types import CompensationEnqueued, ExecutionCompensated
from tenax.model.json_text import decode, encode
from tenax.policy.plan import Plan
from tenax.policy.queued_action import queue_deadline
from tenax.policy.retry.poison import is_suspect
from tenax.policy.retry.vary import varied
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import ExecutionRow
from tenax.store.tables import compensations

_log = structlog.get_logger("tenax.compensation")


async def write(tx: Connection, context: EngineContext, journal: Journal) -> None:
    """Writes the journal. A failing execution then goes on to its next compensation, or to its end."""
    await journal.write(tx)
    if not journal.failing:
        return
    rows = list(journal.failing.values())
    plans = await context.plans.load(tx, {row.plan_id for row in rows})
    for row in rows:
        await _go_on(tx, context, journal, row, plans[row.plan_id])


async def _go_on(
    tx: Connection, context: EngineContext, journal: Journal, row: ExecutionRow, plan: Plan
) -> None:
    """Starts the next compensation. Running items must end first, because they may have to be undone as well."""
    open_ = await compensations.count_open_items(tx, row.id)
    if open_.actions or open_.compensating or not row.failing:
        return
    after = Journal(journal.now)
    if row.compensation == "waiting":
        row.compensation = "running"
        after.execution(row)
    if not open_.waiting and await _make(tx, context, after, row, plan):
        await after.write(tx)
        return
    actions = [plan.action(name, compensates=True) for name in plan.compensated]
    started = await compensations.start_next(tx, row.id, journal.now, [a.queued for a in actions])
    if started is not None:
        step, item = started
        after.log(row.id, event(CompensationEnqueued, step, item=item))
        journal.slots_filled += 1
    else:
        await _end(tx, after, row, plan)
    await after.write(tx)
    journal.executions |= after.executions
    journal.events.setdefault(row.id, [])


async def _make(
    tx: Connection, context: EngineContext, journal: Journal, row: ExecutionRow, plan: Plan
) -> bool:
    """Inserts a compensation item for each success that is not undone yet. Returns True if a compensation that had
    begun and lost its item goes on."""
    actions = {name: plan.action(name, compensates=True) for name in plan.compensated}
    items = [new_item(row, action) for action in actions.values()]
    begun = await compensations.insert_compensations(tx, items, journal.now, context.settings.max_hold)
    for one in begun:
        _log.warning("a compensation lacked its work item; it goes on", execution_id=row.id, step=one.step)
        policy, ledger = actions[one.step].policy.policy, read_ledger(one.ledger, 0.0)
        if is_suspect(ledger, context.settings.poison_after):
            journal.suspects.append(one.id)
        if one.state == "retrying" and policy.vary:
            vary = encode(varied(policy, ledger))
            expires_at = queue_deadline(actions[one.step].step, one.available_at)
            again = ItemAgain(
                one.id, row.id, one.step, one.item_no, one.state, one.available_at, expires_at, one.attempt
            )
            journal.items_again.append(replace(again, vary=vary))
    return bool(begun)


async def _end(tx: Connection, journal: Journal, row: ExecutionRow, plan: Plan) -> None:
    completed, failed = await compensations.count_ended(tx, row.id)
    row.compensation = "failed" if failed else "completed"
    if failed:
        _log.error(
            "compensations have failed: what they should undo is still done",
            execution_id=row.id,
            failed=failed,
        )
    journal.log(row.id, event(ExecutionCompensated, data=CompensatedData(completed=completed, failed=failed)))
    fail_execution(journal, row, plan, decode(row.failure) or {})
