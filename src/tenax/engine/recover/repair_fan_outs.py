"""Repairs fan-outs whose counters do not match their items, from their rows and from the log."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from tenax.engine.context import EngineContext
from tenax.engine.graph.advance import advance_executions
from tenax.engine.graph.compensation import write
from tenax.engine.graph.execution_update import ExecutionUpdate
from tenax.engine.graph.fan_out import close_fan_outs
from tenax.engine.graph.start_steps import concurrency_keys_of, fan_out_item, list_of
from tenax.errors import Unreachable
from tenax.model.decision import Ledger
from tenax.model.events import event
from tenax.model.events.data import ActivatedData
from tenax.model.events.types import ExecutionActivated
from tenax.model.state.attempt import WorkState
from tenax.model.state.execution import fold
from tenax.model.state.fan_out import FanOut, ItemState
from tenax.policy.plan import PlannedStep
from tenax.policy.queued_action import vary_after
from tenax.policy.retry.poison import is_suspect
from tenax.policy.transition import ERROR_SHOWN
from tenax.settings import Settings
from tenax.store.connect import Connection
from tenax.store.journal import Journal
from tenax.store.rows import FanOutRow
from tenax.store.tables import live_items
from tenax.store.tables.fan_outs import (
    FanOutCounts,
    LostItem,
    LostResult,
    count_fan_out_rows,
    find_broken_fan_outs,
    load_fan_outs,
    restore_fan_out,
    restore_item_results,
    restore_items,
)
from tenax.store.tables.log import get_events
from tenax.store.tables.steps import StepKey

_OVER = ("succeeded", "failed")
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
        await _mend(
            tx, journal, update, fan_out, context.settings, "the items of a fan-out did not fit its counters"
        )
        await close_fan_outs(tx, journal, lambda _: update, [fan_out])
        if update.ended:
            await advance_executions(tx, journal, [update])
        await write(tx, context, journal)
    return True


async def rebuild_fan_out(
    tx: Connection, journal: Journal, update: ExecutionUpdate, name: str, recorded: FanOut, settings: Settings
) -> FanOutRow:
    """Writes the rows of a fan-out that has lost its own: its items and results, as its events record them. Returns the
    fan-out's row."""
    step, key = update.plan.steps[name].step, (update.row.id, name)
    at_once = None if recorded.parallelism >= recorded.total else recorded.parallelism
    tolerated = step.tolerate.allowed(recorded.total) if step.tolerate is not None else 0
    fan_out = FanOutRow(*key, recorded.total, 0, 0, 0, tolerated, at_once, 0, closed=False)
    await restore_fan_out(tx, fan_out, step.queue_ttl)
    fan_out = (await load_fan_outs(tx, [key]))[key]
    await _mend(tx, journal, update, fan_out, settings, "a fan-out had lost its row")
    return fan_out


async def _mend(
    tx: Connection,
    journal: Journal,
    update: ExecutionUpdate,
    fan_out: FanOutRow,
    settings: Settings,
    why: str,
) -> None:
    """Restores the missing rows of a fan-out, counts it again, and logs the repair."""
    key = (fan_out.execution_id, fan_out.step)
    restored = await _restore(tx, journal, update, fan_out, await count_fan_out_rows(tx, key), settings)
    numbers = await count_fan_out_rows(tx, key)
    fan_out.ended, fan_out.failed, fan_out.attempts = len(numbers.ended), numbers.failed, numbers.attempts
    if fan_out.parallelism is not None:
        fan_out.placed = numbers.placed
    journal.fan_outs[key] = fan_out
    journal.log(key[0], event(ExecutionActivated, data=ActivatedData(reason=why, restored=restored)))
    _log.warning(
        "a fan-out is repaired from its events", execution_id=key[0], step=fan_out.step, restored=restored
    )


async def _restore(
    tx: Connection,
    journal: Journal,
    update: ExecutionUpdate,
    fan_out: FanOutRow,
    numbers: FanOutCounts,
    settings: Settings,
) -> int:
    """Restores items and results. Attempts and due times stay as they were: a repair grants no attempts. A running item
    counts as lost, an ended one as ended. Returns the number of restored items and results."""
    missing = sorted(set(range(fan_out.total)) - numbers.live - numbers.ended)
    if not missing:
        return 0
    planned = update.plan.steps[fan_out.step]
    elements = await list_of(tx, journal, update, planned)
    step = fold(await get_events(tx, update.row.id), list(update.plan.steps)).steps[fan_out.step]
    created_at = parse_event_time(step.enqueued_at) or journal.now
    keeps = planned.compensation is not None
    over = [
        _lost_result(state, elements[number] if keeps else None)
        for number in missing
        if (state := step.items.get(number)) is not None and state.status in _OVER
    ]
    if over:
        await restore_item_results(tx, (fan_out.execution_id, fan_out.step), over)
    gone = set(missing) - {one.number for one in over}
    lost = []
    for number in sorted(gone):
        element, state = elements[number], step.items.get(number)
        lost.append(
            lost_item(
                planned, state, journal.now, settings, number=number, element=element, queued_at=created_at
            )
            if state is not None and state.attempt
            else LostItem(number, element, created_at, journal.now)
        )
    keys = await concurrency_keys_of(
        tx, journal, update, planned, [(one.number, one.element) for one in lost]
    )
    if keys is not None:
        lost = [replace(one, key=key) for one, key in zip(lost, keys, strict=True)]
    item = fan_out_item(update, planned, fan_out.total)
    await restore_items(tx, item, lost, all_have_slots=fan_out.parallelism is None)
    return len(missing)


def _lost_result(item: ItemState, element: object) -> LostResult:
    succeeded = item.status == "succeeded"
    return LostResult(
        item.item,
        item.status,
        item.attempt,
        item.result if succeeded else None,
        None if succeeded else item.failure,
        element,
    )


def lost_item(
    planned: PlannedStep,
    state: WorkState,
    now: datetime,
    settings: Settings,
    *,
    number: int | None = None,
    element: object = None,
    queued_at: datetime | None = None,
) -> LostItem:
    """Rebuilds an item whose row is gone from its events. The item must have been tried at least once."""
    ledger = Ledger.from_dict(state.ledger or {}, elapsed=0.0)
    return LostItem(
        number,
        element,
        queued_at or parse_event_time(state.enqueued_at) or now,
        parse_event_time(state.available_at) or now,
        attempt=state.attempt,
        ledger=state.ledger,
        lost_worker=state.attempts[-1].worker if state.status == "running" else None,
        previous=state.previous,
        vary=vary_after(planned.policy.policy, ledger),
        awaited=_awaited(state),
        held_until=_held_until(state, settings.max_hold),
        suspect=is_suspect(ledger, settings.poison_after),
        id=state.item_id,
        last_error=None if state.last_error is None else state.last_error[:ERROR_SHOWN],
    )


def _held_until(work: WorkState, max_hold: float) -> datetime | None:
    """Returns when a hold ends at the latest, counted from the last attempt. Returns None if the item is not held."""
    since = parse_event_time(work.attempts[-1].ended_at) if work.status == "held" and work.attempts else None
    return None if since is None else since + timedelta(seconds=max_hold)


def _awaited(work: WorkState) -> tuple[str, datetime | None] | None:
    """Returns what an attempt without a worker waits for, and until when at most."""
    waiting = work.waiting
    if waiting is None:
        return None
    until = parse_event_time(waiting.get("until") or waiting.get("deadline_at"))
    name = f"signal:{waiting['signal']}" if waiting["for"] == "signal" else waiting["for"]
    return name, until


def parse_event_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
