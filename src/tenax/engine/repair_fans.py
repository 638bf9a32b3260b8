"""Fan-outs whose counters do not fit their items are put right, from their rows and from the log."""

from __future__ import annotations

from datetime import datetime

import structlog

from tenax.engine.compensation import write
from tenax.engine.core import Core
from tenax.engine.fan_out import close_fans
from tenax.engine.progress import advance_executions
from tenax.engine.start import Turn, list_of, new_item
from tenax.model.events import event
from tenax.model.fan_out_state import ItemState
from tenax.model.state import fold
from tenax.store import queue
from tenax.store.connect import Connection
from tenax.store.events import get_events
from tenax.store.fans import (
    FanNumbers,
    LostItem,
    find_broken_fans,
    load_fan_numbers,
    load_fans,
    restore_fan_items,
)
from tenax.store.journal import Journal
from tenax.store.rows import FanRow
from tenax.store.steps import StepKey

_log = structlog.get_logger("tenax.recover")


async def repair_fans(core: Core) -> list[int]:
    """Returns the executions in which something was put right."""
    async with core.transaction() as tx:
        found = await find_broken_fans(tx)
    return [key[0] for key in found if await _repair(core, key)]


async def _repair(core: Core, key: StepKey) -> bool:
    async with core.transaction() as tx:
        rows, now = await queue.lock_executions(tx, [key[0]])
        if now is None or not rows[key[0]].open or key not in await find_broken_fans(tx):
            return False
        row, journal = rows[key[0]], Journal(now)
        plan = (await core.plans.load(tx, [row.plan_id]))[row.plan_id]
        turn, fan = Turn(row, plan), (await load_fans(tx, [key]))[key]
        numbers = await load_fan_numbers(tx, key)
        missing = await _restore(tx, journal, turn, fan, numbers)
        fan.ended, fan.failed, fan.attempts = len(numbers.ended), numbers.failed, numbers.attempts
        if fan.parallelism is not None:
            fan.placed = (await load_fan_numbers(tx, key)).placed
        journal.fans[key] = fan
        data = {"reason": "the items of a fan-out did not fit its counters", "restored": missing}
        journal.log(row.id, event("execution_activated", data=data))
        _log.warning(
            "a fan-out is repaired from its events", execution_id=row.id, step=fan.step, restored=missing
        )
        if fan.ended == fan.total:
            await close_fans(tx, journal, lambda _: turn, [fan])
            await advance_executions(tx, journal, [turn])
        await write(tx, core, journal)
    return True


async def _restore(tx: Connection, journal: Journal, turn: Turn, fan: FanRow, numbers: FanNumbers) -> int:
    """Attempts used and due times as they were: a repair grants nothing. What was running counts as lost."""
    missing = sorted(set(range(fan.total)) - numbers.live - numbers.ended)
    if not missing:
        return 0
    planned = turn.plan.steps[fan.step]
    elements = await list_of(tx, journal, turn.row, planned)
    known = fold(await get_events(tx, turn.row.id), list(turn.plan.steps)).steps[fan.step].items
    lost = [_lost(number, elements[number], known.get(number), journal.now) for number in missing]
    await restore_fan_items(tx, new_item(turn.row, planned), lost)
    return len(missing)


def _lost(number: int, element: object, state: ItemState | None, now: datetime) -> LostItem:
    if state is None or not state.attempt:
        return LostItem(number, element, 0, None, now, now, None)
    due = datetime.fromisoformat(state.available_at) if state.available_at is not None else now
    worker = state.attempts[-1].worker if state.status == "running" else None
    return LostItem(number, element, state.attempt, state.ledger, due, now, worker)
