"""Recovery, at start-up and as a sweep: every open execution has something that will wake it, or is repaired."""

from __future__ import annotations

from datetime import datetime

import structlog

from tenax.engine.core import Core
from tenax.engine.progress import (
    Turn,
    advance_executions,
    enqueue,
    fail_execution,
    failure_of,
    render_results,
    start_steps,
)
from tenax.errors import Unreachable
from tenax.model.events import event
from tenax.model.state import ExecutionState, StepState, fold
from tenax.store import queue
from tenax.store.connect import Connection
from tenax.store.events import get_events
from tenax.store.executions import find_stalled_executions
from tenax.store.journal import Journal
from tenax.store.queue import restore_item
from tenax.store.rows import StepRow

BATCH = 200
_OVER = ("completed", "failed", "skipped", "unreachable")
_LIVE = ("queued", "running", "retrying", "held")
_log = structlog.get_logger("tenax.recover")


async def recover(core: Core) -> list[int]:
    """Repairs what has no work item although it should. Cost grows with the open executions, not with history."""
    repaired: list[int] = []
    after = 0
    while True:
        async with core.transaction() as tx:
            found = await find_stalled_executions(tx, after, BATCH)
        repaired += [execution_id for execution_id in found if await _repair_safely(core, execution_id)]
        if len(found) < BATCH:
            break
        after = found[-1]
    if repaired:
        core.hub.announce(ready=True, due_in=0.0, executions=repaired)
    return repaired


async def _repair_safely(core: Core, execution_id: int) -> bool:
    try:
        return await _repair(core, execution_id)
    except Unreachable:
        raise
    except Exception:  # noqa: BLE001 -- one broken execution is reported and does not stop the others
        _log.exception("an execution cannot be repaired", execution_id=execution_id)
        return False


async def _repair(core: Core, execution_id: int) -> bool:
    async with core.transaction() as tx:
        rows, now = await queue.lock_executions(tx, [execution_id])
        items = await queue.lock_open_items(tx, [execution_id], leased_too=True)
        if now is None or items or rows[execution_id].state != "running":
            return False
        row = rows[execution_id]
        plan = (await core.plans.load(tx, [row.plan_id]))[row.plan_id]
        state = fold(await get_events(tx, execution_id), list(plan.steps))
        journal = Journal(now)
        journal.log(
            execution_id, event("execution_activated", data={"reason": "no work item was left of it"})
        )
        _log.warning(
            "an open execution had no work item; it is repaired from its events", execution_id=execution_id
        )
        await _rebuild(tx, journal, Turn(row, plan), state)
        await journal.write(tx)
        await _restore_items(tx, journal, state, now)
    return True


async def _rebuild(tx: Connection, journal: Journal, turn: Turn, state: ExecutionState) -> None:
    """The rows that the events say there should be: for each step its end, its work item or its counter."""
    row, plan = turn.row, turn.plan
    over = {name: _ended(row.id, step) for name, step in state.steps.items() if step.status in _OVER}
    for step in over.values():
        if not plan.single:
            journal.step(step)
    live = [name for name, step in state.steps.items() if step.status in _LIVE]
    row.open_steps = len(plan.steps) - len(over)
    journal.execution(row)
    for name in live:
        enqueue(journal, row, plan.steps[name])
    fresh = await start_steps(tx, journal, turn, _ready(journal, turn, over, live))
    if fresh:
        turn.ended = fresh
        await advance_executions(tx, journal, [turn])
    elif row.open_steps == 0:
        await _end(tx, journal, turn, over)


def _ready(journal: Journal, turn: Turn, over: dict[str, StepRow], live: list[str]) -> list[str]:
    """Steps that nothing holds back any more; for the others, the count of what they wait for."""
    ready: list[str] = []
    for name, planned in turn.plan.steps.items():
        if name in over or name in live:
            continue
        left = [need for need in planned.step.needs if need not in over]
        if left:
            journal.step(StepRow(turn.row.id, name, "pending", len(left)))
        else:
            ready.append(name)
    return ready


async def _end(tx: Connection, journal: Journal, turn: Turn, over: dict[str, StepRow]) -> None:
    lost = [over[name] for name in sorted(turn.plan.goals) if over[name].state in ("failed", "unreachable")]
    if lost:
        fail_execution(journal, turn.row, failure_of(lost[0]))
    else:
        turn.ended = list(over.values())
        await render_results(tx, journal, [turn])


def _ended(execution_id: int, step: StepState) -> StepRow:
    return StepRow(execution_id, step.step, step.status, 0, step.attempt, step.result, step.failure)


async def _restore_items(tx: Connection, journal: Journal, state: ExecutionState, now: datetime) -> None:
    """Attempts used and due times as they were: a repair grants nothing. What was running counts as lost."""
    for item in journal.new_items:
        step = state.steps[item.step]
        if step.attempt:
            await restore_item(
                tx,
                item,
                attempt=step.attempt,
                ledger=step.ledger,
                available_at=_moment(step.available_at) or now,
                created_at=_moment(step.enqueued_at) or now,
                lost_worker=step.attempts[-1].worker if step.status == "running" else None,
            )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
