"""Repairs fan-outs whose counters do not match their items, from their rows and from the log."""

from __future__ import annotations

import structlog

from tenax.engine.context import EngineContext
from tenax.engine.graph.advance import advance_executions
from tenax.engine.graph.compensation import write
from tenax.engine.graph.execution_update import ExecutionUpdate
from tenax.engine.graph.fan_out import close_fan_outs
from tenax.engine.graph.rebuild_items import restore_fan_out_items
from tenax.errors import Unreachable
from tenax.model.events import event
from tenax.model.events.data import ActivatedData
from tenax.model.events.types import ExecutionActivated
from tenax.model.state.execution import StepState, fold
from tenax.settings import Settings
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import FanOutRow
from tenax.store.tables import live_items
from tenax.store.tables.fan_outs import find_broken_fan_outs, load_fan_outs, restore_fan_out
from tenax.store.tables.log import get_events
from tenax.store.tables.steps import StepKey

_log = structlog.get_logger("tenax.recover")


async def repair_fan_outs(context: EngineContext) -> list[int]:
    """Repairs fan-outs. Returns the executions in which something was repaired."""
    async with context.transaction() as tx:
        found = await find_broken_fan_outs(tx)
    return [key[0] for key in found if await _repair_safely(context, key)]


async def _repair_safely(context: EngineContext, key: StepKey) -> bool:
    try:
        return await _repair(context, key)
    except Unreachable:
        raise
    except Exception:  # noqa: BLE001 -- one broken fan-out is reported and does not stop the others
        _log.exception("a fan-out cannot be repaired", execution_id=key[0], step=key[1])
        return False


async def _repair(context: EngineContext, key: StepKey) -> bool:
    async with context.transaction() as tx:
        rows, now = await live_items.lock_executions(tx, [key[0]])
        if now is None or not rows[key[0]].open or key not in await find_broken_fan_outs(tx):
            return False
        row, journal = rows[key[0]], Journal(now, max_result_bytes=context.settings.max_rendered)
        plan = await context.plans.one(tx, row.plan_id)
        update, fan_out = ExecutionUpdate(row, plan, context.rendering), (await load_fan_outs(tx, [key]))[key]
        recorded = fold(await get_events(tx, row.id), list(plan.steps)).steps[fan_out.step]
        why = "the items of a fan-out did not fit its counters"
        await _mend(tx, journal, update, fan_out, recorded, context.settings, why)
        await close_fan_outs(tx, journal, lambda _: update, [fan_out])
        if update.ended:
            await advance_executions(tx, journal, [update])
        await write(tx, context, journal)
    return True


async def rebuild_fan_out(
    tx: Connection,
    journal: Journal,
    update: ExecutionUpdate,
    name: str,
    recorded: StepState,
    settings: Settings,
) -> FanOutRow:
    """Writes the rows of a fan-out that has lost its own: its items and results, as its events record them. Returns the
    fan-out's row."""
    step, key = update.plan.steps[name].step, (update.row.id, name)
    assert recorded.fan_out is not None, "a step with `for_each` is queued together with its items"
    total, parallelism = recorded.fan_out.total, recorded.fan_out.parallelism
    at_once = None if parallelism >= total else parallelism
    tolerated = step.tolerate.allowed(total) if step.tolerate is not None else 0
    fan_out = FanOutRow(*key, total, 0, 0, 0, tolerated, at_once, 0, closed=False)
    await restore_fan_out(tx, fan_out, step.queue_ttl)
    fan_out = (await load_fan_outs(tx, [key]))[key]
    await _mend(tx, journal, update, fan_out, recorded, settings, "a fan-out had lost its row")
    return fan_out


async def _mend(
    tx: Connection,
    journal: Journal,
    update: ExecutionUpdate,
    fan_out: FanOutRow,
    recorded: StepState,
    settings: Settings,
    why: str,
) -> None:
    """Restores the missing rows of a fan-out, counts it again, and logs the repair."""
    key = (fan_out.execution_id, fan_out.step)
    restored = await restore_fan_out_items(tx, journal, update, fan_out, recorded, settings)
    journal.log(key[0], event(ExecutionActivated, data=ActivatedData(reason=why, restored=restored)))
    _log.warning(
        "a fan-out is repaired from its events", execution_id=key[0], step=fan_out.step, restored=restored
    )
