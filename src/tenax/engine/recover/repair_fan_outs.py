"""Fan-outs whose counters do not fit their items are put right, from their rows and from the log."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import structlog

from tenax.engine.context import Core
from tenax.engine.graph.advance import advance_executions
from tenax.engine.graph.compensation import write
from tenax.engine.graph.fan_out import close_fans
from tenax.engine.graph.start_steps import keys_of, list_of, spread_item
from tenax.engine.graph.turn import Turn
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
from tenax.store.rows import FanRow
from tenax.store.tables import queue
from tenax.store.tables.fan_outs import (
    FanNumbers,
    LostItem,
    LostResult,
    find_broken_fans,
    load_fan_numbers,
    load_fans,
    restore_fan,
    restore_item_results,
    restore_items,
)
from tenax.store.tables.log import get_events
from tenax.store.tables.steps import StepKey

_OVER = ("succeeded", "failed")
_log = structlog.get_logger("tenax.recover")


async def repair_fans(core: Core) -> list[int]:
    """Returns the executions in which something was put right."""
    async with core.transaction() as tx:
        found = await find_broken_fans(tx)
    return [key[0] for key in found if await _repair_safely(core, key)]


async def _repair_safely(core: Core, key: StepKey) -> bool:
    try:
        return await _repair(core, key)
    except Unreachable:
        raise
    except Exception:  # noqa: BLE001 -- one broken fan-out is reported and does not stop the others
        _log.exception("a fan-out cannot be repaired", execution_id=key[0], step=key[1])
        return False


async def _repair(core: Core, key: StepKey) -> bool:
    async with core.transaction() as tx:
        rows, now = await queue.lock_executions(tx, [key[0]])
        if now is None or not rows[key[0]].open or key not in await find_broken_fans(tx):
            return False
        row, journal = rows[key[0]], Journal(now, most_read=core.settings.max_rendered)
        plan = await core.plans.one(tx, row.plan_id)
        turn, fan = Turn(row, plan, core.rendering), (await load_fans(tx, [key]))[key]
        await _mend(tx, journal, turn, fan, core.settings, "the items of a fan-out did not fit its counters")
        await close_fans(tx, journal, lambda _: turn, [fan])
        if turn.ended:
            await advance_executions(tx, journal, [turn])
        await write(tx, core, journal)
    return True


async def rebuild_fan_out(
    tx: Connection, journal: Journal, turn: Turn, name: str, told: FanOut, settings: Settings
) -> FanRow:
    """Makes the rows of a fan-out that has lost its own: its items and results, as its events tell of them. Returns the row."""
    step, key = turn.plan.steps[name].step, (turn.row.id, name)
    at_once = None if told.parallelism >= told.total else told.parallelism
    tolerated = step.tolerate.allowed(told.total) if step.tolerate is not None else 0
    fan = FanRow(*key, told.total, 0, 0, 0, tolerated, at_once, 0, closed=False)
    await restore_fan(tx, fan, step.queue_ttl)
    fan = (await load_fans(tx, [key]))[key]
    await _mend(tx, journal, turn, fan, settings, "a fan-out had lost its row")
    return fan


async def _mend(
    tx: Connection, journal: Journal, turn: Turn, fan: FanRow, settings: Settings, why: str
) -> None:
    """Puts back what a fan-out lacks, counts it anew, and tells of it."""
    key = (fan.execution_id, fan.step)
    restored = await _restore(tx, journal, turn, fan, await load_fan_numbers(tx, key), settings)
    numbers = await load_fan_numbers(tx, key)
    fan.ended, fan.failed, fan.attempts = len(numbers.ended), numbers.failed, numbers.attempts
    if fan.parallelism is not None:
        fan.placed = numbers.placed
    journal.fans[key] = fan
    journal.log(key[0], event(ExecutionActivated, data=ActivatedData(reason=why, restored=restored)))
    _log.warning(
        "a fan-out is repaired from its events", execution_id=key[0], step=fan.step, restored=restored
    )


async def _restore(
    tx: Connection, journal: Journal, turn: Turn, fan: FanRow, numbers: FanNumbers, settings: Settings
) -> int:
    """Attempts used and due times as they were: a repair grants nothing. What was running counts as lost, what had ended has ended.

    Returns how many items and results were put back.
    """
    missing = sorted(set(range(fan.total)) - numbers.live - numbers.ended)
    if not missing:
        return 0
    planned = turn.plan.steps[fan.step]
    elements = await list_of(tx, journal, turn, planned)
    step = fold(await get_events(tx, turn.row.id), list(turn.plan.steps)).steps[fan.step]
    created_at = moment(step.enqueued_at) or journal.now
    keeps = planned.compensation is not None
    over = [
        _lost_result(state, elements[number] if keeps else None)
        for number in missing
        if (state := step.items.get(number)) is not None and state.status in _OVER
    ]
    if over:
        await restore_item_results(tx, (fan.execution_id, fan.step), over)
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
    keys = await keys_of(tx, journal, turn, planned, [(one.number, one.element) for one in lost])
    if keys is not None:
        lost = [replace(one, key=key) for one, key in zip(lost, keys, strict=True)]
    item = spread_item(turn, planned, fan.total)
    await restore_items(tx, item, lost, all_have_slots=fan.parallelism is None)
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
    """Returns an item whose row is gone as its events tell of it: an item that was tried at least once."""
    ledger = Ledger.from_dict(state.ledger or {}, elapsed=0.0)
    return LostItem(
        number,
        element,
        queued_at or moment(state.enqueued_at) or now,
        moment(state.available_at) or now,
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
    """Until when at most it is held, since its last attempt ended; None: it is not."""
    since = moment(work.attempts[-1].ended_at) if work.status == "held" and work.attempts else None
    return None if since is None else since + timedelta(seconds=max_hold)


def _awaited(work: WorkState) -> tuple[str, datetime | None] | None:
    """What an attempt that is under way without a worker waits for, and until when at most."""
    waiting = work.waiting
    if waiting is None:
        return None
    until = moment(waiting.get("until") or waiting.get("deadline_at"))
    name = f"signal:{waiting['signal']}" if waiting["for"] == "signal" else waiting["for"]
    return name, until


def moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
